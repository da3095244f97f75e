"""One TCP connection: it reads frames, and writes once for each tick.

A connection knows nothing of overlays. It gives what it reads to its `Owner`, together with the
peer's proven id. Faults of the peer are counted, and too many of them close the connection.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from time import perf_counter, thread_time
from typing import Protocol, cast

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.counters import Counters
from orbweaver.net.gate.standing import Fading, Standing
from orbweaver.net.gate.turns import RoundRobin
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.arrivals import address_of
from orbweaver.net.peers.cards import Card
from orbweaver.net.settings import EVENT_BYTES, Settings
from orbweaver.net.wire.frames import (
    CONTROL,
    MESSAGES,
    Answer,
    Bye,
    Control,
    ControlMessage,
    FrameReader,
    Hello,
    Ping,
    Pong,
    Proof,
    Refused,
    Seals,
    control_frame,
    read_control,
)  # fmt: skip
from orbweaver.net.wire.handshake import Handshake, OtherNetwork
from orbweaver.net.wire.seals import BatchSeal

WRITE_HIGH = 64 << 10
"""Bytes in asyncio's write buffer above which writing pauses."""
TOLD_CARDS_MAX, TOLD_SEALS_MAX = 4096, 64
"""How many cards and seals the far end is assumed to remember from this connection."""
KEPT_SEALS_MAX = 2 * TOLD_SEALS_MAX
"""How many seals are kept of a peer's connection."""
HELLO_BYTES_MAX = 4096
"""Largest frame during the handshake, in bytes."""
CONTROL_BYTES_MAX = 1 << 20
"""Largest control frame, in bytes, unless a payload makes it larger. Decoding one takes twenty
times its size in memory."""
USE_HALF_S = 1.0
"""Seconds in which half of a connection's use is forgotten."""
ROUND_TRIPS = 4
"""Times from ping to pong that are kept. The smallest counts, since waiting only adds to them."""
REST_S_MAX = 5.0
"""Longest time that a connection is not read, in seconds."""


class Owner(Protocol):
    """The host, as a connection sees it."""

    settings: Settings
    identity: Identity
    card: Card
    counters: Counters
    turns: RoundRobin

    def admits(self, connection: Connection, card: Card) -> str:
        """Return why this peer is refused, or nothing if it is let in."""
        ...

    def opened(self, connection: Connection) -> None:
        """Take note of a connection that is open, and set its `standing`."""
        ...

    def closed(self, connection: Connection) -> None: ...
    def writable(self, connection: Connection) -> None: ...
    def messages(self, connection: Connection, body: memoryview) -> None:
        """Handle an array of overlay messages."""
        ...

    def control(self, connection: Connection, message: ControlMessage) -> None:
        """Handle cards, seals, questions or answers."""
        ...


class Connection(asyncio.Protocol):
    """One connection, from the handshake to its end."""

    standing: Standing
    """How the peer stands, once it is proven."""

    def __init__(
        self, owner: Owner, ours: bool, expected: NodeId | None = None, address: str = ""
    ) -> None:
        """If another node than `expected` answers, the connection is refused. `address` is where a
        connection comes from that this node has accepted."""
        self.ours = ours
        """Whether this node opened the connection."""
        self.address = address
        self.use = Fading(USE_HALF_S)
        self.expected = expected
        self.peer: NodeId | None = None
        """The node at the far end, once it is proven."""
        self.card: Card | None = None
        self.payload_bytes_max = owner.settings.payload_bytes_max
        """Largest payload that both ends accept, once the far end has sent its `Hello`."""
        self.open = False
        self.greeting: asyncio.Task[None] | None = None
        """The task that accepts the connection, until it is accepted."""
        self.opened_at = 0.0
        self.reason = ""
        """Why one of the ends refused the connection."""
        self.foreign = False
        """Whether the far end is in another cluster or runs another overlay."""
        self.retired = False
        """Whether this node has said `Bye`."""
        self.paused_since: float | None = None
        """Since when the far end does not read; None while it reads."""
        self.heard = self.used = 0.0
        self.round_trip_ms: float | None = None
        """The smallest of the last `ROUND_TRIPS` times from a ping to its pong."""
        self._round_trips_ms: list[float] = []
        self._pinged_at: list[float] = []
        self.pings = self.pongs = 0
        """How many pings were sent, and how many were answered. The far end reads in order: when
        it has answered a ping, it has read everything sent before the ping."""
        self.strikes = 0
        self.topics_named = 0
        """How many topics the peer was the first to name."""
        self.told_cards: dict[NodeId, int] = {}
        self.told_seals: dict[bytes, None] = {}
        self.seals: dict[bytes, BatchSeal] = {}
        """The seals that the far end has sent, by name."""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.settled: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Done when the handshake is over: True if it succeeded."""
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(HELLO_BYTES_MAX)
        self._words = Handshake(owner.identity, owner.card, owner.settings, ours)
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._control_max = max(CONTROL_BYTES_MAX, owner.settings.payload_bytes_max + EVENT_BYTES)
        self._frames: list[Iterator[tuple[int, memoryview]]] = []
        """Frames that have come and wait to be handled."""
        self._reading = True
        self._rest_until = 0.0
        self._waking: asyncio.TimerHandle | None = None

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH)
        self.address = self.address or address_of(transport.get_extra_info("peername"))
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            # All messages of a tick are written at once; waiting for more gains nothing.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # By default the kernel buffers megabytes. Messages that wait there are late unseen;
            # in the node's own queues they are counted, and slow down publishers.
            size = self._owner.settings.socket_bytes
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        self.heard = self.used = self._loop.time()
        settings = self._owner.settings
        self._deadline = self._loop.call_later(settings.handshake_s, self._too_slow)
        self.say(self._words.hello())

    def data_received(self, data: bytes) -> None:
        self.heard = self._loop.time()
        self._owner.counters.bytes_in += len(data)
        self._frames.append(self._reader.feed(data))
        if len(self._frames) == 1:  # else it is in line, or rests
            self._owner.turns.take(self)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self.paused_since = self._loop.time()

    def resume_writing(self) -> None:
        self.paused_since = None
        self._owner.writable(self)

    def connection_lost(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        self._transport = None
        self.open = False
        for timer in (self._deadline, self._waking):
            if timer is not None:
                timer.cancel()
        if not self.settled.done():
            self.settled.set_result(False)
        self.ended.set_result(None)
        self._owner.closed(self)

    # -- for the owner

    def serve(self, seconds: float) -> bool:
        """Handle frames that have come, for about `seconds`. Return whether frames are left that
        can be handled in the next turn."""
        end = perf_counter() + seconds
        try:
            while self._frames and self.alive:
                for kind, body in self._frames[0]:
                    self._frame(kind, body)
                    if not self.alive or self._waking is not None or perf_counter() >= end:
                        break
                else:
                    del self._frames[0]
                    continue
                break
        except ProtocolError as error:
            self._owner.counters.bad_frames += 1
            self.refuse(str(error))
        except BaseException:  # it would wait for ever, since nothing more is read
            self.abort()
            raise
        if not self.alive:
            self._frames.clear()
        self._read_if_free()
        return bool(self._frames) and self._waking is None

    @property
    def alive(self) -> bool:
        """Return whether the connection is neither closed nor about to be."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def unread(self) -> int:
        """Return how many bytes of an incomplete frame have come."""
        return len(self._reader)

    def say(self, message: Control) -> None:
        self.write((control_frame(message),))

    def write(self, parts: Sequence[bytes]) -> None:
        if self._transport is None or not self.alive:
            return
        data = b"".join(parts)
        self._owner.counters.bytes_out += len(data)
        try:
            self._transport.write(data)
        except RuntimeError:
            # uvloop sometimes closes a transport without calling connection_lost.
            self._loop.call_soon(self.connection_lost, None)

    def retire(self) -> None:
        """Say that nothing more comes. The far end answers the same, and both ends close. What the
        far end sends until then is still read."""
        if not self.retired:
            self.retired = True
            self.say(Bye())
            self._loop.call_later(self._owner.settings.handshake_s, self.abort)

    def ping(self) -> int:
        """Ask for a sign of life, and return the ping's number. The far end has answered once
        `pongs` has reached the number."""
        self.pings += 1
        self._pinged_at.append(self._loop.time())
        self.say(Ping())
        return self.pings

    def measure(self) -> None:
        """Send a ping to time it, unless one is under way."""
        if self.pongs >= self.pings:
            self.ping()

    def refuse(self, reason: str) -> None:
        """Close the connection, and tell the far end why."""
        self.reason = self.reason or reason
        if self._transport is not None and self.alive:
            self.say(Refused(reason[:200]))
            self._transport.close()
            # A peer that does not read would keep the transport and its buffer for ever.
            self._loop.call_later(self._owner.settings.handshake_s, self.abort)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self.greeting is not None:
            self.greeting.cancel()

    def strike(self, reason: str) -> None:
        """Count something that no correct peer does, and refuse the peer after too much of it."""
        self.strikes += 1
        self._blame(1, reason)

    def rest(self, seconds: float) -> None:
        """Pause reading for `seconds`, since the peer sends faster than it may."""
        until = self._loop.time() + min(seconds, REST_S_MAX)
        if until <= self._rest_until or self._transport is None or not self.alive:
            return
        self._rest_until = until
        self.heard = max(self.heard, until)  # until then it cannot be heard
        if self._waking is not None:
            self._waking.cancel()
        self._waking = self._loop.call_at(until, self._read_on)
        self._read_if_free()

    def charge(self, messages: int, size: int, seconds: float) -> None:
        """Charge the peer for messages that do not spread events, of `size` bytes in all, which
        took `seconds` of processor time. A peer that sends too much has to wait, and its score
        grows by the seconds' worth that it has sent beyond its allowance."""
        now = self._loop.time()
        before = self.standing.charge(0, 0, 0.0, now)
        if wait := self.standing.charge(messages, size, seconds, now):
            self._owner.counters.flooded += 1
            self.rest(wait)
            self._blame(wait - before, "more messages that maintain the overlay than it may send")

    # -- inside

    def _blame(self, weight: float, reason: str) -> None:
        if self.standing.blame(weight, self._loop.time()):
            self.refuse(reason)

    def _note_round_trip(self, ms: float) -> None:
        self._round_trips_ms = [*self._round_trips_ms, ms][-ROUND_TRIPS:]
        self.round_trip_ms = min(self._round_trips_ms)

    def _read_on(self) -> None:
        self._waking = None
        if self._frames:
            self._owner.turns.take(self)
        else:
            self._read_if_free()

    def _read_if_free(self) -> None:
        """Read while no frames wait and the connection does not rest."""
        reads = not self._frames and self._waking is None
        if reads != self._reading and self._transport is not None and self.alive:
            self._reading = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _too_slow(self) -> None:
        self._owner.counters.bad_handshakes += 1
        self.refuse("the handshake took too long")

    def _frame(self, kind: int, body: memoryview) -> None:
        if kind == MESSAGES and self.open:
            self.used = self.heard
            self._owner.messages(self, body)
            return
        if kind != CONTROL:
            raise ProtocolError(f"a frame of kind {kind} may not come here")
        if not self.open:
            self._handshake(read_control(body))
            return
        try:
            if len(body) > self._control_max:
                raise ProtocolError(
                    f"a control frame of {len(body)} bytes should have at most {self._control_max}"
                )
            message = read_control(body)
        except ProtocolError as error:
            self._owner.counters.bad_frames += 1
            self.strike(str(error))
            spent = 0.0
        else:
            if isinstance(message, Seals | Answer):  # they are events, or belong to events
                self._control(message)
                return
            began = thread_time()  # a call into the kernel, more than reading a small frame costs
            self._control(message)
            spent = thread_time() - began
        if self.alive:
            self.charge(1, len(body), spent)

    def _control(self, message: ControlMessage) -> None:
        if isinstance(message, Ping):
            self.say(Pong())
        elif isinstance(message, Bye):
            self.retire()
            if self._transport is not None:
                self._transport.close()
        elif isinstance(message, Refused):
            self.abort()
        elif isinstance(message, Pong):
            self.pongs += 1
            if self._pinged_at:
                self._note_round_trip(1000 * (self._loop.time() - self._pinged_at.pop(0)))
        else:
            self.used = self.heard
            self._owner.control(self, message)

    def _handshake(self, message: ControlMessage) -> None:
        try:
            if isinstance(message, Hello) and self.card is None:
                self._on_hello(message)
            elif isinstance(message, Proof) and self.card is not None:
                self._on_proof(message)
            elif isinstance(message, Refused):
                self.reason = self.reason or message.reason
                self.abort()
            else:
                raise ProtocolError(
                    f"{type(message).__name__} came in a handshake, which is a Hello and a Proof"
                )
        except ProtocolError as error:
            self.foreign = isinstance(error, OtherNetwork)
            self._owner.counters.bad_handshakes += 1
            self.refuse(str(error))

    def _on_hello(self, hello: Hello) -> None:
        if self.expected is not None and hello.card.node != self.expected:
            self.refuse("another node was expected at this address")
            return
        self._words.check_terms(hello)
        assert self._transport is not None
        self.say(self._words.answer(hello, self._transport.get_extra_info("ssl_object")))
        self.card = hello.card
        self.payload_bytes_max = min(self.payload_bytes_max, hello.payload_bytes_max)

    def _on_proof(self, proof: Proof) -> None:
        assert self.card is not None
        self._words.check_proof(proof, self.card)
        if reason := self._owner.admits(self, self.card):
            self._owner.counters.connections_refused += 1
            self.refuse(reason)
            return
        assert self._deadline is not None
        self._deadline.cancel()
        self.peer = self.card.node
        self.open = True
        self.opened_at = self._loop.time()
        self._reader.size_max = self._owner.settings.frame_bytes_max
        if not self.settled.done():
            self.settled.set_result(True)
        self._owner.opened(self)
