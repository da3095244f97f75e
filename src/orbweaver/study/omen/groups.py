"""O12 and O13: what becomes of topics when neighbours crash together, and what nodes keep."""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.metrics.averages import mean
from orbweaver.study.claims import ADDED_LATER, REPORTED, Verdict
from orbweaver.study.omen.experiments import GROUP_MS, WARMUP_MS, L
from orbweaver.study.paper import BySeries
from orbweaver.study.run import Result

SETTLED_MS = GROUP_MS // 2 - 1000
"""How long after a group has crashed topics have to be connected again."""


def o12(series: BySeries) -> list[Verdict]:
    verdicts = []
    for coverage in (1, 5):
        one = series[f"groups, coverage {coverage}"]
        halves = [looks for r in one.each() for looks in after_groups(r)]
        cut = cut_topics(halves)
        times = [
            mended_ms(looks) for looks in halves if len(looks) > 1 and looks[-1][0] >= SETTLED_MS
        ]
        what = f"{L} overlay neighbours crash at once, and join again, coverage {coverage}: "
        missed = sum(topics > 0 for topics in cut)
        told = f"{missed} of {len(cut)} looks with a topic that is cut"
        # Snapshots come more often after a crash.
        crashes = cut_topics([looks for looks in halves if len(looks) > 1])
        after = f"{sum(topics > 0 for topics in crashes)} of {len(crashes)} looks"
        verdicts += [
            Verdict("O12", f"{what}topics that are cut {SETTLED_MS / 1000:g} s later; exact",
                    "none", told, missed == 0),
            Verdict("O12", f"{what}of these, after the crashes", "none", after,
                    not any(crashes), uncounted=ADDED_LATER),
            Verdict("O12", f"{what}simulated time from a crash until all topics are "
                    "connected, mean and largest", "-", told_ms(times), True,
                    uncounted=REPORTED),
        ]  # fmt: skip
    return verdicts


Looks = list[tuple[int, int]]
"""For each look, how long ago a group crashed or came back, and how many topics are cut."""


def cut_topics(halves: Iterable[Looks]) -> list[int]:
    """Return how many topics are cut, for each look at which they should be connected again."""
    return [topics for looks in halves for since, topics in looks if since >= SETTLED_MS]


def told_ms(times: list[int]) -> str:
    return f"{mean(times) / 1000:.1f} s, {max(times, default=0) / 1000:.1f} s"


def after_groups(result: Result) -> list[Looks]:
    """Return the looks of each half of a period, which begin when a group crashes or comes back."""
    halves: dict[int, Looks] = {}
    for snapshot in result.snapshots:
        half, since = divmod(snapshot["time_ms"] - WARMUP_MS, GROUP_MS // 2)
        if since:
            halves.setdefault(half, []).append((since, snapshot["partitioned_topics"]))
    return list(halves.values())


def mended_ms(looks: Looks) -> int:
    """Return when all topics were connected, and stayed so; the whole half if they were not."""
    cut = [since for since, topics in looks if topics]
    after = [since for since, _ in looks if since > max(cut, default=0)]
    return min(after, default=GROUP_MS // 2)


def o13(series: BySeries) -> list[Verdict]:
    results = [r for coverage in (1, 5) for r in series[f"groups, coverage {coverage}"].each()]
    most = max(look["views_max"] for r in results for look in r.course)
    what = f"nodes of which a node keeps a local view, L = {L}, largest of all looks; at most 2L"
    return [Verdict("O13", what, f"<= {2 * L}", f"{most}", most <= 2 * L)]
