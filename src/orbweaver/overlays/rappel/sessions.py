"""Bootstrapping: the staggered join of a first session, and what a later one begins with
(section 5).

A session ends without warning when the node crashes, so what the next one needs is kept whenever
it changes: the friends, since when each feed is subscribed to, and which updates were seen. An
update that was published in between is then new to the node, and one that it had is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import KEPT_BYTES_MAX, Context
from orbweaver.core.seeds import shuffled
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.rappel.friends import Friends
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.trees import FeedTree

KEPT_FRIENDS_MAX = 64
"""Most stale friends that are read from what the last life kept."""

Count = Annotated[int, Meta(ge=0, le=1 << 62)]


class SeenStream(msgspec.Struct, frozen=True, array_like=True):
    """Which updates of a stream were seen."""

    publisher: NodeId
    epoch: int
    next_seq: Count
    missing: tuple[Count, ...]
    """Numbers before `next_seq` that were not seen and may still be in the caches of others."""


class KeptFeed(msgspec.Struct, frozen=True, array_like=True):
    topic: Topic
    since: int | None
    """When the node subscribed, in milliseconds. None: it only publishes."""
    streams: tuple[SeenStream, ...]


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """What one session leaves to the next (section 5.3)."""

    friends: tuple[NodeId, ...] = ()
    """The friends, and the parents behind them."""
    epoch: int = -1
    """The epoch of what the node published."""
    feeds: tuple[msgspec.Raw, ...] = ()
    """A `KeptFeed` for each feed, encoded. Only that of a feed with news is encoded again."""


class Sessions:
    """The beginning of one session, and what the next one is left."""

    def __init__(
        self,
        context: Context,
        params: RappelParams,
        interest: OwnInterest,
        friends: Friends,
        trees: Mapping[Topic, FeedTree],
    ) -> None:
        self._context = context
        self._params = params
        self._interest = interest
        self._friends = friends
        self._trees = trees
        self.pending: list[Topic] = []
        """Feeds whose staggered join is still to come (section 5.2)."""
        self._staggered = 0
        self.epoch = 0
        """The epoch of what the node publishes until it stops. It is never used again."""
        self._feeds: dict[Topic, msgspec.Raw] = {}
        self._blob = context.kept
        self._kept_of: tuple[object, ...] = ()
        """What `_blob` was made of."""
        try:
            self._last = msgspec.msgpack.decode(context.kept, type=Kept)
            self._last_feeds = [msgspec.msgpack.decode(f, type=KeptFeed) for f in self._last.feeds]
        except msgspec.DecodeError:
            self._last, self._last_feeds = Kept(), []

    # -- the next session

    def resume(self) -> None:
        """Take up the feeds of the last session where it ended (section 5.3)."""
        now = self._context.outbox.now()
        self.epoch = max(now, self._last.epoch + 1)
        for feed in self._last_feeds:
            tree = self._trees.get(feed.topic)
            if tree is None:
                continue
            if feed.since is not None and feed.topic in self._interest.subscribed:
                self._interest.subscribed[feed.topic] = min(now, feed.since)
            for seen in feed.streams:
                tree.resume((seen.publisher, seen.epoch, feed.topic), seen.next_seq, seen.missing)

    def stale_friends(self) -> list[NodeId]:
        """Return the friends of the last session (section 5.3)."""
        stale = self._last.friends[:KEPT_FRIENDS_MAX]
        return [node for node in stale if node != self._context.me]

    def keep(self, topic: Topic | None = None) -> None:
        """Keep what the next session needs, after news of a feed or after other changes."""
        if topic is not None:
            self._feeds[topic] = self._encode(self._trees[topic])
        parents = [tree.parent for tree in self._trees.values() if tree.parent is not None]
        nodes = tuple(dict.fromkeys([*self._friends.friends, *parents]))[:KEPT_FRIENDS_MAX]
        friends = nodes or self._last.friends  # until there are new ones
        for feed, tree in self._trees.items():
            if feed not in self._feeds:
                self._feeds[feed] = self._encode(tree)
        feeds = tuple([self._feeds[feed] for feed in self._trees])
        if (friends, self.epoch, feeds) == self._kept_of:
            return
        self._kept_of = (friends, self.epoch, feeds)
        blob = msgspec.msgpack.encode(Kept(friends, self.epoch, feeds))
        while len(blob) > KEPT_BYTES_MAX:
            feeds = feeds[(len(feeds) + 1) // 2 :]  # the feeds subscribed to last
            blob = msgspec.msgpack.encode(Kept(friends, self.epoch, feeds))
        if blob != self._blob:
            self._blob = blob
            self._context.outbox.keep(blob)

    def _encode(self, tree: FeedTree) -> msgspec.Raw:
        streams = tuple(
            SeenStream(publisher, epoch, next_seq, missing)
            for (publisher, epoch, _), next_seq, missing in tree.seen()
        )
        since = self._interest.subscribed.get(tree.topic)
        return msgspec.Raw(msgspec.msgpack.encode(KeptFeed(tree.topic, since, streams)))

    def forget(self, topic: Topic) -> None:
        """Take note that the subscription to a feed has changed."""
        self._feeds.pop(topic, None)

    # -- the staggered join

    def begin(self) -> None:
        self.pending = shuffled(self._context.rng, list(self._trees))

    def stagger(self) -> list[Topic]:
        """Return the feeds to join now: those that friends cover, and one more at its publisher.
        After `staggered` of the latter, all that are left (section 5.2)."""
        covered = [topic for topic in self.pending if self._friends.covering(topic)]
        first = [topic for topic in self.pending if topic not in covered][:1]
        self._staggered += len(first)
        now = [*covered, *first] if self._staggered < self._params.staggered else self.pending
        self.pending = [topic for topic in self.pending if topic not in now]
        return now
