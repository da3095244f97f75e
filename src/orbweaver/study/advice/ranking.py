"""Leaves out overlays that do not meet what is asked, and orders the others.

An overlay is out that broke one of its own promises, or a constraint, or loses more than
`LOST_MAX` of the events. Of the others, those that lose least come first. Among these the measure
that the planner cares about decides, and then the geometric mean of all four such measures. What
the runs cannot tell apart is a tie: differences run by run, on the same samples and with the same
seeds, whose 95 % interval reaches across zero, or which are too small to choose by.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from orbweaver.metrics.averages import interval95, mean
from orbweaver.study.advice.measures import CARES, estimate
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.value import Estimate, Forecast

LOST_MAX = 0.01
"""Largest share of lost events of an overlay that is suitable."""
LOST_NEGLIGIBLE = 0.0005
"""A difference of lost events below this share is not one to choose by."""
NEGLIGIBLE = 0.05
"""A difference below this share of the smaller value is not one to choose by."""
OVERALL = "overall"


@dataclasses.dataclass(frozen=True)
class Contender:
    """An overlay as it was measured, on the largest samples that it was run on."""

    overlay: str
    nodes: int
    measures: Mapping[str, Estimate]
    broken_claims: Sequence[str] = ()
    """The promises that it broke in any run."""
    links_max: Forecast | None = None
    """The largest degree to be expected among all nodes of the data, where the samples are
    smaller and sizes enough were run."""
    sampled: bool = False
    """Whether the data has more nodes than the samples."""
    wider: float = 1.0
    """How many times as many topics a node wants in the data as in the samples."""


@dataclasses.dataclass(frozen=True)
class Ranking:
    pick: Contender | None
    ties: Sequence[Contender]
    behind: Sequence[Contender]
    """Suitable overlays, the best first."""
    lossy: Sequence[Contender]
    """Overlays that are suitable but lose more events than the pick, the best first."""
    out: Mapping[str, Sequence[str]]
    """Overlay -> why it is out."""
    decided_by: str
    """The measure that parts the pick from the next overlay."""


def rank(contenders: Sequence[Contender], question: Question) -> Ranking:
    """Leave out overlays that do not meet what is asked, and order the others."""
    out = {one.overlay: reasons(one, question) for one in contenders}
    fit = [one for one in contenders if not out[one.overlay]]
    return order(fit, {overlay: why for overlay, why in out.items() if why}, question)


def order(
    fit: Sequence[Contender], out: Mapping[str, Sequence[str]], question: Question
) -> Ranking:
    """Order the overlays that meet what is asked."""
    if not fit:
        return Ranking(None, (), (), (), out, "")
    least = min(fit, key=_by("lost"))
    lossless = [one for one in fit if tied(one, least, "lost")]
    criteria = [*([CARES[question.care]] if question.care else []), OVERALL]
    left, decided_by = lossless, "lost"
    for criterion in criteria:
        if len(left) > 1:
            decided_by = criterion
            best = min(left, key=_by(criterion))
            left = [one for one in left if tied(one, best, criterion)]
    pick = min(left, key=_by(OVERALL))
    return Ranking(
        pick,
        sorted((one for one in left if one is not pick), key=_by(OVERALL)),
        sorted((one for one in lossless if one not in left), key=_by(criteria[0])),
        sorted((one for one in fit if one not in lossless), key=_by("lost")),
        out,
        decided_by,
    )


def reasons(one: Contender, question: Question) -> tuple[str, ...]:
    """Return why an overlay is out, in words that follow its name; nothing if it is not."""
    why = []
    lost = one.measures.get("lost")
    if lost is None:
        why.append("no event was owed to any node, or none was published")
    elif lost.mean > LOST_MAX:
        why.append(f"{share(lost.mean)} of the events lost")
    broken = [claim for claim in one.broken_claims if lost is None or lost.mean <= LOST_MAX]
    why += [f"breaks its promise, {claim}" for claim in broken[:1]]
    relayed = one.measures.get("relays")
    if not question.relays and relayed is not None and relayed.mean > 0:
        received = one.measures["relayed"].mean if "relayed" in one.measures else math.nan
        why.append(f"nodes did not ask for {share(received)} of what they receive")
    most = links_max(one)
    if question.links_max is not None and most is not None and most > question.links_max:
        where = f" expected of {one.links_max.nodes:,} nodes" if one.links_max else ""
        why.append(f"{most:,.0f} links at its largest node{where}")
    return tuple(why)


def links_max(one: Contender) -> float | None:
    """Return the largest degree that counts: of the worst run, or what to expect of all nodes."""
    measured = one.measures.get("links_max")
    if measured is None:
        return None
    most = max(measured.values)
    return most if one.links_max is None else max(most, one.links_max.expected)


def tied(one: Contender, other: Contender, measure: str) -> bool:
    """Return whether the runs leave open which of two overlays is better."""
    if one is other:
        return True
    a, b = value(one, measure), value(other, measure)
    if a is None or b is None:
        return a is b
    between = abs(a.mean - b.mean)
    if measure == "lost":
        # An overlay that never loses anything is ahead of one that does, however its runs differ.
        open_to_chance = a.mean > 0 and b.mean > 0
        near = between < LOST_NEGLIGIBLE
    else:
        open_to_chance = True
        near = between < NEGLIGIBLE * min(a.mean, b.mean)
    return near or (open_to_chance and between <= half_between(a, b))


def half_between(a: Estimate, b: Estimate) -> float:
    """Return half the width of the 95 % interval of the difference between two means.

    Runs with the same seed met the same samples, so that the differences run by run are what
    counts. A single run says nothing: the interval is without end."""
    if len(a.values) == len(b.values):
        half = interval95([x - y for x, y in zip(a.values, b.values, strict=True)])
        return math.inf if math.isnan(half) else half
    if a.half is None or b.half is None:
        return math.inf
    return math.hypot(a.half, b.half)


def value(one: Contender, measure: str) -> Estimate | None:
    return overall(one.measures) if measure == OVERALL else one.measures.get(measure)


def overall(measures: Mapping[str, Estimate]) -> Estimate | None:
    """Return the geometric mean of the four measures that a planner may care about, run by run.
    Its ratio between two overlays is the mean ratio of the four."""
    found = [measures[name].values for name in CARES.values() if name in measures]
    if len(found) < len(CARES) or len({len(values) for values in found}) > 1:
        return None
    # A value below 1 counts as 1: a delay of nothing would otherwise outweigh all else.
    runs = zip(*found, strict=True)
    return estimate([math.exp(mean([math.log(max(1.0, v)) for v in run])) for run in runs])


def doubts(
    ranking: Ranking, contenders: Sequence[Contender], question: Question
) -> Mapping[str, str]:
    """Return what a larger sample or more seeds might change about the pick: overlay -> a
    sentence. An overlay that is out without certainty matters only if it would be the pick or tie
    with it."""
    found = {}
    for one in contenders:
        why = _uncertain(one, ranking, question)
        if why and _would_matter(one, ranking, contenders, question):
            found[one.overlay] = why
    pick = ranking.pick
    if pick is not None and ranking.ties:
        names = listed([pick.overlay, *(one.overlay for one in ranking.ties)])
        found[pick.overlay] = f"The runs do not tell {names} apart."
    return found


def _uncertain(one: Contender, ranking: Ranking, question: Question) -> str:
    """Return what is not certain about an overlay, or nothing."""
    if len(ranking.out.get(one.overlay, ())) > 1:
        return ""
    lost, limit = one.measures.get("lost"), question.links_max
    if lost is not None and lost.half and abs(lost.mean - LOST_MAX) <= lost.half:
        return f"Whether {one.overlay} loses more than {share(LOST_MAX)} is not certain."
    if limit is not None and _spans(one, limit):
        return f"Whether {one.overlay} keeps to {limit} links at all nodes is not certain."
    if (
        limit is not None
        and one.sampled
        and one.links_max is None
        and not ranking.out.get(one.overlay)
    ):
        return (
            f"Whether {one.overlay} keeps to {limit} links at all nodes cannot be told from "
            f"samples of {one.nodes} nodes."
        )
    most = links_max(one)
    if limit is not None and most is not None and most <= limit < most * one.wider:
        return (
            f"Whether {one.overlay} keeps to {limit} links at all nodes is not certain: nodes of "
            f"the data want up to {one.wider:.1f} times as many topics as those of the samples."
        )
    return ""


def _would_matter(
    one: Contender, ranking: Ranking, contenders: Sequence[Contender], question: Question
) -> bool:
    fit = [other for other in contenders if other.overlay not in ranking.out or other is one]
    with_it = order(fit, {}, question)
    return one is with_it.pick or one in with_it.ties


def _spans(one: Contender, limit: int) -> bool:
    if one.links_max is not None:
        return one.links_max.low <= limit < one.links_max.high
    measured = one.measures.get("links_max")
    if measured is None or measured.half is None:
        return False
    return abs(measured.mean - limit) <= measured.half


def _by(measure: str) -> Callable[[Contender], tuple[float, str]]:
    def key(one: Contender) -> tuple[float, str]:
        found = value(one, measure)
        return (math.inf if found is None else found.mean, one.overlay)

    return key


def share(value: float) -> str:
    """Return a share in percent, with as many digits as it takes to see it."""
    percent = 100 * value
    if percent and percent < 0.01:
        return "less than 0.01 %"
    return f"{percent:.2g} %" if percent < 99.5 else f"{percent:.0f} %"


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
