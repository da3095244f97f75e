"""The identifier space: a circle of 2^64 places, shared by nodes and topics.

Places come from a hash that every node knows, so no node has to be told where a node or a
topic is, and they are spread evenly. A host gives each node the places of all nodes. In a
network they are hashes of the ids. The simulator, whose ids are the same in every run,
hashes the run's seed with them, so that runs with different seeds have different rings.
"""

from __future__ import annotations

from typing import TypeVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import derive

SPACE = 1 << 64
HALF = SPACE >> 1

Named = TypeVar("Named", bound=int | str)


class Places(dict[Named, int]):
    """Name -> place, computed when it is first asked for. A dict, since nothing is asked
    for more often."""

    SIZE_MAX = 1 << 17
    """How many places are kept. Strangers may name any number of nodes and topics; beyond
    this many, the dict is emptied."""

    def __init__(self, *labels: int | str) -> None:
        """The labels are hashed with each name: what is named, and the seed if there is one."""
        super().__init__()
        self._labels = labels

    def __missing__(self, name: Named) -> int:
        if len(self) >= self.SIZE_MAX:
            self.clear()
        place = self[name] = derive(*self._labels, name)
        return place


PLACE_OF_NODE: Places[NodeId] = Places("node")
"""The places of the nodes of a network."""
PLACE_OF_TOPIC: Places[Topic] = Places("topic")


def places_of_run(seed: int) -> Places[NodeId]:
    """Return the places of the nodes of a simulated run."""
    return Places("node", seed)


def distance(a: int, b: int) -> int:
    """The shorter way round."""
    ahead = (b - a) % SPACE
    return ahead if ahead < HALF else SPACE - ahead
