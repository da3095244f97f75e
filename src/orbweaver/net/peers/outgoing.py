"""Send the messages of an overlay.

Messages are queued for each peer and written at the end of the loop's tick, with one write for
each peer. To a peer without a connection, small gossip goes by datagram; for any other message a
connection is opened first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Message
from orbweaver.net.events.departures import Departures
from orbweaver.net.peers.outqueue import Parcel, wrap
from orbweaver.net.peers.peers import PeerState
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.datagrams import Datagrams
from orbweaver.net.wire.frames import MESSAGES_HEADER
from orbweaver.net.wire.packing import pack

if TYPE_CHECKING:
    from orbweaver.net.host import Host

WRITE_MAX = 128 << 10
"""Bytes written at once to one peer; the rest waits until they have been sent."""
CROWDED = 0.125
"""Fullness of the fullest queue of events from which on publishers and senders have to wait."""
STALLED_S = 1.0
"""Seconds after which publishers and senders do not wait for a neighbour that reads nothing."""


class Outgoing:
    """The queues of a host, and what writes them out."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._queue_messages = host.settings.queue_messages
        self._queue_bytes = host.settings.queue_bytes
        self._message_max = host.settings.frame_bytes_max - MESSAGES_HEADER
        self._dirty: dict[PeerState, None] = {}
        """The peers for which something has been queued in this tick."""
        self._last = wrap(Message())
        self._flush_due = False
        self._stamp = 0
        self.datagrams: Datagrams | None = None
        self.reach = 0
        """How many messages that carry or announce events were sent since the last publication
        began."""
        self.departures = Departures()
        self.on_written: Callable[[Connection, Sequence[Parcel]], None] = lambda *written: None

    def send(self, to: NodeId, message: Message) -> None:
        parcel = self._last
        if parcel.message is not message:
            parcel = self._last = wrap(message)
        peers = self._host.peers
        peer = peers.get(to)
        if parcel.size > peers.payload_least and peer.connection is not None:
            limit = peer.connection.payload_bytes_max
            if parcel.size > limit:
                self._host.note_declined(to, _too_large(limit), 1)
                self._host.note_lost(to, (parcel,), "too large")
                return
        if message.carries or message.announces:
            self.reach += 1
        if dropped := peer.queue.put(
            parcel, self._queue_messages, self._queue_bytes, self._host.counters
        ):
            self._host.note_lost(to, dropped, "queue")
        self._dirty[peer] = None
        if not self._flush_due:
            self.flush_soon()

    def flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Hand on delivered events and write what is queued, at the end of a tick."""
        self._flush_due = False
        self._host.hand_on()
        self._last = wrap(Message())
        dirty, self._dirty = self._dirty, {}
        self._host.sealer.close()
        for peer in dirty:
            self.write(peer)

    def ready(self, peer: PeerState) -> None:
        """Write to a peer that has a connection now. Waiting events may be too large for the peer,
        which has only now said what it accepts; they are dropped."""
        assert peer.connection is not None
        limit = peer.connection.payload_bytes_max
        if dropped := peer.queue.drop_larger(limit):
            self._host.note_declined(peer.node, _too_large(limit), len(dropped))
            self._host.note_lost(peer.node, dropped, "too large")
        self.write(peer)

    def write(self, peer: PeerState) -> None:
        """Write as much of a peer's queue as the peer takes now."""
        host, connection = self._host, peer.connection
        if connection is None:
            if not self._send_datagrams(peer):
                host.peers.dial(peer)
            return
        host.sealer.close()
        # A peer that got a `Bye` reads nothing more; its queue is for the next connection.
        while (
            len(peer.queue)
            and connection.paused_since is None
            and connection.open
            and not connection.retired
        ):
            parcels = peer.queue.take(WRITE_MAX, self._encode)
            host.counters.messages_out += len(parcels)
            if host.recorder is not None:
                for parcel in parcels:
                    host.recorder.sent(parcel.message, len(parcel.data or b""))
                    if parcel.message.carries:
                        host.recorder.copy(peer.node, cast(Carrier, parcel.message), "sent")
            connection.used = self._loop.time()
            connection.write(pack(parcels, connection, host.card_of))
            if self.departures.unsent:
                self.departures.written(
                    cast(Carrier, parcel.message).event
                    for parcel in parcels
                    if parcel.message.carries
                )
            self.on_written(connection, parcels)
        host.on_room()

    # -- how much waits

    def fullness(self) -> float:
        """Return the fullness of the fullest queue of events: at 1 the queue drops events.

        Only peers that read count: otherwise any peer could stop all publishers by not reading.
        """
        messages, size = self._queue_messages, self._queue_bytes
        return max(
            (
                max(len(p.queue.data) / messages, p.queue.bytes / size)
                for p in self._host.peers
                if p.queue.data and self._reads(p)
            ),
            default=0.0,
        )

    def crowded(self) -> bool:
        return self.fullness() > CROWDED

    def queued(self) -> int:
        """Return how many messages wait for peers."""
        return sum(len(peer.queue) for peer in self._host.peers)

    # -- inside

    def _reads(self, peer: PeerState) -> bool:
        connection = peer.connection
        if connection is None:
            return False
        stalled = connection.paused_since
        return stalled is None or self._loop.time() - stalled < STALLED_S

    def _send_datagrams(self, peer: PeerState) -> bool:
        """Send a peer's queue as datagrams. Return whether all of it could go without a
        connection."""
        host = self._host
        card = host.book.get(peer.node)
        if self.datagrams is None or card is None or not card.udp or peer.queue.data:
            return False
        if not host.peers.doubts.was_found(card):
            return False  # the address may belong to a machine that is no node
        while peer.queue.control:
            parcel = peer.queue.control[0]
            if parcel.message.purpose != "membership":
                return False
            cards = [c for node in parcel.names if (c := host.card_of(node)) is not None]
            data = parcel.data or parcel.encode(self._encode)
            if not data:
                del peer.queue.control[0]
                continue
            self._stamp = max(self._stamp + 1, host.now())
            if not self.datagrams.send(card, host.card, self._stamp, cards, data):
                return False
            del peer.queue.control[0]
            host.counters.messages_out += 1
            if host.recorder is not None:
                host.recorder.sent(parcel.message, len(data))
        host.peers.forget(peer)
        return True

    def _encode(self, message: Message) -> bytes:
        """Encode a message, or return nothing if it cannot be sent: an overlay may repeat nonsense
        that a peer sent, and the messages after it must still go."""
        host = self._host
        try:
            data = host.codec.encode(message)
            if len(data) <= self._message_max:
                return data
            host.gate.complaints.warning(
                "message too large", kind=type(message).__name__, bytes=len(data)
            )
        except Exception:
            host.gate.complaints.exception("message cannot be sent", kind=type(message).__name__)
        host.counters.dropped_control += 1
        return b""


def _too_large(size_max: int) -> str:
    return f"the payload is larger than the peer's payload_bytes_max={size_max}"
