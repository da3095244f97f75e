"""Lazy push: IHAVE to lazy neighbours soon after an event, and to all of them after a burst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import StreamId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.cache import EventCache
from orbweaver.gossip.plumtree.messages import IHave, Newest
from orbweaver.gossip.streams import Stream


class LazyPush:
    TIMER_ANNOUNCE = "announce"
    TIMER_SUMMARY = "summary"
    ANNOUNCE_MS = 20
    """Milliseconds for which announcements are gathered into one message."""
    SUMMARY_MS = 1000
    """Milliseconds after an event until all neighbours are told the newest numbers."""
    SUMMARY_ROUNDS = 2
    """How often they are told."""

    def __init__(
        self,
        context: Context,
        peers: Mapping[NodeId, Interest],
        streams: Mapping[StreamId, Stream],
        cache: EventCache,
    ) -> None:
        """The maps and the cache are live; the owner changes them. Only what is in the cache is
        announced."""
        self._outbox = context.outbox
        self._topic_mask = context.topics.mask
        self._peers = peers
        self._streams = streams
        self._cache = cache
        self._soon: dict[NodeId, dict[StreamId, int]] = {}
        self._recent: dict[StreamId, int] = {}
        """Stream -> how often its newest number has to be told to all neighbours yet."""

    def greet(self, peer: NodeId, interest: Interest) -> None:
        """Tell a new neighbour the newest of each stream that it may have missed."""
        newest = [
            (stream, held.last_seq)
            for topic in self._cache.topics()
            if self._topic_mask(topic) & interest.mask
            for stream, held in self._cache.newest(topic).items()
        ]
        if told := self._newest(newest):
            self._outbox.send(peer, IHave(tuple(told)))

    def forget(self, peer: NodeId) -> None:
        self._soon.pop(peer, None)

    def soon(self, peer: NodeId, stream: StreamId, seq: int) -> None:
        if not self._soon:
            self._outbox.set_timer(self.TIMER_ANNOUNCE, self.ANNOUNCE_MS)
        news = self._soon.setdefault(peer, {})
        news[stream] = max(seq, news.get(stream, 0))

    def after(self, stream: StreamId) -> None:
        """Note that there was something new in a stream."""
        if not self._recent:
            self._outbox.set_timer(self.TIMER_SUMMARY, self.SUMMARY_MS)
        self._recent[stream] = self.SUMMARY_ROUNDS

    def announce(self) -> None:
        """Send what was gathered. Called when `TIMER_ANNOUNCE` is due."""
        pending, self._soon = self._soon, {}
        for peer, news in pending.items():
            told = self._newest(news.items())
            if told and peer in self._peers:
                self._outbox.send(peer, IHave(tuple(told)))

    def summarise(self) -> None:
        """Tell all neighbours the newest numbers. Called when `TIMER_SUMMARY` is due."""
        recent = list(self._recent.items())
        self._recent = {stream: rounds - 1 for stream, rounds in recent if rounds > 1}
        newest = [(s, self._streams[s].highest()) for s, _ in recent if s in self._streams]
        # The streams are the same for all peers; which of them concern a peer is not.
        told = [(self._topic_mask(one.stream[2]), one) for one in self._newest(newest)]
        for peer, interest in self._peers.items():
            mask = interest.mask
            news = [one for topic, one in told if mask & topic]
            if news:
                self._outbox.send(peer, IHave(tuple(news)))
        if self._recent:
            self._outbox.set_timer(self.TIMER_SUMMARY, self.SUMMARY_MS)

    def _newest(self, news: Iterable[tuple[StreamId, int]]) -> list[Newest]:
        """Return what can be said of these events: of those that are still in the cache."""
        now = self._outbox.now()
        found = []
        for stream, seq in news:
            held = self._cache.get(stream, seq)
            if held is not None:
                found.append(Newest(stream, seq, held.age_at(now)))
        return found
