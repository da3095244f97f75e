"""What a paper's evaluation is made of, whichever paper it is."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from orbweaver.core.errors import UsageError, nearest
from orbweaver.study.claims import Series, Verdict
from orbweaver.study.run import Result
from orbweaver.study.traces import Trace
from orbweaver.workload.scenario import Scenario

DEGREES, OVERHEADS = HISTOGRAMS = ("degree_histogram", "overhead_histogram")
"""A figure's metric when it shows how many nodes have which degree, or how much traffic of
no interest, in the first run."""

NO_TRACES = Path("traces")
"""Where nobody looks, as long as only the names of scenarios are asked for."""

BySeries = Mapping[str, Series]

COLUMNS = {
    "degree_mean": ("degree", 2),
    "degree_max": ("max degree", 1),
    "components": ("components", 1),
    "partitioned_topics": ("partitioned", 1),
    "diameter_max": ("max diameter", 1),
    "distance_mean": ("mean distance", 2),
    "tdi": ("tdi", 1),
    "control_messages_per_join": ("msgs/join", 1),
    "converged_ms": ("last change, ms", 0),
}
"""Of a table of settings, unless a paper has its own: metric -> title and digits."""


@dataclasses.dataclass(frozen=True)
class Claim:
    needs: tuple[str, ...]
    """The experiments to run."""
    judge: Callable[[BySeries], list[Verdict]]
    traced: bool = False
    """It needs the paper's real traces."""


@dataclasses.dataclass(frozen=True, eq=False)
class Figure:
    """A figure or table of the paper, drawn again from our series."""

    name: str
    """Short, for a file."""
    caption: str
    x_label: str
    y_label: str
    metric: str
    series: tuple[str, ...]
    """Labels; a * at the end takes all that begin so."""
    paper: Mapping[str, Mapping[float, float]] = dataclasses.field(default_factory=dict)
    """Label -> x -> the paper's number, where its text gives one."""

    def labels(self, series: BySeries) -> list[str]:
        """Those that there are; none unless each is there."""
        found = [[label for label in series if _fits(label, want)] for want in self.series]
        return [label for labels in found for label in labels] if all(found) else []


@dataclasses.dataclass(frozen=True, eq=False)
class Paper:
    name: str
    title: str
    scales: Mapping[str, str]
    """From small to large, "quick" first and "full" last, and what each means."""
    scenarios: Callable[[Iterable[str], str, Path], list[Scenario]]
    """Of some experiments at a scale; the folder has the tables of traces."""
    claims: Mapping[str, Claim]
    figures: Sequence[Figure]
    notes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """Scale -> claim, or something else -> what we make of it."""
    columns: Mapping[str, tuple[str, int]] = dataclasses.field(default_factory=lambda: COLUMNS)
    """Of the table of all settings: metric -> title and digits."""
    traces: Mapping[str, Sequence[Trace]] = dataclasses.field(default_factory=dict)
    """Scale -> the real traces that it needs."""
    sensitivity: tuple[str, ...] = ()
    """Experiments that no claim needs: what the parameters matter that the paper leaves
    open. They are run when all claims are."""

    def needed(self, claims: Iterable[str]) -> list[str]:
        """The experiments to run for these claims."""
        names: dict[str, None] = {}
        for claim in claims:
            if claim not in self.claims:
                hint = nearest(claim, self.claims)
                raise UsageError(f"{self.title} has no claim '{claim}': {hint}")
            names |= dict.fromkeys(self.claims[claim].needs)
        return list(names)

    def check(self, claims: Iterable[str], scale: str) -> None:
        if scale not in self.scales:
            raise UsageError(f"{self.title} has no scale '{scale}': {nearest(scale, self.scales)}")
        self.needed(claims)

    def jobs(
        self, claims: Sequence[str], scale: str, seeds: Sequence[int], traces: Path = NO_TRACES
    ) -> list[tuple[Scenario, int]]:
        names = self.needed(claims)
        if set(claims) == set(self.claims):
            names += self.sensitivity
        made = self.scenarios(names, scale, traces)
        return [(scenario, seed) for scenario in made for seed in seeds]

    def judge(self, claims: Iterable[str], series: BySeries) -> list[Verdict]:
        return [verdict for claim in claims for verdict in self.claims[claim].judge(series)]

    def notes_on(self, scale: str, claims: Collection[str]) -> dict[str, str]:
        """Those at a scale whose titles name one of these claims, or none at all."""
        found = {}
        for title, note in self.notes.get(scale, {}).items():
            named = self.claims.keys() & re.findall(r"\w+", title)
            if not named or not named.isdisjoint(claims):
                found[title] = note
        return found

    def judged_by(self, results: Sequence[Result]) -> tuple[str, list[str], list[Result]]:
        """The scale at which these results are enough for most claims, the largest of several;
        those claims, and the results that are of that scale. None if they are enough for
        none."""
        best: tuple[str, list[str], list[Result]] = ("", [], [])
        for scale in reversed(list(self.scales)):
            wanted = self.scenarios(self.needed(self.claims), scale, NO_TRACES)
            # Scales share names.
            fits = {s.name: self._nodes_at(scale, s) for s in wanted}
            ours = [r for r in results if r.name in fits and r.nodes in fits[r.name]]
            there = {result.name for result in ours}
            enough = [
                claim
                for claim, one in self.claims.items()
                if there.issuperset(s.name for s in self.scenarios(one.needs, scale, NO_TRACES))
            ]
            # A claim that needs no runs says nothing about these.
            if there and len(enough) > len(best[1]):
                best = (scale, enough, ours)
        return best if any(self.claims[claim].needs for claim in best[1]) else ("", [], [])

    def _nodes_at(self, scale: str, scenario: Scenario) -> range:
        """How many nodes a run of a scenario at a scale may have: of a trace that was cut to
        size, those that want something; of a whole one nobody knows without it."""
        nodes = scenario.workload.nodes
        if not scenario.workload.file:
            return range(nodes, nodes + 1)
        folders = {str(t.folder(NO_TRACES)): t for t in self.traces.get(scale, ())}
        trace = folders.get(scenario.workload.file)
        cut = trace.settings.get("nodes", 0) if trace else 0
        return range(cut * 9 // 10, cut + 1) if cut else range(sys.maxsize)


def _fits(label: str, want: str) -> bool:
    return label.startswith(want[:-1]) if want.endswith("*") else label == want
