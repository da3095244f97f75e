"""Run a cluster of real nodes: the network host, with sockets of this machine.

All nodes live in one process and on one loop, which runs only when a case lets it. Cases number
their nodes from 0; the id of a real node follows from its key. Ids are translated for the case.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import Collection, Coroutine, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import Params
from orbweaver.core.seeds import generator, sample
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.keys.identity import Identity
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import Settings
from orbweaver.testing.paced_loop import PacedLoop

CONTACTS = 3
"""How many nodes a new node is told of."""
NEVER = (
    "bad_frames", "bad_handshakes", "bad_messages", "bad_cards", "bad_seals", "forged",
    "replayed", "not_allowed", "uncertified", "flooded", "dropped_control", "dropped_data",
    "missed",
)  # fmt: skip
"""Counters that stay at zero among honest nodes with little to do."""

Result = TypeVar("Result")


class Life:
    """A node while it is up, with its readers."""

    def __init__(self, node: NetworkNode) -> None:
        self.node = node
        self.reading: dict[Topic, Subscription] = {}
        self.readers: list[asyncio.Task[None]] = []


class NetCluster:
    """Runs a cluster on the network host."""

    def __init__(self, overlay: type[Overlay], params: Params, seed: int) -> None:
        self.overlay = overlay
        self.params = params
        self.deliveries: list[tuple[NodeId, Event]] = []
        self.noise: list[tuple[NodeId, Event]] = []
        self._seed = seed
        self._chance = generator("network", seed)
        self._loss = 0.0
        self._lives: dict[int, Life] = {}
        self._identities: dict[int, Identity] = {}
        self._numbers: dict[NodeId, NodeId] = {}
        self._wrong: list[str] = []
        self._held = ExitStack()
        """Holds the ports of nodes that are gone."""
        self._folder = Path(tempfile.mkdtemp(prefix="orbweaver-"))
        self._loop = PacedLoop()
        self._loop.set_exception_handler(lambda _, found: self._wrong.append(str(found)))

    # -- what a case does

    def join(self, node: int, topics: Collection[Topic]) -> None:
        self._do(self._join(node, topics))

    def leave(self, node: int) -> None:
        self._do(self._end(node))

    def crash(self, node: int) -> None:
        """End a node as if its process were killed: no message is sent, and all its sockets
        close."""
        host = self._lives[node].node.host
        host.running = False
        host.peers.abort()
        self._do(self._end(node))

    def subscribe(self, node: int, topic: Topic) -> None:
        self._do(self._subscribe(node, topic))

    def unsubscribe(self, node: int, topic: Topic) -> None:
        self._lives[node].reading.pop(topic).close()

    def publish(self, node: int, topic: Topic, payload: bytes = b"") -> Event:
        receipt = self._do(self._lives[node].node.publish(topic, payload))
        _, epoch, _, seq = receipt.event
        return Event(topic, NodeId(node), epoch, seq, payload)

    def lose(self, share: float) -> None:
        self._loss = share

    def hand(self, node: int, sender: int, message: Message) -> None:
        self._lives[node].node.host.receive(self._identity(sender).node, (message,))

    def run(self, seconds: float) -> None:
        self._do(asyncio.sleep(seconds))

    def close(self) -> None:
        """Stop all nodes, and fail if an error went unnoticed."""
        try:
            self._do(self._end_all())
        finally:
            self._held.close()
            self._loop.close()
            shutil.rmtree(self._folder)
        assert not self._wrong, "\n".join(self._wrong)

    # -- what a case looks at

    def up(self) -> dict[int, Collection[Topic]]:
        return {number: list(life.node.host.interest) for number, life in self._lives.items()}

    def links(self, node: int) -> list[NodeId]:
        if node not in self._lives:
            return []
        host = self._lives[node].node.host
        links = {*host.links()}
        assert links == {peer.node for peer in host.peers if peer.link}, (
            f"links() of {node} differ from what it reported"
        )
        return sorted(self._numbers[peer] for peer in links)

    def status(self, node: int) -> dict[str, int]:
        return self._lives[node].node.host.overlay.status()

    # -- inside

    def _do(self, work: Coroutine[Any, Any, Result] | asyncio.Future[Result]) -> Result:
        return self._loop.run_until_complete(work)

    async def _join(self, number: int, topics: Collection[Topic]) -> None:
        assert number not in self._lives, f"node {number} is up"
        contacts = sample(self._chance, sorted(self._lives), CONTACTS)
        settings = Settings(
            overlay=self.overlay.name,
            params=msgspec.structs.asdict(self.params),
            key=str(self._key(number)),
            join=tuple(self._lives[contact].node.address for contact in contacts),
        )
        node = NetworkNode(self.overlay, settings)
        await node.start()
        self._listen_in(number, node)
        self._lives[number] = Life(node)
        for topic in topics:
            await self._subscribe(number, topic)

    async def _subscribe(self, number: int, topic: Topic) -> None:
        life = self._lives[number]
        life.reading[topic] = await life.node.subscribe(topic)
        life.readers.append(asyncio.create_task(self._read(number, life.reading[topic])))

    async def _read(self, number: int, subscription: Subscription) -> None:
        async for got in subscription:
            publisher = self._numbers[NodeId(int(got.publisher, 16))]
            event = Event(got.topic, publisher, got.epoch, got.seq, got.payload)
            self.deliveries.append((NodeId(number), event))

    async def _end(self, number: int) -> None:
        life = self._lives.pop(number)
        counters, address = life.node.counters, life.node.address
        await life.node.stop()
        self._hold(address)
        await asyncio.gather(*life.readers)
        counted = counters.as_dict()
        self._wrong += [f"{name} of {number}: {counted[name]}" for name in NEVER if counted[name]]

    def _hold(self, address: str) -> None:
        """Keep the port of a node that is gone. Otherwise a different cluster on this machine could
        be given the port, and get the calls of peers that look for the node."""
        host, port = address.rsplit(":", 1)
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            held = self._held.enter_context(socket.socket(socket.AF_INET, kind))
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past its old connections
            held.bind((host, int(port)))
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)

    async def _end_all(self) -> None:
        for number in list(self._lives):
            await self._end(number)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        self._wrong += [f"still running: {task}" for task in left]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_default_executor()

    def _listen_in(self, number: int, node: NetworkNode) -> None:
        """Lose a share of the received messages, and look at the rest."""
        host = node.host
        inside, control = host.gate.inside, host.on_control

        def receive(sender: NodeId, messages: Sequence[Message]) -> None:
            kept = [message for message in messages if self._chance.random() >= self._loss]
            for message in kept:
                event = getattr(message, "event", None) if message.carries else None
                if event is not None and event.topic not in host.interest:
                    self.noise.append((NodeId(number), event))
            if kept:
                inside(sender, kept)

        def receive_control(connection: Any, message: Any) -> None:
            if self._chance.random() >= self._loss:
                control(connection, message)

        host.gate.inside, host.on_control = receive, receive_control

    def _identity(self, number: int) -> Identity:
        if number not in self._identities:
            text = f"{self._seed} {number}".encode()
            identity = Identity(blake2b(text, digest_size=32).digest())
            self._identities[number] = identity
            self._numbers[identity.node] = NodeId(number)
        return self._identities[number]

    def _key(self, number: int) -> Path:
        path = self._folder / f"{number}.key"
        identity = self._identity(number)
        if not path.exists():
            identity.save(path)
        return path
