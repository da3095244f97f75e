"""What was run for an answer, and what it shows of each overlay."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from orbweaver.study.advice import plan
from orbweaver.study.advice.forecast import Point, forecast
from orbweaver.study.advice.measures import MEASURES, measure
from orbweaver.study.advice.plan import Circumstances
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.ranking import Contender, value
from orbweaver.study.advice.samples import Samples
from orbweaver.study.run import Job, Result, run_id

Runner = Callable[[Sequence[Job]], Sequence[Result]]
"""Runs jobs, on this machine or on others, and returns their results in order."""


@dataclasses.dataclass(frozen=True)
class Case:
    """What is asked about which data."""

    name: str
    """The name of the data."""
    question: Question
    circumstances: Circumstances
    samples: Samples
    overlays: Sequence[str]
    repeat: str
    """The command that asks the same again."""

    @property
    def nodes(self) -> int:
        return len(self.samples.whole.labels)


class Evidence:
    """The results so far: by overlay and size, and those on data without a property."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.results: dict[tuple[str, int], list[Result]] = {}
        self.altered: dict[tuple[str, str], list[Result]] = {}
        """By overlay and alteration, on samples of the smallest size."""
        self.seconds: dict[str, float] = {}
        """How long each run took, by its identity."""

    def add(self, run: Runner, overlays: Sequence[str], size: int, seeds: Sequence[int]) -> None:
        """Run overlays on samples of a size."""
        for result in self._done(run, self._jobs(overlays, size, seeds)):
            self.results.setdefault((result.overlay, size), []).append(result)

    def add_altered(self, run: Runner, overlays: Sequence[str], ways: Sequence[str]) -> None:
        """Run overlays on altered samples of the smallest size, but for what is there."""
        made = [
            (way, job)
            for seed in plan.SEEDS
            for way in ways
            for job in self._jobs(overlays, self.sizes[0], [seed], way)
            if (job[0].overlay, way) not in self.altered
        ]
        results = self._done(run, [job for _, job in made])
        for (way, _), result in zip(made, results, strict=True):
            self.altered.setdefault((result.overlay, way), []).append(result)

    @property
    def sizes(self) -> list[int]:
        return sorted({size for _, size in self.results})

    def size_of(self, overlay: str) -> int:
        """Return the largest size that an overlay was run on."""
        return max(size for one, size in self.results if one == overlay)

    def contenders(self) -> list[Contender]:
        """Return each overlay as it did on the largest samples that it was run on."""
        return [self._contender(overlay) for overlay in self.case.overlays]

    def points(self, overlay: str, name: str) -> list[Point]:
        """Return a measure of each run of an overlay, with the number of nodes of the run."""
        of_runs = (
            (result.nodes, MEASURES[name].value(result, self.case.question))
            for (one, _), results in sorted(self.results.items())
            if one == overlay
            for result in results
        )
        return [(nodes, number) for nodes, number in of_runs if math.isfinite(number)]

    def lead(self, pick: str, rival: str, by: str, way: str = "") -> list[float]:
        """Return by how much the pick is ahead of a rival, run by run on samples of the smallest
        size: the logarithm of the ratio, or the difference of lost events."""
        ends = []
        for overlay in (pick, rival):
            found = (self.altered[overlay, way] if way else self.results[overlay, self.sizes[0]])[
                : len(plan.SEEDS)
            ]
            one = Contender(overlay, 0, measure(found, self.case.question))
            of_runs = value(one, by)
            ends.append(of_runs.values if of_runs is not None else ())
        if len(ends[0]) != len(ends[1]):
            return []
        pairs = list(zip(*ends, strict=True))
        if by == "lost":
            return [theirs - ours for ours, theirs in pairs]
        return [math.log(max(1.0, theirs) / max(1.0, ours)) for ours, theirs in pairs]

    def _contender(self, overlay: str) -> Contender:
        size = self.size_of(overlay)
        results = self.results[overlay, size]
        sampled = size < self.case.nodes
        points = self.points(overlay, "links_max") if sampled else []
        return Contender(
            overlay,
            size,
            measure(results, self.case.question),
            tuple(dict.fromkeys(claim for one in results for claim in one.broken_claims)),
            forecast(overlay, "links_max", points, self.case.nodes),
            sampled,
            self.case.samples.wider(size, plan.SEEDS) if sampled else 1.0,
        )

    def _jobs(
        self, overlays: Sequence[str], size: int, seeds: Sequence[int], way: str = ""
    ) -> list[Job]:
        case = self.case
        return plan.jobs(
            overlays, size, seeds, case.question, case.circumstances, case.samples, way
        )

    def _done(self, run: Runner, jobs: Sequence[Job]) -> Sequence[Result]:
        results = run(jobs)
        for job, result in zip(jobs, results, strict=True):
            self.seconds[run_id(*job)] = result.wall_seconds
        return results
