"""The least that a node in Python can do: the upper bound to compare our nodes with.

It has the same loop, frames, messages and codec, and one write for each tick. A message is encoded
once, decoded, looked up among the ids seen, given to the application by a call, and its frame
passed on unchanged. There is no overlay, no window, no checks and no queues: when the far end does
not read, the publisher waits.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Codec, Event
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.gossip.plumtree.plumtree import Plumtree
from orbweaver.net.wire.frames import FrameReader, messages_header
from wire.payload import TOPIC, Tally
from wire.talk import answer_for, publish_by_loop, tell

BURST = 256
WRITE_HIGH = 1 << 20


class BareNode:
    def __init__(self, deliver: Any = None) -> None:
        self.deliver = deliver
        self.codec = Codec(Plumtree.messages, TopicTable())
        self.links: dict[BareLink, None] = {}
        self.seen: set[tuple[NodeId, int, str, int]] = set()
        self.seq = self.burst = 0
        self.waiting: list[bytes] = []
        self.loop = asyncio.get_running_loop()
        self.writable = asyncio.Event()
        self.writable.set()

    async def publish(self, payload: bytes) -> None:
        self.burst += 1
        if self.burst >= BURST:
            self.burst = 0
            await asyncio.sleep(0)
            await self.writable.wait()
        event = Event(TOPIC, NodeId(1), 0, self.seq, payload)
        self.seq += 1
        if not self.waiting:
            self.loop.call_soon(self.flush)
        self.waiting.append(self.codec.encode(Push(event, 1, 0)))

    def flush(self) -> None:
        bodies, self.waiting = self.waiting, []
        data = b"".join((messages_header(len(bodies), sum(map(len, bodies))), *bodies))
        for link in self.links:
            link.transport.write(data)

    def receive(self, source: BareLink, body: memoryview) -> None:
        fresh = False
        for message in self.codec.decode_list(body):
            event = message.event
            key = (event.publisher, event.epoch, event.topic, event.seq)
            if key not in self.seen:
                self.seen.add(key)
                fresh = True
                self.deliver(event.payload)
        if fresh and len(self.links) > 1:
            frame = messages_header(0, len(body) - 5)[:5] + body
            for link in self.links:
                if link is not source:
                    link.transport.write(frame)

    async def drain(self) -> None:
        while self.waiting or any(link.transport.get_write_buffer_size() for link in self.links):
            await asyncio.sleep(0.01)


class BareLink(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, node: BareNode) -> None:
        self.node = node
        self.reader = FrameReader(4 << 20)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=WRITE_HIGH)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.node.links[self] = None

    def data_received(self, data: bytes) -> None:
        for _, body in self.reader.feed(data):
            self.node.receive(self, body)

    def pause_writing(self) -> None:
        self.node.writable.clear()

    def resume_writing(self) -> None:
        self.node.writable.set()


def publisher(spec: dict[str, Any]) -> None:
    async def run() -> None:
        node = BareNode()
        server = await node.loop.create_server(lambda: BareLink(node), "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        tell(address=f"{host}:{port}")
        await publish_by_loop(node.publish, node.drain)

    asyncio.run(run())


def subscriber(spec: dict[str, Any]) -> None:
    tally = Tally()

    async def run() -> None:
        node = BareNode(tally.take)
        host, port = spec["address"].split(":")
        await node.loop.create_connection(lambda: BareLink(node), host, int(port))
        answer_for(tally)
        tell(ready=True)
        await asyncio.Event().wait()

    asyncio.run(run())
