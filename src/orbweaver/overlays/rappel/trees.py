"""One node's place in the dissemination tree of one feed (section 4).

This part decides by Algorithm 2; the node sends. "Closer" compares distances to the root in
network coordinates; ties are broken by id, as the paper breaks them by address.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Literal

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import StreamId
from orbweaver.gossip.cache import Held
from orbweaver.gossip.streams import Stream
from orbweaver.gossip.vivaldi import Coordinates, distance_ms
from orbweaver.overlays.rappel.messages import Descent, EventName

STREAMS_MAX = 256
"""Most streams of one feed that are followed; the oldest gives way."""
ASKED_MAX = 512
"""Most updates of one feed of which it is remembered that they were pulled."""
GIVEN_MAX = 16
"""Most times that one neighbour is given the same update. A pull is small, an update may be large,
and no neighbour loses an update so often."""


class Decision(msgspec.Struct, frozen=True):
    """What Algorithm 2 answers to a join request."""

    answer: Literal["deny", "forward", "ok"]
    forward_to: NodeId | None = None
    evicted: NodeId | None = None
    """The child that has to leave, and where it is sent."""
    evicted_to: NodeId | None = None


DENY = Decision("deny")
OK = Decision("ok")


class FeedTree:
    """The place of one node in one tree, its joins under way, and its cache of updates."""

    def __init__(self, topic: Topic, me: NodeId, fanout: int, cache: int) -> None:
        self.topic = topic
        self._me = me
        self._fanout = fanout
        self._cache_size = cache
        self.root: NodeId | None = None
        self.root_place: Coordinates | None = None
        self.parent: NodeId | None = None
        self.parent_place: Coordinates | None = None
        self.ancestors: tuple[NodeId, ...] = ()
        """The parent, its parent, and so on up to the root."""
        self.line: Descent | None = None
        """What the present parent last said of itself."""
        self._told: Descent | None = None
        """What children were last told, and of what it was made."""
        self._told_of: tuple[object, ...] = ()
        self.children: dict[NodeId, Coordinates] = {}
        self.child_since: dict[NodeId, int] = {}
        """Children, and some that are none any more -> when they became one."""
        self.requests = 0
        """How many join requests this node has decided about (Fig. 11a)."""
        self.leaving: dict[NodeId, int] = {}
        """Evicted children, which still get updates, and until when."""
        self.adopted: dict[NodeId, None] = {}
        """Children of a node that left, which find room here in any case (section 4.4)."""
        self.seeking: NodeId | None = None
        """The node that was asked to be the parent."""
        self.visited: dict[NodeId, None] = {}
        """Nodes asked in the present search."""
        self.queue: list[NodeId] = []
        """Nodes to ask next."""
        self.skip_rejoin = False
        """An evicted child skips its next periodic rejoin (section 4.2)."""
        self.cache: dict[EventName, Held] = {}
        self.names: tuple[EventName, ...] = ()
        """The names of the updates in the cache, which pings and acks list."""
        self.streams: dict[StreamId, Stream] = {}
        self.asked: dict[EventName, int] = {}
        self._given: dict[tuple[NodeId, EventName], int] = {}
        """How often a neighbour has pulled an update from here."""

    # -- the tree

    def distance(self, place: Coordinates, node: NodeId) -> tuple[float, int]:
        """Return how far a node is from the root, with its id for ties. The root is closest."""
        if node == self.root or self.root_place is None:
            return (-1.0, int(node))
        return (distance_ms(place, self.root_place), int(node))

    def receive_join(self, mine: Coordinates, node: NodeId, place: Coordinates) -> Decision:
        """Decide about a join request (Algorithm 2), with its slip mended: the evicted child is
        told ChangeParent, not the joining node."""
        self.requests += 1
        if node in self.ancestors or self.root_place is None:
            return DENY
        if self.parent is None and self.root != self._me:
            return DENY  # this node has lost the tree itself
        wanted = self.distance(place, node)
        if self.distance(mine, self._me) > wanted:
            return Decision("forward", self.parent)  # Fig. 4(a)
        if node in self.children or node in self.adopted:
            return OK
        if len(self.children) < self._fanout:
            return OK  # Fig. 4(b)
        far = max(self.children, key=lambda child: self.distance(self.children[child], child))
        if self.distance(self.children[far], far) < wanted:  # Fig. 4(c)
            return Decision("forward", self._closest(place, self.children))
        others = {n: p for n, p in self.children.items() if n != far} | {node: place}
        return Decision("ok", None, far, self._closest(self.children[far], others))  # Fig. 4(d)

    def _closest(self, place: Coordinates, nodes: dict[NodeId, Coordinates]) -> NodeId:
        return min(nodes, key=lambda node: (distance_ms(place, nodes[node]), node))

    def heir(self) -> NodeId | None:
        """Return the child that is closest to the publisher (section 4.4)."""
        return min(
            self.children,
            key=lambda node: self.distance(self.children[node], node),
            default=None,
        )

    def holds_invariant(self, mine: Coordinates) -> bool:
        """Return whether the parent is closer to the publisher than this node (section 4.2)."""
        if self.parent is None or self.parent_place is None:
            return True
        return self.distance(self.parent_place, self.parent) < self.distance(mine, self._me)

    def descend(self, descent: Descent) -> bool:
        """Take what the parent says of itself. Return whether children need to know: the ancestors
        or the coordinates of the publisher have changed."""
        before = (self.root, self.root_place, self.ancestors)
        self.line = descent
        self.root, self.root_place = descent.root, descent.root_place
        self.parent_place = descent.place
        self.ancestors = descent.ancestors
        return before != (self.root, self.root_place, self.ancestors)

    def descent(self, mine: Coordinates) -> Descent | None:
        """Return what children are told, or None while there is no tree above this node."""
        if self.root is None or self.root_place is None:
            return None
        made_of = (self.root, self.root_place, mine, self.ancestors)
        if made_of != self._told_of:
            ancestors = (self._me, *self.ancestors)
            self._told = Descent(self.topic, self.root, self.root_place, mine, ancestors)
            self._told_of = made_of
        return self._told

    def rejoin_at(self, rng: Random) -> NodeId | None:
        """Draw a non-parent ancestor, with a probability that falls by `children` with each level
        (section 4.3)."""
        above = self.ancestors[1:]
        if not above:
            return None
        weights = [float(self._fanout) ** -(level + 2) for level in range(len(above))]
        left = rng.random() * sum(weights)
        for node, weight in zip(above, weights, strict=True):
            left -= weight
            if left < 0:
                return node
        return above[-1]

    def neighbors(self) -> dict[NodeId, None]:
        """Return the nodes to which updates go: children, evicted children and the parent."""
        found = dict.fromkeys([*self.children, *self.leaving])
        if self.parent is not None:
            found[self.parent] = None
        return found

    def touches(self, peer: NodeId) -> bool:
        """Return whether a peer is among the `neighbors`."""
        return peer == self.parent or peer in self.children or peer in self.leaving

    def forget_former_neighbors(self) -> None:
        """Forget when nodes became children that have gone since, and what they pulled."""
        if len(self.child_since) > len(self.children):
            since = self.child_since.items()
            self.child_since = {node: at for node, at in since if node in self.children}
        if self._given:
            given = self._given.items()
            self._given = {
                (peer, name): times
                for (peer, name), times in given
                if name in self.cache and self.touches(peer)
            }

    # -- updates

    def news(self, stream: StreamId, seq: int) -> bool:
        """Settle an update. Return whether it is new."""
        known = self.streams.get(stream)
        if known is None:
            known = self.streams[stream] = Stream()
            known.skip_below(max(0, seq - self._cache_size))
            if len(self.streams) > STREAMS_MAX:
                del self.streams[next(iter(self.streams))]
        if known.seen(seq):
            return False
        known.settle(seq)
        return True

    def seen(self) -> list[tuple[StreamId, int, tuple[int, ...]]]:
        """Return each stream with the number after its last update, and which updates before may
        still be found in caches."""
        found = []
        for stream, known in list(self.streams.items())[-self._cache_size :]:
            last = known.highest()
            missing = known.gaps_up_to(last, self._cache_size)
            found.append((stream, last + 1, tuple(missing)))
        return found

    def resume(self, stream: StreamId, next_seq: int, missing: Collection[int]) -> None:
        """Take a stream up where `seen` ended in the last session."""
        known = self.streams[stream] = Stream()
        known.give_up_below(min(missing, default=next_seq))
        for seq in range(known.next_seq, next_seq):
            if seq not in missing:
                known.settle(seq)

    def put(self, held: Held) -> None:
        """Keep an update for pulls: the last `cache` of the feed."""
        event = held.event
        self.cache[event.publisher, event.epoch, event.topic, event.seq] = held
        if len(self.cache) > self._cache_size:
            del self.cache[next(iter(self.cache))]
        self.names = tuple(self.cache)

    def give(self, peer: NodeId, name: EventName) -> Held | None:
        """Return an update that a neighbour pulls, unless it has had it `GIVEN_MAX` times."""
        held = self.cache.get(name)
        if held is not None:
            times = self._given[peer, name] = self._given.get((peer, name), 0) + 1
            if times > GIVEN_MAX:
                return None
        return held

    def gaps(self, stream: StreamId, seq: int) -> list[EventName]:
        """Return the updates missing before `seq` that may still be in the sender's cache."""
        known = self.streams.get(stream)
        numbers = known.gaps_up_to(seq, self._cache_size) if known is not None else []
        return [(stream[0], stream[1], stream[2], number) for number in numbers]

    def lacking(self, names: list[EventName], now: int, again_ms: int) -> list[EventName]:
        """Return which updates to pull: those not seen, and not asked for a moment ago."""
        wanted = []
        for name in names:
            publisher, epoch, topic, seq = name
            known = self.streams.get((publisher, epoch, topic))
            if known is not None and known.seen(seq):
                continue
            if now - self.asked.get(name, -again_ms) < again_ms:
                continue
            self.asked.pop(name, None)
            self.asked[name] = now
            wanted.append(name)
            if len(self.asked) > ASKED_MAX:
                del self.asked[next(iter(self.asked))]
        return wanted
