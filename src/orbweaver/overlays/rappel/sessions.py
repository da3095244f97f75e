"""Bootstrapping: the staggered join of a first session, and what a later one begins with
(section 5)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import shuffled
from orbweaver.overlays.rappel.friends import Friends
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.trees import FeedTree

KEPT_FRIENDS_MAX = 64
"""Most stale friends that are read from what the last life kept."""


class Sessions:
    """The beginning of one session, and what the next one is left."""

    def __init__(
        self,
        context: Context,
        params: RappelParams,
        friends: Friends,
        trees: Mapping[Topic, FeedTree],
    ) -> None:
        self._context = context
        self._staggered_max = params.staggered
        self._friends = friends
        self._trees = trees
        self.pending: list[Topic] = []
        """Feeds whose staggered join is still to come (section 5.2)."""
        self._staggered = 0
        self._kept = b""

    def begin(self) -> None:
        self.pending = shuffled(self._context.rng, list(self._trees))

    def stagger(self) -> list[Topic]:
        """Return the feeds to join now: those that friends cover, and one more at its publisher.
        After `staggered` of the latter, all that are left (section 5.2)."""
        covered = [topic for topic in self.pending if self._friends.covering(topic)]
        first = [topic for topic in self.pending if topic not in covered][:1]
        self._staggered += len(first)
        now = [*covered, *first] if self._staggered < self._staggered_max else self.pending
        self.pending = [topic for topic in self.pending if topic not in now]
        return now

    def stale_friends(self) -> list[NodeId]:
        """Return the friends of the last session (section 5.3)."""
        try:
            stale = msgspec.msgpack.decode(self._context.kept or b"\x90", type=list[int])
        except msgspec.DecodeError:
            return []
        return [NodeId(n) for n in stale[:KEPT_FRIENDS_MAX] if n != self._context.me]

    def keep(self) -> None:
        """Keep the friends, and the parents behind them, for the next session."""
        parents = (tree.parent for tree in self._trees.values() if tree.parent is not None)
        nodes = list(dict.fromkeys([*self._friends.friends, *parents]))[:KEPT_FRIENDS_MAX]
        blob = msgspec.msgpack.encode(nodes)
        if nodes and blob != self._kept:
            self._kept = blob
            self._context.outbox.keep(blob)
