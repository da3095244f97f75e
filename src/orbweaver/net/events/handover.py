"""Find out whether neighbours have the events of a node that publishes and then leaves.

A node that stays need not ask: events that no neighbour has yet are in its window. The window of a
node that leaves is lost. The node may leave when each of its events has been read by a neighbour,
which passes the event on from then. That an event was queued or written proves nothing. Proof is
that the event was written to a connection, the peer was pinged on the same connection
afterwards, and the peer, which reads in order, has answered. In addition, a neighbour that
catches up says what it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from orbweaver.core.ids import NodeId, Topic
from orbweaver.net.events.departures import Written
from orbweaver.net.events.seen import has
from orbweaver.net.node import NetworkNode, Receipt
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import Ask, CatchingUp, Declined

LOOK_S = 0.01
"""Seconds between two checks of what neighbours have read."""

Key = tuple[Topic, int]
"""(topic, sequence number)"""


class Handover:
    """Publish through a handover, in place of the node, to know when neighbours have the events."""

    def __init__(self, node: NetworkNode) -> None:
        self._node = node
        self._host = host = node.host
        self._epoch = 0
        self._loose: dict[Key, None] = {}
        """Events that no neighbour is known to have."""
        self._asked: list[tuple[Connection, int, list[Key]]] = []
        """(connection, number of the ping after the events, events that were written)."""
        self.takers: set[NodeId] = set()
        """Neighbours that have read an event of this node."""
        self._declined: set[tuple[Connection, Key]] = set()
        """Loose events that were written to a connection and declined there."""
        self._control = host.on_control
        host.on_declined = self._on_declined
        host.on_control = self._on_control
        host.outgoing.departures.on_written = self._on_written

    @property
    def loose(self) -> int:
        """Return how many events no neighbour is known to have."""
        return len(self._loose)

    async def publish(self, topic: Topic, payload: bytes) -> Receipt:
        """Publish an event, and count it as loose until a neighbour has it."""
        receipt = await self._node.publish(topic, payload)
        _, self._epoch, _, seq = receipt.event
        self._loose[(topic, seq)] = None
        return receipt

    async def settle(self, timeout: float, most: int = 0) -> bool:
        """Wait until at most `most` events are loose. Return False if it takes more than `timeout`
        seconds."""
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

    def _on_written(self, connection: Connection, runs: Sequence[Written]) -> None:
        # The ping goes directly after the events, so that it also reaches a neighbour that
        # leaves when it has the events it wanted.
        ours = [
            (first.topic, seq)
            for first, count in runs
            if first.publisher == self._host.me
            for seq in range(first.seq, first.seq + count)
        ]
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
        # A `Declined` comes before the answer to the ping after the events.
        for publisher, epoch, topic, seq in message.events:
            ours = (publisher, epoch) == (self._host.me, self._epoch)
            if ours and (topic, seq) in self._loose:
                self._declined.add((connection, (topic, seq)))

    def _taken(self, connection: Connection, keys: list[Key]) -> None:
        for key in keys:
            self._loose.pop(key, None)
        if keys and connection.peer is not None:
            self.takers.add(connection.peer)
