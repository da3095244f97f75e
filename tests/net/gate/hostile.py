"""An attacker: it speaks the wire by hand, rightly or wrongly, under any name it likes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import ssl
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from orbweaver.core.messages import Codec, Event, Message
from orbweaver.core.topics import TopicTable
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.cards import Card, make_card
from orbweaver.net.settings import split_address
from orbweaver.net.wire import handshake
from orbweaver.net.wire.frames import (
    CONTROL,
    MESSAGES,
    VERSION,
    Control,
    ControlMessage,
    FrameReader,
    Hello,
    Proof,
    Refused,
    Seals,
    control_frame,
    messages_header,
    read_control,
)
from orbweaver.net.wire.seals import BatchSeal, SealBody, _signed_part, event_hashes
from orbweaver.overlays.catalog import find

KEPT_MAX = 10_000
_SOURCES = itertools.cycle(range(2, 255))


class Attacker:
    """One connection to a node."""

    def __init__(
        self,
        address: str,
        overlay: str = "spidercast",
        identity: Identity | None = None,
        card: Card | None = None,
        source: str | None = None,
    ) -> None:
        """The card says that it listens where nobody does, unless another is given. It calls from
        an address of its own, unless `source` is given."""
        self.source = source or f"127.0.0.{next(_SOURCES)}"
        self.identity = identity or Identity.generate()
        self.me = self.identity.node
        self.certificate = b""
        """What its seals show, where the cluster has an authority."""
        self.card = card or make_card(self.identity, "127.0.0.1", 9, False, 1)
        self.overlay = overlay
        self.table = TopicTable()
        self.codec = Codec(find(overlay).messages, self.table)
        self.heard: list[Control | Message] = []
        """What the node has said."""
        self.hello: Hello | None = None
        """The node's."""
        self.calls = True
        """It is who opened the connection."""
        self.closed = asyncio.Event()
        self._address = split_address(address)
        self._reading: asyncio.Task[None] | None = None

    # -- life

    async def connect(self, tls: ssl.SSLContext | None = None, read: bool = True) -> Attacker:
        self.reader, self.writer = await asyncio.open_connection(
            *self._address, ssl=tls, local_addr=(self.source, 0)
        )
        if read:
            self.read_on()
        return self

    def read_on(self) -> None:
        self._reading = asyncio.create_task(self._read())

    async def stop_reading(self) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        self.writer.transport.pause_reading()  # type: ignore[attr-defined]

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if hasattr(self, "writer"):
            self.writer.transport.abort()
            with contextlib.suppress(OSError):
                await self.writer.wait_closed()

    async def __aenter__(self) -> Attacker:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def is_cut_off(self, timeout: float = 60.0) -> None:
        """Wait until the node has ended the connection."""
        await asyncio.wait_for(self.closed.wait(), timeout)

    @property
    def refusals(self) -> list[str]:
        return [message.reason for message in self.heard if isinstance(message, Refused)]

    # -- the handshake

    async def shake_hands(self, tls: ssl.SSLContext | None = None) -> Attacker:
        """As an honest node does."""
        if not hasattr(self, "writer"):
            await self.connect(tls)
        self.say_hello()
        await self.wait_for(Hello)
        self.prove()
        await self.wait_for(Proof)
        # What is sent from now on is read after the proof.
        return self

    def say_hello(self, **changes: Any) -> None:
        hello = Hello(VERSION, "orbweaver", self.overlay, self.card, os.urandom(32), 1 << 20)
        self.control(msgspec.structs.replace(hello, **changes))

    def prove(self, identity: Identity | None = None, nonce: bytes | None = None) -> Proof:
        assert self.hello is not None
        signer = identity or self.identity
        signed = handshake._signed_part(
            nonce or self.hello.nonce, self.calls, self.me, self.hello.card.node
        )
        proof = Proof(signer.sign(signed))
        self.control(proof)
        return proof

    async def wait_for(self, kind: type[Any], timeout: float = 60.0) -> Any:
        """The first message of this kind that the node has said, or says."""
        async with asyncio.timeout(timeout):
            while True:
                for message in self.heard:
                    if isinstance(message, kind):
                        return message
                if self.closed.is_set():
                    raise ConnectionError(f"no {kind.__name__}: {self.refusals}")
                await asyncio.sleep(0.002)

    # -- what is sent

    def raw(self, data: bytes) -> None:
        if not self.closed.is_set() and not self.writer.is_closing():
            self.writer.write(data)

    def frame(self, kind: int, body: bytes) -> None:
        self.raw((len(body) + 1).to_bytes(4, "big") + bytes([kind]) + body)

    def control(self, message: Control) -> None:
        self.raw(control_frame(message))

    def send(self, *messages: Message) -> None:
        """Overlay messages in one frame, whatever their number."""
        self.send_encoded([self.codec.encode(message) for message in messages])

    def send_encoded(self, bodies: Sequence[bytes]) -> None:
        self.raw(messages_header(len(bodies), sum(map(len, bodies))) + b"".join(bodies))

    async def drain(self) -> None:
        with contextlib.suppress(OSError):
            await self.writer.drain()

    async def flood(self, chunks: Iterable[bytes], seconds: float) -> int:
        """Send, as fast as they are taken, for so long; how many bytes were."""
        taken, end = 0, time.monotonic() + seconds
        for chunk in chunks:
            if self.closed.is_set() or time.monotonic() > end:
                break
            self.raw(chunk)
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(max(0.01, end - time.monotonic())):
                    await self.writer.drain()
            taken += len(chunk)
        return taken

    # -- events

    def event(
        self, seq: int, topic: str = "news", payload: bytes = b"evil", epoch: int = 7
    ) -> Event:
        return Event(topic, self.me, epoch, seq, payload)

    def seal(self, *events: Event, time_ms: int | None = None) -> None:
        """Sign events, tell the node, and name the seal in them."""
        body = make_seal(self.identity, events, time_ms, certificate=self.certificate)
        self.control(Seals((body,)))
        for event in events:
            name_seal(event, body)

    # -- inside

    async def _read(self) -> None:
        frames = FrameReader(1 << 26)
        with contextlib.suppress(OSError):
            while data := await self.reader.read(1 << 16):
                for kind, body in frames.feed(data):
                    if len(self.heard) < KEPT_MAX:
                        self._note(kind, bytes(body))
        self.closed.set()

    def _note(self, kind: int, body: bytes) -> None:
        if kind == MESSAGES:
            self.heard += self.codec.decode_list(body)
            return
        assert kind == CONTROL
        message: ControlMessage = read_control(body)
        if isinstance(message, Hello):
            self.hello = message
        self.heard.append(message)


def make_seal(
    identity: Identity,
    events: Iterable[Event],
    time_ms: int | None = None,
    junk: int = 0,
    cluster: str = "orbweaver",
    certificate: bytes = b"",
) -> bytes:
    when = round(time.time() * 1000) if time_ms is None else time_ms
    hashes = b"".join(event_hashes(event)[0] for event in events) + os.urandom(16 * junk)
    signature = identity.sign(_signed_part(cluster, when, hashes))
    return msgspec.msgpack.encode(
        SealBody(identity.public_key, when, hashes, signature, certificate)
    )


def name_seal(event: Event, body: bytes) -> Event:
    msgspec.structs.force_setattr(event, "seal", BatchSeal(body, bytes(32), 0, b""))
    return event


class Trap:
    """Somebody else's machine: counts who calls, and by what means."""

    def __init__(self) -> None:
        self.calls = 0
        self.letters = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Trap:
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        trap = self

        class Letters(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, address: object) -> None:
                trap.letters += 1

        self._udp, _ = await loop.create_datagram_endpoint(Letters, ("127.0.0.1", self.port))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._udp.close()
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self._open.add(writer)
        with contextlib.suppress(OSError):
            await reader.read()
        writer.transport.abort()
        self._open.discard(writer)
