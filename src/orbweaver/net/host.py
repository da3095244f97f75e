"""The host gives one overlay object on a network its outbox, its clock and its timers.

What the overlay sends goes to `outgoing`, and what comes in passes the gate first. The host
knows no overlay by name, and hands what it delivers to the function that it was given.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Codec, Message
from orbweaver.core.overlay import Context, Overlay, Timer, check_kept
from orbweaver.core.params import Params
from orbweaver.core.topics import TopicTable
from orbweaver.net.counters import Counters
from orbweaver.net.events.departures import Departures
from orbweaver.net.gate.gate import Gate
from orbweaver.net.gate.limits import Bucket
from orbweaver.net.gate.turns import RoundRobin
from orbweaver.net.keys.identity import Identity
from orbweaver.net.keys.lastlife import read_kept, write_kept
from orbweaver.net.logger import Logger
from orbweaver.net.peers.cards import AddressBook, Card, make_card
from orbweaver.net.peers.letters import Letters
from orbweaver.net.peers.listener import Listener
from orbweaver.net.peers.outgoing import CROWDED, Outgoing
from orbweaver.net.peers.outqueue import Parcel
from orbweaver.net.peers.peers import Peers, PeerState
from orbweaver.net.settings import Settings, split_address
from orbweaver.net.wire.connection import TOLD_CARDS_MAX, Connection
from orbweaver.net.wire.datagrams import Datagrams, Letter
from orbweaver.net.wire.frames import Cards, CatchingUp, ControlMessage, Declined, Seals
from orbweaver.net.wire.seals import BatchSeal
from orbweaver.records.live import LiveRecorder

if TYPE_CHECKING:
    from orbweaver.net.keys.members import Members

TIMER_AGAIN_MS = 1000
"""Milliseconds after which a timer that failed is tried again."""
PACKED = 0.5
"""Fullness of the fullest queue of events from which on the node reads very slowly; from
`CROWDED` on it reads slowly. So senders are slowed down before events have to be dropped, but
one slow neighbour never stops them."""
REST_S, PACKED_REST_S = 0.02, 0.5
"""Seconds that the node waits after a frame when it reads slowly, and when very slowly."""
DECLINES_MAX = 256
"""How many peers are remembered that did not accept events."""
REASON_MAX = 200
"""How many characters of a peer's reason are kept."""
KEEP_S = 1.0
"""Seconds after which what the overlay keeps over a restart is in its file: an overlay may keep
something anew with every event."""
CARDS_PER_S = 500.0
"""How many contact cards out of datagrams are checked per second: each costs a signature."""

log = Logger()


class Host:
    """Implement `Outbox` for the overlay and `Owner` for connections."""

    card: Card

    def __init__(
        self,
        overlay: type[Overlay],
        params: Params,
        settings: Settings,
        identity: Identity,
        delivered: Callable[[Carrier, NodeId | None], object],
        *,
        recorder: LiveRecorder | None = None,
        tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None,
        members: Members | None = None,
        tempo: float = 1.0,
        not_before_ms: int = 0,
        kept: Path | None = None,
    ) -> None:
        """Make the host of an overlay object.

        `delivered` is called with what the overlay delivers, an event or a run, and with the peer
        that brought it. `tls` holds the contexts for calls that come in and for calls that go out;
        `members` knows who belongs to a cluster with an authority. `tempo` is how many times faster
        than real time the overlay's time passes. The overlay's time begins at `not_before_ms` if
        the clock is behind it. `kept` is the file for what the overlay keeps over a restart.
        """
        self.settings = settings
        self.identity = identity
        self.counters = Counters()
        self.me = identity.node
        self.topics = TopicTable(limit=settings.topics_max)
        self.chance = Random(os.urandom(16))
        self._loop = asyncio.get_running_loop()
        self._tempo = tempo
        self._born = self._loop.time()
        self._born_ms = max(round(time.time() * 1000), not_before_ms)
        self._now = self._born_ms
        self._delivered = delivered
        self.codec = Codec(overlay.messages, self.topics)
        self._timers: dict[Timer, asyncio.TimerHandle] = {}
        self._source: NodeId | None = None
        """The peer whose messages the overlay handles now."""
        self._card_bucket = Bucket(CARDS_PER_S, 4 * CARDS_PER_S, self._born)
        self.interest: dict[Topic, None] = {}
        """The topics that the node subscribes to or publishes on."""
        self.recorder = recorder
        self.epoch = 0
        """The epoch of the events that this node publishes: when the overlay was started."""
        self.seal: BatchSeal | None = None
        """The seal of the events that are being published."""
        self.on_link: Callable[[NodeId], None] = lambda peer: None
        self.on_control: Callable[[Connection, CatchingUp], None] = lambda *_: None
        self.on_declined: Callable[[Connection, Declined], None] = lambda *_: None
        self.declines: dict[NodeId, str] = {}
        """Peer -> the last reason why it did not accept events."""
        self.members = members
        self.certificate = b"" if members is None else members.own_certificate
        """The certificate of this node, for the seals of its events."""
        self.gate = Gate(settings, self.codec, self.topics, self.counters, self.receive, members)
        self.gate.on_refused = self._note_refused
        self.book = AddressBook(settings.peers_max, self.links)
        self.peers = Peers(
            self,
            self.book,
            tls[1] if tls else None,
            self.chance,
            self._ready,
            self._lose,
            self._note_unsent,
            members,
        )
        self.letters = Letters(
            self.me, self.book, self.peers.doubts, self.card_of, self.now, self.counters, recorder
        )
        self.outgoing = Outgoing(
            settings, self.peers, self.codec, self.counters, self.gate.complaints, self.card_of,
            self.letters, Departures(self.me), recorder,
        )  # fmt: skip
        self.outgoing.on_too_large = self._note_too_large
        self.outgoing.on_lost = self.note_lost
        self.turns = RoundRobin()
        self._listener = Listener(self.peers, tls[0] if tls else None, settings.handshake_s)
        self._kept = kept
        self._keeping: asyncio.TimerHandle | None = None
        self._blob = b""
        context = Context(
            self.me,
            self,
            Random(self.chance.getrandbits(64)),
            self.topics,
            publisher_of=self.gate.rules.publishers.first_of,
            kept=read_kept(kept),
            seal=lambda: self.seal,
        )
        self.overlay = overlay(context, params)
        self.running = False

    # -- life

    async def listen(self) -> None:
        host, port = split_address(self.settings.listen)
        bound = port = await self._listener.open(host, port)
        if self.settings.advertise:
            host, port = split_address(self.settings.advertise, port)
        elif host in ("0.0.0.0", "::"):
            host = _own_address(host)
        if self.settings.udp and not self.settings.tls:
            self.letters.datagrams = await self._listen_for_datagrams(bound)
        udp = self.letters.datagrams is not None
        self.card = make_card(self.identity, host, port, udp, self._born_ms)

    async def _listen_for_datagrams(self, port: int) -> Datagrams | None:
        """Open the UDP socket at the same port, or return None if another program has the port."""
        scope = f"{self.settings.cluster}\0{self.settings.overlay}"
        listen, _ = split_address(self.settings.listen)
        try:
            _, made = await self._loop.create_datagram_endpoint(
                lambda: Datagrams(self.identity, scope, self.counters, self._on_letter),
                local_addr=(listen, port),
            )
        except OSError as error:
            log.warning("no datagrams", port=port, reason=str(error))
            return None
        return made

    def start(self, contacts: Collection[NodeId]) -> None:
        self.tick()
        self.epoch = self._now
        self.running = True
        if self.recorder is not None:
            self.recorder.joined()
        self.overlay.start(list(contacts))

    async def stop(self) -> None:
        if self.running:
            self.tick()
            self.running = False
            self.overlay.stop()
            if self._keeping is not None:
                self._keeping.cancel()
                self._write_kept()
            self.outgoing.flush()
            if self.recorder is not None:
                self.note()
                self.recorder.left()
        self.outgoing.flush()
        for handle in self._timers.values():
            handle.cancel()
        self._timers.clear()
        await self._listener.close()
        if self.letters.datagrams is not None:
            self.letters.datagrams.close()
        await self.peers.close()
        if self.recorder is not None:
            self.recorder.close()

    def note(self) -> None:
        """Note counts and status in the records. The upkeep calls this once a second."""
        if self.recorder is not None:
            queue = self.counters.dropped_control + self.counters.dropped_data
            drops = {"queue": queue, "unreachable": self.counters.dropped_unreachable}
            self.recorder.note(self.overlay.status(), drops)

    def tick(self) -> None:
        """Read the clock, once for all that happens next, since overlays ask for the time often."""
        self._now = self._born_ms + int((self._loop.time() - self._born) * 1000 * self._tempo)

    # -- the outbox

    def now(self) -> int:
        return self._now

    def send(self, to: NodeId, message: Message) -> None:
        self.outgoing.send(to, message)

    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        for peer in peers:
            self.send(peer, message)

    def set_timer(self, timer: Timer, delay_ms: int) -> None:
        self.cancel_timer(timer)
        delay_s = delay_ms / 1000 / self._tempo
        self._timers[timer] = self._loop.call_later(delay_s, self._fire, timer)

    def cancel_timer(self, timer: Timer) -> None:
        handle = self._timers.pop(timer, None)
        if handle is not None:
            handle.cancel()

    def deliver(self, message: Carrier) -> None:
        self._delivered(message, self._source)

    def link_up(self, peer: NodeId) -> None:
        self.peers.get(peer).link = True
        if self.recorder is not None:
            self.recorder.link(peer, "up")
        self.on_link(peer)

    def link_down(self, peer: NodeId) -> None:
        known = self.peers.known(peer)
        if known is not None:
            known.link = False
        if self.recorder is not None:
            self.recorder.link(peer, "down")

    def round_trip_ms(self, peer: NodeId) -> float | None:
        known = self.peers.known(peer)
        if known is None or known.connection is None or not known.connection.open:
            return None
        known.connection.measure()
        return known.connection.round_trip_ms

    def keep(self, blob: bytes) -> None:
        check_kept(blob)
        self._blob = blob
        if self._keeping is None:
            self._keeping = self._loop.call_later(KEEP_S, self._write_kept)

    def _write_kept(self) -> None:
        self._keeping = None
        write_kept(self._kept, self._blob)

    # -- calls from the network

    def receive(self, sender: NodeId, messages: Sequence[Message]) -> None:
        """Give the overlay what the gate has let in: one message, or several that carry events."""
        if not self.running:
            return
        first = messages[0]
        self._source = sender
        try:
            if first.carries:
                carriers = cast("Sequence[Carrier]", messages)
                self._note_carried(sender, carriers)
                self.overlay.receive_all(sender, carriers)
            else:
                self._note_other(first)
                self.overlay.receive(sender, first)
        finally:
            self._source = None

    def admits(self, connection: Connection, card: Card) -> str:
        return self.peers.admits(card, connection.address)

    def opened(self, connection: Connection) -> None:
        assert connection.card is not None
        self.book.learn(connection.card, shown=True)
        self.peers.opened(connection)

    def closed(self, connection: Connection) -> None:
        if connection.strikes and connection.peer is not None:
            self.gate.complaints.warning(
                "peer misbehaved", peer=f"{connection.peer:016x}", strikes=connection.strikes
            )
        self.peers.closed(connection)

    def writable(self, connection: Connection) -> None:
        peer = self.peers.known(connection.peer) if connection.peer is not None else None
        if peer is not None and peer.connection is connection:
            self.outgoing.write(peer)

    def messages(self, connection: Connection, body: memoryview) -> None:
        self.tick()
        count = self.gate.messages(connection, body, self._loop.time())
        peer = self.peers.known(connection.peer) if connection.peer is not None else None
        if peer is not None:
            peer.messages_in += count
        if (
            count
            and (fullness := self.outgoing.fullness()) > CROWDED
            and self.peers.is_heavy(connection)
        ):
            connection.rest(REST_S if fullness < PACKED else PACKED_REST_S)

    def control(self, connection: Connection, message: ControlMessage) -> None:
        self.tick()
        if isinstance(message, Seals):
            self.gate.seals(connection, message.seals)
        elif isinstance(message, Cards):
            self._learn(connection, message.cards)
        elif isinstance(message, CatchingUp):
            self.on_control(connection, message)
        elif isinstance(message, Declined):
            assert connection.peer is not None
            reason = "".join(filter(str.isprintable, message.reason[:REASON_MAX]))
            self.note_declined(connection.peer, reason, len(message.events))
            self.on_declined(connection, message)
        else:
            connection.strike(f"{type(message).__name__} may not come after the handshake")

    def links(self) -> Collection[NodeId]:
        return self.overlay.links() if self.running else ()

    def note_declined(self, peer: NodeId, reason: str, events: int) -> None:
        """Count `events` that a peer does not accept, and log each of its reasons once."""
        self.counters.declined += events
        if self.declines.get(peer) != reason:
            self.declines.pop(peer, None)
            self.declines[peer] = reason
            if len(self.declines) > DECLINES_MAX:
                del self.declines[next(iter(self.declines))]
            self.gate.complaints.warning(
                "peer does not accept events", peer=f"{peer:016x}", reason=reason
            )

    def note_lost(self, peer: NodeId, parcels: Iterable[Parcel], why: str) -> None:
        """Record the events among messages that never left for a peer."""
        if self.recorder is not None:
            for parcel in parcels:
                if parcel.message.carries:
                    self.recorder.copy(peer, cast(Carrier, parcel.message), "lost", why)

    # -- inside

    def _note_too_large(self, peer: NodeId, limit: int, parcels: Sequence[Parcel]) -> None:
        reason = f"the payload is larger than the peer's payload_bytes_max={limit}"
        self.note_declined(peer, reason, len(parcels))
        self.note_lost(peer, parcels, "too large")

    def _note_unsent(self, peer: NodeId, parcels: Iterable[Parcel]) -> None:
        self.note_lost(peer, parcels, "unreachable")

    def _note_refused(self, peer: NodeId, carrier: Carrier, why: str) -> None:
        if self.recorder is not None:
            self.recorder.copy(peer, carrier, "refused", why)

    def _note_carried(self, sender: NodeId, carriers: Sequence[Carrier]) -> None:
        for carrier in carriers:
            interested = carrier.event.topic in self.interest
            if not interested:
                self.counters.relayed += carrier.count
            if self.recorder is not None:
                self.recorder.received(carrier.count)
                self.recorder.carried(carrier, interested)
                self.recorder.copy(sender, carrier, "received")

    def _note_other(self, message: Message) -> None:
        if self.recorder is not None:
            self.recorder.received(1)
            if message.announces:
                topic = message.topic  # type: ignore[attr-defined]
                self.recorder.noticed(topic in self.interest)

    def _fire(self, timer: Timer) -> None:
        del self._timers[timer]
        self.tick()
        try:
            self.overlay.wake(timer)
        except Exception:
            # A peer's message may have caused the failure. Without timers an overlay is dead.
            self.gate.complaints.exception("timer failed", timer=str(timer))
            if timer not in self._timers:
                self.set_timer(timer, TIMER_AGAIN_MS)

    def _on_letter(self, letter: Letter) -> None:
        if self.peers.admits(letter.card, None):
            raise ProtocolError("the sender of the datagram is not let in")
        self.tick()
        sender = self.book.learn(letter.card)
        for card in letter.cards:
            if self.book.has(card) or self._card_bucket.allow(1, self._loop.time()):
                self._learn_card(card, None)
        self.gate.datagram(sender, letter.message)

    def card_of(self, node: NodeId) -> Card | None:
        return self.card if node == self.me else self.book.get(node)

    def _learn(self, connection: Connection, cards: Iterable[Card]) -> None:
        for card in islice(cards, TOLD_CARDS_MAX):
            try:
                self._learn_card(card, connection.peer)
            except ProtocolError as error:
                self.counters.bad_cards += 1
                connection.strike(str(error))
                if not connection.alive:
                    return

    def _learn_card(self, card: Card, source: NodeId | None) -> None:
        if card.node != self.me:
            self.book.learn(card, source)

    def _ready(self, peer: PeerState) -> None:
        self.outgoing.ready(peer)

    def _lose(self, node: NodeId) -> None:
        if self.running:
            self.tick()
            self.overlay.lost(node)


def _own_address(any_address: str) -> str:
    """Return the address at which other nodes reach a node that listens at every address: the one
    that this machine would call from. Nothing is sent."""
    family = socket.AF_INET6 if ":" in any_address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "::1" if family == socket.AF_INET6 else "127.0.0.1"
