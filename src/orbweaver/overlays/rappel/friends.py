"""The friendship overlay (section 3): friends, fans, candidates, votes, audits and utility.

This part decides; the node sends. Distances in the utility are one-way times in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.gossip.bloom import may_hold
from orbweaver.gossip.vivaldi import Coordinates, distance_ms


class Portrait(msgspec.Struct, frozen=True, gc=False):
    """A node's filter and coordinates, as it told them itself."""

    place: Coordinates
    bloom: int
    version: int


def overlap(a: int, b: int) -> float:
    """Return the Jaccard index of two filters (section 3.2)."""
    union = a | b
    return (a & b).bit_count() / union.bit_count() if union else 0.0


def utility(me: Portrait, friends: Iterable[Portrait], proximity: bool = True) -> float:
    """Return the utility of a friends set to this node (Fig. 3). Without `proximity` shared
    interest alone counts, as in the comparison of section 6.3."""
    return sum_of(me, [worth(me, friend, proximity) for friend in friends])


class Worth(NamedTuple):
    """What of a friend's utility does not depend on the other friends."""

    base: float
    seconds: float
    shared: int
    """The bits that it has in common with this node."""


def worth(me: Portrait, friend: Portrait, proximity: bool) -> Worth:
    seconds = distance_ms(me.place, friend.place) / 1000 if proximity else 1.0
    return Worth(overlap(me.bloom, friend.bloom), seconds, me.bloom & friend.bloom)


def sum_of(me: Portrait, friends: Sequence[Worth]) -> float:
    """Return the utility of a friends set, with the bonus for bits that one friend alone has."""
    once = twice = 0
    for _, _, shared in friends:
        twice |= once & shared
        once |= shared
    own = me.bloom.bit_count() or 1
    total = 0.0
    for base, seconds, shared in friends:
        total += (base + (shared & ~twice).bit_count() / own) / seconds
    return total


def swapped(me: Portrait, friends: Sequence[Worth], new: Worth) -> list[float]:
    """Return for each friend the utility of the friends set with `new` in its place.

    Without one of them a bit is held by one node alone if no other had it before, or if that
    friend was the only other one.
    """
    everyone = [*friends, new]
    once = twice = thrice = 0
    for _, _, shared in everyone:
        thrice |= twice & shared
        twice |= once & shared
        once |= shared
    alone, by_two = once & ~twice, twice & ~thrice
    own = me.bloom.bit_count() or 1
    bonus = [(shared & alone).bit_count() for _, _, shared in everyone]
    totals = []
    for out, (_, _, given_up) in enumerate(friends):
        freed = by_two & given_up
        total = 0.0
        for at, (base, seconds, shared) in enumerate(everyone):
            if at != out:
                bits = bonus[at] + (shared & freed).bit_count() if freed else bonus[at]
                total += (base + bits / own) / seconds
        totals.append(total)
    return totals


AUDITED = -1
"""In place of the votes of a candidate that has been audited."""


class Friends:
    """The soft state of one node (section 3.1)."""

    def __init__(
        self,
        me: NodeId,
        size: int,
        fans: int,
        candidates: int,
        delta: float,
        proximity: bool = True,
    ) -> None:
        self._me = me
        self._size = size
        self._fans_max = fans
        self._candidates_max = candidates
        self._delta = delta
        self._proximity = proximity
        self.own = Portrait(Coordinates(()), 0, 0)
        """What this node tells of itself."""
        self.friends: dict[NodeId, Portrait] = {}
        self.fans: dict[NodeId, None] = {}
        self.candidates: dict[NodeId, int] = {}
        """The candidates with their votes or `AUDITED`, least recently heard of first."""
        self.known: dict[NodeId, Portrait] = {}
        """What is known of candidates that were audited once."""
        self._portraits: list[Portrait] = []
        """This node's portrait and those of the friends, to which `_worths` belong."""
        self._worths: list[Worth] = []
        self._utility = 0.0
        """The utility of the friends set."""

    @property
    def full(self) -> bool:
        return len(self.friends) >= self._size

    # -- candidates (section 3.3)

    def vote(self, nodes: Iterable[NodeId]) -> None:
        """Cast a vote for each node that a ping-ack or a join brought to notice."""
        me, friends, candidates = self._me, self.friends, self.candidates
        for node in nodes:
            if node == me or node in friends:
                continue
            votes = candidates.pop(node, 0)
            if votes == 0 and len(candidates) >= self._candidates_max:
                self._drop_candidate(next(iter(candidates)))
            candidates[node] = votes if votes == AUDITED else votes + 1

    def forget(self, node: NodeId) -> bool:
        """Forget a node that failed. Return whether it was a friend."""
        self._drop_candidate(node)
        self.fans.pop(node, None)
        return self.drop(node)

    def _drop_candidate(self, node: NodeId) -> None:
        self.candidates.pop(node, None)
        self.known.pop(node, None)

    # -- audits (section 3.4, Algorithm 1)

    def next_audit(self) -> NodeId | None:
        """Return the unaudited candidate with the most votes, and mark it audited."""
        best = max(self.candidates, key=self.candidates.__getitem__, default=None)
        if best is None or self.candidates[best] == AUDITED:
            return None
        self.candidates[best] = AUDITED
        return best

    def viable(self, candidate: Portrait) -> bool:
        """Return whether the candidate may be asked to be a friend."""
        return not self.full or self.victim(candidate) is not None

    def victim(self, candidate: Portrait) -> NodeId | None:
        """Return the friend whose place the candidate should take (Algorithm 1, over FRIENDS), or
        None if no swap raises the utility by more than `delta`."""
        worths = self._worths_now()
        base = highest = self._utility
        new = worth(self.own, candidate, self._proximity)
        found: NodeId | None = None
        for friend, current in zip(self.friends, swapped(self.own, worths, new), strict=True):
            if current > highest:
                highest, found = current, friend
        return found if highest > (1 + self._delta) * base else None

    def _worths_now(self) -> list[Worth]:
        """Return what each friend is worth, which changes with its portrait or ours only."""
        portraits = [self.own, *self.friends.values()]
        if portraits != self._portraits:
            self._portraits = portraits
            self._worths = [worth(self.own, one, self._proximity) for one in portraits[1:]]
            self._utility = sum_of(self.own, self._worths)
        return self._worths

    def add(self, node: NodeId, known: Portrait) -> tuple[bool, NodeId | None]:
        """Take a node that has accepted. Return whether it is a friend now, and the victim."""
        victim = None
        if node in self.friends:
            return True, None
        if self.full:
            victim = self.victim(known)
            if victim is None:
                return False, None
            del self.friends[victim]
        self._drop_candidate(node)
        self.friends[node] = known
        self._reset_audit_flags()
        return True, victim

    def drop(self, node: NodeId) -> bool:
        """Remove a friend. Return whether it was one."""
        if self.friends.pop(node, None) is None:
            return False
        self._reset_audit_flags()
        return True

    def _reset_audit_flags(self) -> None:
        self.candidates = dict.fromkeys(self.candidates, 0)

    # -- fans (section 3.1.2)

    def approve(self, node: NodeId) -> bool:
        """Take a node as a fan: first come, first served."""
        if node != self._me and (node in self.fans or len(self.fans) < self._fans_max):
            self.fans[node] = None
            return True
        return False

    # -- what the trees ask (section 5.1)

    def covering(self, topic: Topic) -> list[NodeId]:
        """Return the friends that may subscribe to a feed, the closest first."""
        me, friends = self.own.place, self.friends
        fits = [node for node, known in friends.items() if may_hold(known.bloom, topic)]
        return sorted(fits, key=lambda node: (distance_ms(me, friends[node].place), node))
