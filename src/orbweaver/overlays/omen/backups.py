"""Backup sets (Sec. 4.2): small sets of nodes that together cover a node's topics.

A backup set is acceptable if every topic of the node has a subscriber in it (*topic coverage*,
Eq. 1) and every member shares a topic with the node (*individual commitment*, Eq. 2). Its
*coverage factor* lambda is the least number of subscribers that a topic has in it (Eq. 3). The
paper runs a set-cover heuristic until each topic is covered lambda times. So do the two functions
here: lambda passes, each a set cover by the candidates that are left. Topics are bits of a mask.

Where paper and figures differ: by the text of the primal-dual method, a random uncovered topic
gets its subscriber *with the most uncovered topics*. Seen by a node that knows many candidates
this picks the same bulk subscribers as the greedy method, and the balance of Fig. 3 is not
there. With a *random* subscriber of that topic it is. `choice` has both readings.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from random import Random
from typing import Literal

from orbweaver.core.bitplanes import nth_bit
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import below, pick

Candidate = tuple[NodeId, int]
"""A node and the mask of its topics."""
Choice = Literal["random", "most"]
"""Which subscriber of an uncovered topic becomes a backup: any of them, or the one with the most
uncovered topics."""


class Coverage:
    """How often each wanted topic is covered, counted up to lambda."""

    def __init__(self, wanted: int, factor: int) -> None:
        self._wanted = wanted
        self.levels = [0] * factor
        """At place k, the topics that are covered more than k times."""

    def add(self, topics: int) -> None:
        carried = topics & self._wanted
        for level, covered in enumerate(self.levels):
            self.levels[level] = covered | carried
            carried &= covered

    def total(self) -> int:
        """Return the sum over all topics of how often each is covered, at most lambda times."""
        return sum(covered.bit_count() for covered in self.levels)

    def factor(self) -> int:
        """Return the least number of times that a topic is covered (Eq. 3), at most lambda."""
        return sum(covered == self._wanted for covered in self.levels)


def coverage(wanted: int, backups: Iterable[Candidate], factor: int) -> Coverage:
    """Return how well a backup set covers the wanted topics."""
    covered = Coverage(wanted, factor)
    for _, topics in backups:
        covered.add(topics)
    return covered


def build_backups_greedy(
    wanted: int, candidates: Sequence[Candidate], factor: int
) -> list[Candidate]:
    """Choose backups greedily: always the candidate with the most uncovered topics (Chvatal).

    The first of equal candidates is taken. Topics that too few candidates have are covered as
    often as there are candidates.
    """
    chosen: dict[int, Candidate] = {}
    for _ in range(factor):
        missing = wanted
        # Gains only fall within a pass, so an old gain is an upper bound of the present one.
        gains = [
            (-(topics & missing).bit_count(), place)
            for place, (_, topics) in enumerate(candidates)
            if topics & missing and place not in chosen
        ]
        heapq.heapify(gains)
        while gains:
            old, place = heapq.heappop(gains)
            gain = (candidates[place][1] & missing).bit_count()
            if gain == -old:
                chosen[place] = candidates[place]
                missing &= ~candidates[place][1]
            elif gain:
                heapq.heappush(gains, (-gain, place))
    return list(chosen.values())


def build_backups_primal_dual(
    wanted: int,
    candidates: Sequence[Candidate],
    factor: int,
    rng: Random,
    choice: Choice = "random",
) -> list[Candidate]:
    """Choose backups by the primal-dual method (Hochbaum): cover a random uncovered topic."""
    left = [candidate for candidate in candidates if candidate[1] & wanted]
    chosen: list[Candidate] = []
    for _ in range(factor):
        missing = wanted
        while missing:
            topic = 1 << nth_bit(missing, below(rng, missing.bit_count()))
            fits = [candidate for candidate in left if candidate[1] & topic]
            if fits:
                backup = _pick(fits, missing, rng, choice)
                left.remove(backup)
                chosen.append(backup)
                missing &= ~backup[1]
            else:
                missing ^= topic
    return chosen


def _pick(fits: list[Candidate], missing: int, rng: Random, choice: Choice) -> Candidate:
    if choice == "random":
        return pick(rng, fits)
    return max(fits, key=lambda candidate: (candidate[1] & missing).bit_count())


class BackupsReady:
    """The ready flag R(v') of a backup set.

    A set is ready when each topic is covered lambda times. A topic with fewer subscribers than
    that can never be, so a set is ready too once exchanges have brought no gain for `rounds`
    rounds. The paper does not say when to stop.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._wanted = 0
        self._best = -1
        self._idle = 0
        self.flag = False

    def round(self, wanted: int, covered: Coverage) -> bool:
        """Take note of the set after one more round of exchanges. Return the flag."""
        total = covered.total()
        if wanted != self._wanted or total > self._best:
            self._wanted, self._best, self._idle = wanted, total, 0
        else:
            self._idle += 1
        full = total == wanted.bit_count() * len(covered.levels)
        self.flag = full or self._idle >= self._rounds
        return self.flag
