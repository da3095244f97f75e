"""Whether what a node has published is in other hands: for those who publish and leave.

A node that stays need not ask; what nobody has taken yet is in its window. One that leaves
takes its window along. It may go when each of its events has been read by a neighbour, who
passes it on from then. That an event was queued or written proves nothing. Three things
together do: it was written to a connection, the peer was asked for a sign of life on the same
one, and the peer, who reads in order, has answered. Besides, a neighbour that catches up says
what it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.net.connection import Connection
from orbweaver.net.frames import Ask, CatchingUp, Declined
from orbweaver.net.node import NetworkNode, Receipt
from orbweaver.net.outqueue import Parcel
from orbweaver.net.seen import has

LOOK_S = 0.01

Key = tuple[Topic, int]
"""Topic and sequence number."""


class Handover:
    """Publish through this, instead of through the node."""

    def __init__(self, node: NetworkNode) -> None:
        self._node = node
        self._host = host = node.host
        self._epoch = 0
        self._loose: dict[Key, None] = {}
        """Events that nobody is known to have."""
        self._asked: list[tuple[Connection, int, list[Key]]] = []
        """What was written, and the number of the sign of life asked for after it."""
        self.takers: set[NodeId] = set()
        """Neighbours that have read an event of ours."""
        self._declined: set[tuple[Connection, Key]] = set()
        """Loose events that were written to a connection and not taken there."""
        self._control = host.on_control
        host.on_declined = self._on_declined
        host.on_control = self._on_control
        host.on_given = self._on_given
        host.outgoing.on_written = self._on_written

    @property
    def loose(self) -> int:
        """How many events are in nobody's hands yet."""
        return len(self._loose)

    async def publish(self, topic: Topic, payload: bytes) -> Receipt:
        receipt = await self._node.publish(topic, payload)
        _, self._epoch, _, seq = receipt.event
        self._loose[(topic, seq)] = None
        return receipt

    async def settle(self, timeout: float, most: int = 0) -> bool:
        """Wait until there is nothing loose, or at `most` so many. False if it takes longer."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    self._look()
                    if len(self._loose) <= most:
                        return True
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            return False

    # -- inside

    def _on_written(self, connection: Connection, parcels: Sequence[Parcel]) -> None:
        # Asked right behind the events: a neighbour that leaves when it has what it wanted is
        # still there for this question.
        carried = [cast(Carrier, p.message).event for p in parcels if p.message.carries]
        self._on_given(connection, carried)

    def _on_given(self, connection: Connection, carried: Sequence[Event]) -> None:
        ours = [(event.topic, event.seq) for event in carried if event.publisher == self._host.me]
        if ours:
            self._asked.append((connection, connection.ping(), ours))

    def _look(self) -> None:
        waiting = []
        for connection, number, keys in self._asked:
            if connection.pongs >= number:
                taken = [key for key in keys if (connection, key) not in self._declined]
                self._taken(connection, taken)
            elif connection.open:
                waiting.append((connection, number, keys))
        self._asked = waiting

    def _on_control(self, connection: Connection, message: CatchingUp) -> None:
        if isinstance(message, Ask) and self._loose:
            for wanted in message.wanted:
                for position in wanted.have:
                    if (position.publisher, position.epoch) == (self._host.me, self._epoch):
                        held = [
                            key
                            for key in self._loose
                            if key[0] == wanted.topic and has(position.edges, key[1])
                        ]
                        self._taken(connection, held)
        self._control(connection, message)

    def _on_declined(self, connection: Connection, message: Declined) -> None:
        # It comes before the sign of life that was asked for after the events.
        for publisher, epoch, topic, seq in message.events:
            ours = (publisher, epoch) == (self._host.me, self._epoch)
            if ours and (topic, seq) in self._loose:
                self._declined.add((connection, (topic, seq)))

    def _taken(self, connection: Connection, keys: list[Key]) -> None:
        for key in keys:
            self._loose.pop(key, None)
        if keys and connection.peer is not None:
            self.takers.add(connection.peer)
