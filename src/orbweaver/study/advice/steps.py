"""What is run next: a quick answer first, then better ones.

1. All overlays on three samples of the smallest size: the quick answer.
2. The pick and the runner-up on the same samples with a property of the data taken out: what
   decides.
3. What is left, on samples of twice the size, and so on until two sizes agree and no doubt is left.
4. More seeds on the largest samples, for what is still in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from orbweaver.study.advice import plan
from orbweaver.study.advice.evidence import Case, Evidence, Runner
from orbweaver.study.advice.judge import judge, runner_up
from orbweaver.study.advice.ranking import Ranking, doubts, rank
from orbweaver.study.advice.samples import ALTERED
from orbweaver.study.advice.value import Advice, Drawing
from orbweaver.study.run import run_scenario


def advise(case: Case, run: Runner, quick: bool = False) -> Iterator[Advice]:
    """Yield one answer after another, each better than the one before; with `quick`, those from
    samples of the smallest size."""
    evidence, draw = Evidence(case), Drawer(case)
    sizes = plan.ladder(case.nodes, case.question)
    needed = plan.SIZES_MIN if case.question.scale else min(2, len(sizes))
    picks: list[str | None] = []

    def answer() -> Advice:
        pick = _ranking(evidence).pick
        drawing = draw(pick.overlay) if pick else None
        return judge(evidence, picks, drawing)

    left = list(case.overlays)
    for size in sizes:
        evidence.add(run, left, size, plan.SEEDS)
        advice = answer()
        yield advice
        if _examine(evidence, run):
            advice = answer()
            yield advice
        if quick or (advice.sure and len(picks) + 1 >= needed):
            return
        picks.append(advice.pick)
        left = _left(evidence)
        if not left:
            return
    ranking = _ranking(evidence)
    close = (ranking.pick, *ranking.ties, *ranking.behind[:1])
    again = [one.overlay for one in close if one is not None] or left
    evidence.add(run, again, sizes[-1], plan.MORE_SEEDS)
    _examine(evidence, run)
    yield answer()


def _ranking(evidence: Evidence) -> Ranking:
    return rank(evidence.contenders(), evidence.case.question)


def _left(evidence: Evidence) -> list[str]:
    """Return the overlays that a larger sample may still bring forward: those that are not out,
    and those of which it is not certain."""
    contenders = evidence.contenders()
    ranking = _ranking(evidence)
    uncertain = doubts(ranking, contenders, evidence.case.question)
    return [
        one.overlay
        for one in contenders
        if one.overlay not in ranking.out or one.overlay in uncertain
    ]


def _examine(evidence: Evidence, run: Runner) -> bool:
    """Run the pick and the runner-up on altered data, and return whether there was anything to
    run."""
    ranking = _ranking(evidence)
    rival = runner_up(ranking)
    if ranking.pick is None or rival is None:
        return False
    before = len(evidence.altered)
    evidence.add_altered(run, [ranking.pick.overlay, rival], tuple(ALTERED))
    return len(evidence.altered) > before


class Drawer:
    """Repeats a run of an overlay on the smallest sample, to draw its nodes and links."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._drawn: dict[str, Drawing] = {}

    def __call__(self, overlay: str) -> Drawing:
        if overlay not in self._drawn:
            self._drawn[overlay] = self._draw(overlay)
        return self._drawn[overlay]

    def _draw(self, overlay: str) -> Drawing:
        case = self._case
        size = plan.ladder(case.nodes, case.question)[0]
        (job,) = plan.jobs(
            [overlay], size, plan.SEEDS[:1], case.question, case.circumstances, case.samples
        )
        run = run_scenario(*job)
        look = run.looks[-1]
        place = {node: i for i, node in enumerate(look.interests)}
        on_topic = look.on_topic()
        topics = sorted(on_topic, key=lambda topic: (-len(on_topic[topic]), topic))
        number = {topic: i for i, topic in enumerate(topics)}
        return Drawing(
            overlay,
            tuple(run.labels[node] for node in look.interests),
            tuple(topics),
            tuple(
                tuple(sorted(number[topic] for topic in wanted))
                for wanted in look.interests.values()
            ),
            tuple((place[a], place[b]) for a, b in look.edges()),
        )
