"""Send small gossip by datagram to peers without a connection."""

from __future__ import annotations

from collections.abc import Callable

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.net.counters import Counters
from orbweaver.net.peers.cards import AddressBook
from orbweaver.net.peers.dials import Doubts
from orbweaver.net.peers.peers import PeerState
from orbweaver.net.wire.datagrams import Datagrams
from orbweaver.net.wire.packing import CardOf
from orbweaver.records.live import LiveRecorder


class Letters:
    """The datagrams that a node sends; none until it has a socket for them."""

    def __init__(
        self,
        me: NodeId,
        book: AddressBook,
        doubts: Doubts,
        card_of: CardOf,
        now: Callable[[], int],
        counters: Counters,
        recorder: LiveRecorder | None,
    ) -> None:
        self._me = me
        self._book = book
        self._doubts = doubts
        self._card_of = card_of
        self._now = now
        self._counters = counters
        self._recorder = recorder
        self._stamp = 0
        self.datagrams: Datagrams | None = None

    def send(self, peer: PeerState, encode: Callable[[Message], bytes]) -> bool:
        """Send what waits for a peer. Return whether all of it could go without a connection."""
        card, mine = self._book.get(peer.node), self._card_of(self._me)
        if self.datagrams is None or card is None or not card.udp or peer.queue.data:
            return False
        if mine is None or not self._doubts.was_found(card):
            return False  # the address may belong to a machine that is no node
        while peer.queue.control:
            parcel = peer.queue.control[0]
            if parcel.message.purpose != "membership":
                return False
            if data := parcel.data or parcel.encode(encode):
                cards = [c for node in parcel.names if (c := self._card_of(node)) is not None]
                self._stamp = max(self._stamp + 1, self._now())
                if not self.datagrams.send(card, mine, self._stamp, cards, data):
                    return False
                self._counters.messages_out += 1
                if self._recorder is not None:
                    self._recorder.sent(parcel.message, len(data))
            del peer.queue.control[0]
        return True
