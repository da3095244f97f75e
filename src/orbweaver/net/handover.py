"""Whether what a node has published is in other hands: for those who publish and leave.

A node that stays need not ask; what nobody has taken yet is in its window. One that leaves
takes its window along. It may go when each of its events has been read by a neighbour, who
passes it on from then. That an event was queued or written proves nothing. Three things
together do: it was sent to a peer, the peer was asked for a sign of life after it, and the
peer, who reads in order, has answered. Besides, a neighbour that catches up says what it has.
"""

from __future__ import annotations

import asyncio

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Message
from orbweaver.net.connection import Connection
from orbweaver.net.frames import Answer, Ask
from orbweaver.net.node import NetworkNode, Receipt
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
        self._sent: dict[NodeId, list[Key]] = {}
        """What went to a peer since it was last asked for a sign of life."""
        self._asked: list[tuple[Connection, int, NodeId, list[Key]]] = []
        self._looking = False
        """About to ask."""
        self.takers: set[NodeId] = set()
        """Neighbours that have read an event of ours."""
        self._send, self._control = host.send, host.on_control
        host.send = self._on_send
        host.on_control = self._on_control

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

    def _on_send(self, to: NodeId, message: Message) -> None:
        if isinstance(message, Carrier) and message.event.publisher == self._host.me:
            self._sent.setdefault(to, []).append((message.event.topic, message.event.seq))
            self._send(to, message)
            if not self._looking:
                # Right behind the event: a neighbour that leaves when it has what it wanted is
                # still there for this question.
                self._looking = True
                asyncio.get_running_loop().call_soon(self._look)
        else:
            self._send(to, message)

    def _look(self) -> None:
        self._looking = False
        for node, keys in list(self._sent.items()):
            peer = self._host.peers.known(node)
            if peer is None:
                del self._sent[node]  # given up: it has not read them
            elif peer.connection is not None and peer.connection.open and not len(peer.queue):
                self._asked.append((peer.connection, peer.connection.ping(), node, keys))
                del self._sent[node]
        waiting = []
        for connection, number, node, keys in self._asked:
            if connection.pongs >= number:
                self._taken(node, keys)
            elif connection.open:
                waiting.append((connection, number, node, keys))
        self._asked = waiting

    def _on_control(self, connection: Connection, message: Ask | Answer) -> None:
        if isinstance(message, Ask) and connection.peer is not None and self._loose:
            for wanted in message.wanted:
                for position in wanted.have:
                    if (position.publisher, position.epoch) == (self._host.me, self._epoch):
                        held = [
                            key
                            for key in self._loose
                            if key[0] == wanted.topic and has(position.edges, key[1])
                        ]
                        self._taken(connection.peer, held)
        self._control(connection, message)

    def _taken(self, node: NodeId, keys: list[Key]) -> None:
        for key in keys:
            self._loose.pop(key, None)
        if keys:
            self.takers.add(node)
