"""From evidence to advice: what the runs so far say, without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from orbweaver.metrics.averages import mean
from orbweaver.study.advice import causes, plan, sentences
from orbweaver.study.advice.designs import possible
from orbweaver.study.advice.evidence import Evidence
from orbweaver.study.advice.forecast import forecast
from orbweaver.study.advice.ranking import Contender, Ranking, doubts, rank
from orbweaver.study.advice.samples import wants
from orbweaver.study.advice.value import (
    Advice,
    Data,
    Drawing,
    Estimate,
    Forecast,
    Place,
    Property,
    Ran,
    Rating,
)
from orbweaver.study.version import code_version

FORESEEN = ("links", "links_max", "traffic", "delay_p95")
"""The measures that are extended to the size that the planner asks for."""


def judge(evidence: Evidence, picks: Sequence[str | None], drawing: Drawing | None) -> Advice:
    """Return the answer. `picks` are the picks at the sizes before."""
    case = evidence.case
    contenders = evidence.contenders()
    ranking = rank(contenders, case.question)
    ranked = [one for one in (ranking.pick, *ranking.ties, *ranking.behind) if one]
    size = evidence.size_of(ranked[0].overlay) if ranked else evidence.sizes[-1]
    links = ranking.pick.measures["links"].mean if ranking.pick else None
    parts = [case.samples.draw(size, seed) for seed in plan.SEEDS]
    best = possible(parts, links)
    properties = _properties(evidence, ranking)
    forecasts = _forecasts(evidence, ranked)
    rival = runner_up(ranking)
    whole = case.samples.whole
    data = Data(
        name=case.name,
        nodes=case.nodes,
        topics=len(whole.topics),
        subscriptions=sum(map(len, whole.of_node)),
        wants=wants(whole),
        wants_sampled=mean([wants(part) for part in parts]),
        sampled=case.samples.how,
    )
    told = [
        *sentences.others(ranking),
        sentences.reason(ranking, rival, properties),
        sentences.how_good(ranking, best),
        sentences.expected([one for one in forecasts if one.overlay == ranked[0].overlay]),
        sentences.sampled(data, size),
        sentences.assumed(case.question),
    ]
    return Advice(
        question=case.question,
        data=data,
        pick=ranking.pick.overlay if ranking.pick else None,
        ties=tuple(one.overlay for one in ranking.ties),
        headline=sentences.headline(ranking),
        sentences=tuple(filter(None, told)),
        doubts=tuple(all_doubts(ranking, contenders, evidence, picks)),
        ratings=_ratings(evidence, ranking, contenders),
        properties=properties,
        possible=best,
        forecasts=forecasts,
        drawing=drawing,
        ran=Ran(
            tuple(evidence.sizes),
            tuple(sorted({one.seed for of in evidence.results.values() for one in of})),
            len(evidence.seconds),
            round(sum(evidence.seconds.values()), 1),
            code_version(),
        ),
        repeat=case.repeat,
    )


def all_doubts(
    ranking: Ranking,
    contenders: Sequence[Contender],
    evidence: Evidence,
    picks: Sequence[str | None],
) -> list[str]:
    """Return why the answer is not sure: what is close, and what it was on smaller samples."""
    found = list(doubts(ranking, contenders, evidence.case.question).values())
    now = ranking.pick.overlay if ranking.pick else None
    if picks and picks[-1] != now:
        size = evidence.sizes[len(picks) - 1]
        found.append(f"On samples of {size} nodes it was {picks[-1] or 'none of them'}.")
    return found


def runner_up(ranking: Ranking) -> str | None:
    """Return the best overlay besides the pick and what ties with it, or None without one."""
    following = [*ranking.behind, *ranking.lossy]
    return following[0].overlay if ranking.pick and not ranking.ties and following else None


def _properties(evidence: Evidence, ranking: Ranking) -> tuple[Property, ...]:
    samples, size = evidence.case.samples, evidence.sizes[0]
    effects: dict[str, Estimate | None] = {}
    changes: dict[str, str] = {}
    rival = runner_up(ranking)
    if ranking.pick is not None and rival is not None:
        pick, by = ranking.pick.overlay, ranking.decided_by
        for name, leads in _leads(evidence, pick, rival, by).items():
            effects[name] = causes.effect(*leads)
            if effects[name] is not None:
                changes[name] = sentences.change(pick, rival, by, *map(mean, leads))
    parts = [samples.draw(size, seed) for seed in plan.SEEDS]
    return causes.describe(parts, effects, changes)


def _leads(
    evidence: Evidence, pick: str, rival: str, by: str
) -> Mapping[str, tuple[Sequence[float], Sequence[float]]]:
    """Return the pick's lead over a rival, run by run, with each property and without it."""
    found = {}
    for name, (with_it, without) in causes.COMPARED.items():
        ways = [way for way in (with_it, without) if way]
        if all((overlay, way) in evidence.altered for overlay in (pick, rival) for way in ways):
            found[name] = (
                evidence.lead(pick, rival, by, with_it), evidence.lead(pick, rival, by, without),
            )  # fmt: skip
    return found


def _forecasts(evidence: Evidence, ranked: Sequence[Contender]) -> tuple[Forecast, ...]:
    scale = evidence.case.question.scale
    if scale is None:
        return ()
    found = [
        forecast(one.overlay, name, evidence.points(one.overlay, name), scale)
        for one in ranked
        for name in FORESEEN
    ]
    return tuple(one for one in found if one is not None)


def _ratings(
    evidence: Evidence, ranking: Ranking, contenders: Sequence[Contender]
) -> tuple[Rating, ...]:
    named = {one.overlay: one for one in contenders}
    groups: Sequence[tuple[Place, Sequence[Contender]]] = (
        ("pick", [ranking.pick] if ranking.pick else []),
        ("tie", ranking.ties),
        ("suitable", ranking.behind),
        ("lossy", ranking.lossy),
        ("out", [named[overlay] for overlay in ranking.out]),
    )
    return tuple(
        Rating(
            one.overlay,
            place,
            tuple(ranking.out.get(one.overlay, ())),
            sentences.rated(one, place, ranking),
            one.nodes,
            dict(one.measures),
            _degrees(evidence, one),
        )
        for place, group in groups
        for one in group
    )


def _degrees(evidence: Evidence, one: Contender) -> dict[int, int]:
    found: Counter[int] = Counter()
    for result in evidence.results[one.overlay, one.nodes]:
        found.update(result.degree_histogram)
    return dict(sorted(found.items()))
