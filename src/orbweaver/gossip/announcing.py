"""Telling neighbours what there is: over lazy links soon, over all of them after a burst.

An announcement names the newest event of a stream; that those before it exist follows from
the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose, StreamId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.cache import EventCache
from orbweaver.gossip.streams import Stream


class Sign(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """That the sender has a stream up to a number, and how old that event is."""

    stream: StreamId
    seq: int
    age_ms: int


class Announce(Message, frozen=True, gc=False, tag="announce"):
    purpose: ClassVar[Purpose] = "repair"
    signs: tuple[Sign, ...]


class Announcer:
    TIMER_ANNOUNCE = "announce"
    TIMER_SUMMARY = "summary"
    ANNOUNCE_MS = 20
    """Announcements of this long go into one message."""
    SUMMARY_MS = 1000
    """How long after an event all links are told the newest numbers, twice."""
    SUMMARY_ROUNDS = 2

    def __init__(
        self,
        context: Context,
        peers: Mapping[NodeId, Interest],
        streams: Mapping[StreamId, Stream],
        cache: EventCache,
    ) -> None:
        """All three are somebody else's, and live. Only what is in the cache is announced."""
        self._outbox = context.outbox
        self._topic_mask = context.topics.mask
        self._peers = peers
        self._streams = streams
        self._cache = cache
        self._soon: dict[NodeId, dict[StreamId, int]] = {}
        self._recent: dict[StreamId, int] = {}
        """Streams to be told of once more, and how often."""

    def greet(self, peer: NodeId, interest: Interest) -> None:
        """Tell a new neighbour the newest of each stream that it may have missed."""
        newest = [
            (stream, held.event.seq)
            for topic in self._cache.topics()
            if self._topic_mask(topic) & interest.mask
            for stream, held in self._cache.newest(topic).items()
        ]
        if signs := self._signs(newest):
            self._outbox.send(peer, Announce(tuple(signs)))

    def forget(self, peer: NodeId) -> None:
        self._soon.pop(peer, None)

    def soon(self, peer: NodeId, stream: StreamId, seq: int) -> None:
        if not self._soon:
            self._outbox.set_timer(self.TIMER_ANNOUNCE, self.ANNOUNCE_MS)
        news = self._soon.setdefault(peer, {})
        news[stream] = max(seq, news.get(stream, 0))

    def after(self, stream: StreamId) -> None:
        """There has been something new in a stream."""
        if not self._recent:
            self._outbox.set_timer(self.TIMER_SUMMARY, self.SUMMARY_MS)
        self._recent[stream] = self.SUMMARY_ROUNDS

    def announce(self) -> None:
        """When `TIMER_ANNOUNCE` is due."""
        pending, self._soon = self._soon, {}
        for peer, news in pending.items():
            signs = self._signs(news.items())
            if signs and peer in self._peers:
                self._outbox.send(peer, Announce(tuple(signs)))

    def summarise(self) -> None:
        """When `TIMER_SUMMARY` is."""
        recent = list(self._recent.items())
        self._recent = {stream: rounds - 1 for stream, rounds in recent if rounds > 1}
        newest = [(s, self._streams[s].highest()) for s, _ in recent if s in self._streams]
        # The same signs for everybody; only whom they concern is asked for each peer.
        signs = [(self._topic_mask(sign.stream[2]), sign) for sign in self._signs(newest)]
        for peer, interest in self._peers.items():
            mask = interest.mask
            news = [sign for topic, sign in signs if mask & topic]
            if news:
                self._outbox.send(peer, Announce(tuple(news)))
        if self._recent:
            self._outbox.set_timer(self.TIMER_SUMMARY, self.SUMMARY_MS)

    def _signs(self, news: Iterable[tuple[StreamId, int]]) -> list[Sign]:
        """Of those events that are still in the cache."""
        now = self._outbox.now()
        signs = []
        for stream, seq in news:
            held = self._cache.get(stream, seq)
            if held is not None:
                signs.append(Sign(stream, seq, held.age_at(now)))
        return signs
