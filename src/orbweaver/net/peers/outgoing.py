"""Send the messages of an overlay.

Messages are queued for each peer and written at the end of the loop's tick, with one write for
each peer. To a peer without a connection, small gossip goes by datagram; for any other message a
connection is opened first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Codec, Message
from orbweaver.net.counters import Counters
from orbweaver.net.events.departures import Departures
from orbweaver.net.gate.limits import Sparing
from orbweaver.net.peers.letters import Letters
from orbweaver.net.peers.outqueue import Parcel, split, wrap
from orbweaver.net.peers.peers import Peers, PeerState
from orbweaver.net.settings import Settings
from orbweaver.net.wire.frames import MESSAGES_HEADER
from orbweaver.net.wire.packing import CardOf, pack
from orbweaver.records.live import LiveRecorder

WRITE_MAX = 128 << 10
"""Bytes written at once to one peer; the rest waits until they have been sent."""
CROWDED = 0.125
"""Fullness of the fullest queue of events from which on publishers and senders have to wait."""
STALLED_S = 1.0
"""Seconds after which publishers and senders do not wait for a neighbour that reads nothing."""


class Outgoing:
    """What waits for the peers of a node, and what writes it out."""

    def __init__(
        self,
        settings: Settings,
        peers: Peers,
        codec: Codec,
        counters: Counters,
        complaints: Sparing,
        card_of: CardOf,
        letters: Letters,
        departures: Departures,
        recorder: LiveRecorder | None,
    ) -> None:
        self._settings = settings
        self._peers = peers
        self._codec = codec
        self._counters = counters
        self._complaints = complaints
        self._card_of = card_of
        self._letters = letters
        self._recorder = recorder
        self._loop = asyncio.get_running_loop()
        self._message_max = settings.frame_bytes_max - MESSAGES_HEADER
        self._dirty: dict[PeerState, None] = {}
        """The peers for which something has been queued in this tick."""
        self._last = wrap(Message())
        self.departures = departures
        self.on_room: Callable[[], None] = lambda: None
        self.on_too_large: Callable[[NodeId, int, Sequence[Parcel]], None] = lambda *events: None
        """Called with a peer, its limit on payloads, and the events beyond the limit."""
        self.on_lost: Callable[[NodeId, Sequence[Parcel], str], None] = lambda *events: None
        """Called with a peer, messages that are dropped, and the reason."""

    def send(self, to: NodeId, message: Message) -> None:
        """Queue a message for a peer, to be written at the end of the tick."""
        parcel = self._last
        if parcel.message is not message:
            parcel = self._last = wrap(message)
        peer = self._peers.get(to)
        if parcel.largest > self._peers.payload_least and peer.connection is not None:
            limit = peer.connection.payload_bytes_max
            if parcel.largest > limit:
                fitting, larger = split(parcel, limit)
                self.on_too_large(to, limit, larger)
                for single in fitting:
                    self._queue(peer, single)
                return
        self._queue(peer, parcel)

    def _queue(self, peer: PeerState, parcel: Parcel) -> None:
        messages_max, bytes_max = self._settings.queue_messages, self._settings.queue_bytes
        if dropped := peer.queue.put(parcel, messages_max, bytes_max, self._counters):
            self.on_lost(peer.node, dropped, "queue")
        if not self._dirty:
            self._loop.call_soon(self.flush)
        self._dirty[peer] = None

    def flush(self) -> None:
        """Write what is queued."""
        self._last = wrap(Message())
        dirty, self._dirty = self._dirty, {}
        for peer in dirty:
            self.write(peer)

    def ready(self, peer: PeerState) -> None:
        """Write to a peer that has a connection now. Waiting events may be too large for the peer,
        which has only now said what it accepts; they are dropped."""
        assert peer.connection is not None
        limit = peer.connection.payload_bytes_max
        if dropped := peer.queue.drop_larger(limit):
            self.on_too_large(peer.node, limit, dropped)
        self.write(peer)

    def write(self, peer: PeerState) -> None:
        """Write as much of a peer's queue as the peer takes now."""
        connection = peer.connection
        if connection is None:
            if self._letters.send(peer, self._encode):
                self._peers.forget(peer)
            else:
                self._peers.dial(peer)
            return
        # A peer that got a `Bye` reads nothing more; its queue is for the next connection.
        while (
            len(peer.queue)
            and connection.paused_since is None
            and connection.open
            and not connection.retired
        ):
            parcels = peer.queue.take(WRITE_MAX, self._encode)
            self._counters.messages_out += len(parcels)
            connection.used = self._loop.time()
            connection.write(pack(parcels, connection, self._card_of))
            if self._recorder is not None:
                for parcel in parcels:
                    self._recorder.sent(parcel.message, len(parcel.data or b""))
                    if parcel.message.carries:
                        carrier = cast(Carrier, parcel.message)
                        self._recorder.copy(peer.node, carrier, "sent")
            if runs := [
                (cast(Carrier, parcel.message).event, parcel.events)
                for parcel in parcels
                if parcel.message.carries
            ]:
                self.departures.written(connection, runs)
        self.on_room()

    # -- how much waits

    def fullness(self) -> float:
        """Return the fullness of the fullest queue of events: at 1 the queue drops events.

        Only peers that read count: otherwise any peer could stop all publishers by not reading.
        """
        messages, size = self._settings.queue_messages, self._settings.queue_bytes
        return max(
            (
                max(p.queue.events / messages, p.queue.bytes / size)
                for p in self._peers
                if p.queue.data and self._reads(p)
            ),
            default=0.0,
        )

    def crowded(self) -> bool:
        return self.fullness() > CROWDED

    def queued(self) -> int:
        """Return how many messages wait for peers."""
        return sum(len(peer.queue) for peer in self._peers)

    # -- inside

    def _reads(self, peer: PeerState) -> bool:
        connection = peer.connection
        if connection is None:
            return False
        stalled = connection.paused_since
        return stalled is None or self._loop.time() - stalled < STALLED_S

    def _encode(self, message: Message) -> bytes:
        """Encode a message, or return nothing if it cannot be sent: an overlay may repeat nonsense
        that a peer sent, and the messages after it must still go."""
        try:
            data = self._codec.encode(message)
            if len(data) <= self._message_max:
                return data
            self._complaints.warning(
                "message too large", kind=type(message).__name__, bytes=len(data)
            )
        except Exception:
            self._complaints.exception("message cannot be sent", kind=type(message).__name__)
        self._counters.dropped_control += 1
        return b""
