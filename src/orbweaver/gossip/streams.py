"""Streams remember which of their events have been seen, and which are missing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import MutableSequence, Sequence
from itertools import zip_longest
from typing import cast

NONE: Sequence[int] = ()
"""Shared by all streams without gaps, which is nearly all of them: a list for each stream of each
node would be the largest thing in a run with publications."""

GAPS_MAX = 512
"""How many gaps of one stream are remembered. Beyond, the oldest is looked for no longer, and in
the end given up. When a tenth of 2000 events a second is lost and found again, there are fewer;
and a publisher that skips every second number costs a node some ten kilobytes and no more."""

AGE_SLACK_MS = 200
"""Ages leave out the time on the wire, so an event may be this much older than a
subscription and still count as published after it."""


def after_subscription(since_ms: int | None, age_ms: int, now_ms: int) -> bool:
    """Return whether an event of this age was published after the subscription to its topic,
    which was made at `since_ms`. None means that there is no subscription."""
    return since_ms is not None and age_ms <= now_ms - since_ms + AGE_SLACK_MS


def add_number(edges: MutableSequence[int], at: int, seq: int) -> None:
    """Put a number among the edges of runs of numbers, where `at` is its place. It lengthens a
    run, joins two runs, or makes a new one."""
    joins_before = at > 0 and edges[at - 1] == seq
    joins_after = at < len(edges) and edges[at] == seq + 1
    if joins_before and joins_after:
        del edges[at - 1 : at + 1]
    elif joins_before:
        edges[at - 1] = seq + 1
    elif joins_after:
        edges[at] = seq
    else:
        edges.insert(at, seq + 1)
        edges.insert(at, seq)


class Stream:
    """Remembers the sequence numbers seen of one (publisher, epoch, topic), in little space.

    All numbers below `next_seq` are settled. `ahead` has the edges of the runs that came early:
    from the first to below the second, from the third to below the fourth, and so on. `skipped`
    has the edges of what is looked for no longer, but counts as new should it come after all."""

    __slots__ = ("ahead", "next_seq", "skipped")

    def __init__(self) -> None:
        self.next_seq = 0
        self.ahead = NONE
        self.skipped = NONE

    def seen(self, seq: int) -> bool:
        if seq < self.next_seq:
            return not self.skipped or bisect_right(self.skipped, seq) % 2 == 0
        return bool(self.ahead) and bisect_right(self.ahead, seq) % 2 == 1

    def settle(self, seq: int) -> None:
        """Mark a number as seen, or as given up."""
        if seq == self.next_seq:
            if self.ahead:
                self.give_up_below(seq + 1)
            else:
                self.next_seq = seq + 1
        elif seq > self.next_seq:
            self._settle_ahead(seq)
        elif self.skipped:
            self._settle_skipped(seq)

    def seen_all(self, seq: int, count: int) -> bool:
        """Return whether these numbers, which follow each other, are all among the settled ones.
        With numbers that were given up, it may be False although all were seen."""
        return seq + count <= self.next_seq and not self.skipped

    def settle_run(self, seq: int, count: int) -> None:
        """Mark numbers that follow each other as seen, or as given up."""
        if seq == self.next_seq and not self.ahead:
            self.next_seq = seq + count
        elif count > 1 and seq > self.highest() + 1:
            self.ahead = [*self.ahead, seq, seq + count]
            self._bound_ahead()
        else:
            for number in range(seq, seq + count):
                self.settle(number)

    def highest(self) -> int:
        return (self.ahead[-1] if self.ahead else self.next_seq) - 1

    def gaps_up_to(self, seq: int, window: int) -> list[int]:
        """Return what is not settled up to `seq`, looking back over at most `window` numbers. A
        peer may have made the number up, so nothing is settled by asking."""
        first = max(self.next_seq, seq - window + 1)
        ahead = self.ahead
        if not ahead:
            return list(range(first, seq + 1))
        at = bisect_right(ahead, first)
        # Gaps lie between an edge with an odd number and the next.
        edges = [first, *ahead[at:]] if at % 2 == 0 else ahead[at:]
        gaps: list[int] = []
        for start, end in zip_longest(edges[::2], edges[1::2], fillvalue=seq + 1):
            gaps.extend(range(start, min(end, seq + 1)))
        return gaps

    def give_up_below(self, seq: int) -> None:
        """Settle all numbers before `seq`."""
        if seq <= self.next_seq:
            return
        self.next_seq = seq
        if self.ahead:
            passed = bisect_right(self.ahead, seq)
            if passed % 2 == 1:  # it is among what came early
                self.next_seq = self.ahead[passed]
                passed += 1
            self.ahead = self.ahead[passed:] or NONE

    def skip_below(self, seq: int) -> None:
        """Look no longer for what comes before `seq`. It may still be on its way, since a queue
        can hold more than any cache."""
        if seq <= self.next_seq:
            return
        edges = [self.next_seq, *self.ahead[: bisect_left(self.ahead, seq)]]
        if len(edges) % 2 == 1:
            edges.append(seq)
        skipped = [*self.skipped, *edges]
        if self.skipped and self.skipped[-1] == edges[0]:
            at = len(self.skipped)
            del skipped[at - 1 : at + 1]
        self.skipped = skipped[-2 * GAPS_MAX :]
        self.give_up_below(seq)

    def _settle_skipped(self, seq: int) -> None:
        at = bisect_right(self.skipped, seq)
        if at % 2 == 1:
            first, end = self.skipped[at - 1 : at + 1]
            before = (first, seq) if first < seq else ()
            after = (seq + 1, end) if seq + 1 < end else ()
            skipped = [*self.skipped[: at - 1], *before, *after, *self.skipped[at + 1 :]]
            self.skipped = skipped[-2 * GAPS_MAX :] or NONE

    def _settle_ahead(self, seq: int) -> None:
        ahead = cast("list[int]", self.ahead or [])
        at = bisect_right(ahead, seq)
        if at % 2 == 1:
            return
        add_number(ahead, at, seq)
        self.ahead = ahead
        self._bound_ahead()

    def _bound_ahead(self) -> None:
        if len(self.ahead) > 2 * GAPS_MAX:
            self.skip_below(self.ahead[0])
