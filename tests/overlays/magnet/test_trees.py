"""When a node of Magnet joins its trees."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.overlays.magnet.messages import JoinTree, Ping
from orbweaver.overlays.magnet.trees import CALM, CALM_MS
from tests.overlays.magnet.test_magnet_hostile import PEER, entry, linked


@pytest.mark.parametrize("arrivals", [0, 4, 100])
def test_trees_are_joined_when_no_neighbour_has_come_for_some_cycles(arrivals: int) -> None:
    node, outbox = linked(PEER, 4, ring_size=32)
    topic = next(t for t in map(str, range(1000)) if not node.trees.is_home(t))
    node.trees.want([topic])
    node.trees.step(ready=False)
    cycles = 0
    while not any(isinstance(message, JoinTree) for _, message in outbox.take()):
        outbox.clock.now += 1000
        cycles += 1
        if cycles <= arrivals:
            node.receive(NodeId(10 + cycles), Ping(True, entry(10 + cycles, cycles << 40)))
        node.trees.step(ready=True)
    assert cycles == min(arrivals + CALM, CALM_MS // 1000 + 1)
