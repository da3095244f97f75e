"""Play a scenario on real nodes: sockets of this machine, all nodes in this process.

Delays are put between a node's gate, which has checked a message, and its overlay, and are added
to the round trips, which the host measures below the gate. Nodes get keys with ids in the order of
the play's numbers, and take the same places on the ring as in the simulator, so that whatever
depends on ids is the same too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from orbweaver.core.errors import ProtocolError
from orbweaver.core.identifiers import PLACE_OF_NODE
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.params import differing
from orbweaver.core.seeds import sample
from orbweaver.net.keys.identity import Identity
from orbweaver.net.node import NetworkNode
from orbweaver.net.opening import open_params
from orbweaver.net.settings import Settings
from orbweaver.records import Records
from orbweaver.records.gather import Gathered, gather
from orbweaver.records.live import LiveRecorder, wall_clock_ms
from orbweaver.testing.agreement.play import JOIN_MS, Play

AFTER_S = 3.0
"""Seconds that the nodes go on after the end, so that they write the counts of the end."""


class Deployed:
    """Runs a play once."""

    def __init__(
        self, play: Play, folder: Path, clock_ms: Callable[[], int] = wall_clock_ms
    ) -> None:
        """Prepare the run. Keys and records go into the folder; `clock_ms` must run with the loop's
        clock."""
        self._play = play
        self._folder = folder
        self._clock_ms = clock_ms
        self._chance = Random()
        identities = [Identity.generate() for _ in play.interests]
        self._identities = sorted(identities, key=lambda identity: identity.node)
        self._number = {one.node: i for i, one in enumerate(self._identities)}
        self._nodes: list[NetworkNode] = []
        self._start_ms = 0
        self._late_s = 0.0
        self._arrived = 0
        self._wrong: list[str] = []

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        play = self._play
        with self._places():
            try:
                self._start_ms = self._clock_ms()
                start = loop.time()
                for number in range(len(play.interests)):
                    await asyncio.sleep(start + number * JOIN_MS / 1000 - loop.time())
                    await self._join(number)
                payload = bytes(play.scenario.publish.payload_bytes)
                for time_ms, number, topic in play.publications:
                    await asyncio.sleep(start + time_ms / 1000 - loop.time())
                    await self._nodes[number].publish(topic, payload)
                await asyncio.sleep(start + play.end_ms / 1000 + AFTER_S - loop.time())
            finally:
                await asyncio.gather(*(node.stop() for node in self._nodes))
        assert not self._wrong, "\n".join(self._wrong)

    def records(self) -> tuple[Records, Gathered]:
        return gather(self._folder, start_ms=self._start_ms)

    @property
    def late_ms(self) -> float:
        """Return the mean lateness of messages at the end of their delay: the machine was busy.
        They are about as late again on their way out of a socket."""
        return 1000 * self._late_s / max(1, self._arrived)

    # -- inside

    async def _join(self, number: int) -> None:
        scenario = self._play.scenario
        identity = self._identities[number]
        key = self._folder / f"{number}.key"
        identity.save(key)
        contacts = sample(self._chance, self._nodes, scenario.run.contacts)
        settings = Settings(
            overlay=scenario.overlay,
            params=scenario.params,
            key=str(key),
            join=tuple(contact.address for contact in contacts),
        )
        overlay = self._play.overlay
        params = differing(open_params(overlay, settings))
        recorder = LiveRecorder(
            self._folder, identity.node, scenario.overlay, params, clock_ms=self._clock_ms
        )
        node = NetworkNode(overlay, settings, recorder=recorder)
        self._nodes.append(node)
        await node.start()
        self._put_delays(number, node)
        for topic in self._play.interests[number]:
            await node.subscribe(topic)

    def _put_delays(self, number: int, node: NetworkNode) -> None:
        host = node.host
        inside = host.gate.inside
        loop = asyncio.get_running_loop()
        delay_s = [self._play.delay_ms[i][number] / 1000 for i in range(len(self._number))]

        # One queue for each sender: of two timers for the same moment either may be first, but
        # of two messages on one link the first is.
        waiting: list[deque[Message]] = [deque() for _ in delay_s]

        def arrive(due: float, sender: NodeId) -> None:
            self._late_s += loop.time() - due
            self._arrived += 1
            host.tick()
            try:
                inside(sender, (waiting[self._number[sender]].popleft(),))
            except ProtocolError as error:  # the gate, which counts these, has let it go
                self._wrong.append(str(error))

        def receive(sender: NodeId, messages: Sequence[Message]) -> None:
            number = self._number[sender]
            due = loop.time() + delay_s[number]
            for message in messages:
                waiting[number].append(message)
                loop.call_at(due, arrive, due, sender)

        measured = host.round_trip_ms

        def round_trip_ms(peer: NodeId) -> float | None:
            other, sockets_ms = self._number[peer], measured(peer)
            if sockets_ms is None:
                return None
            delay_ms = self._play.delay_ms
            return sockets_ms + delay_ms[number][other] + delay_ms[other][number]

        host.gate.inside = receive
        host.round_trip_ms = round_trip_ms  # type: ignore[method-assign]

    @contextlib.contextmanager
    def _places(self) -> Iterator[None]:
        """Give each node the place on the ring of the simulated node with its number."""
        try:
            for number, identity in enumerate(self._identities):
                PLACE_OF_NODE[identity.node] = PLACE_OF_NODE[NodeId(number)]
            yield
        finally:
            for identity in self._identities:
                PLACE_OF_NODE.pop(identity.node, None)
