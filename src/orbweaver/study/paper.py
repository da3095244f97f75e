"""A paper's evaluation as a value: its experiments, claims and figures, for any paper."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from orbweaver.core.errors import UsageError, nearest
from orbweaver.study.claims import Series, Verdict
from orbweaver.study.run import Job
from orbweaver.study.traces import Trace
from orbweaver.workload.scenario import Scenario

DEGREES, OVERHEADS = HISTOGRAMS = ("degree_histogram", "overhead_histogram")
"""Metrics of figures that show how many nodes of the first run have which degree, or which share
of traffic without interest."""

NO_TRACES = Path("traces")
"""A folder without traces, for scenarios that need none, and for callers that only want to know
to which series scenarios belong."""

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
"""The columns of a table of settings, unless a paper has its own: metric -> title and digits."""


Experiment = Callable[[Any, Path], list[Scenario]]
"""A function that makes scenarios, each with its series and x, from one of the paper's scales and
the folder with the tables of traces."""


@dataclasses.dataclass(frozen=True)
class Claim:
    needs: tuple[str, ...]
    """The experiments to run."""
    verdicts: Callable[[BySeries], list[Verdict]]
    """Judges the series of the experiments: one verdict for each check."""
    traced: bool = False
    """Whether it needs the paper's real traces."""


@dataclasses.dataclass(frozen=True, eq=False)
class Figure:
    """A figure is a figure or table of the paper, drawn again from our series."""

    name: str
    """A short name, also of the file."""
    caption: str
    x_label: str
    y_label: str
    metric: str
    series: tuple[str, ...]
    """Labels of series; a label that ends in * stands for all labels that begin with what precedes
    the *."""
    paper: Mapping[str, Mapping[float, float]] = dataclasses.field(default_factory=dict)
    """Label -> x -> the paper's number, where its text gives one."""
    over_time: bool = False
    """Whether x is time in minutes, and the metric one of `Result.course`."""

    def labels(self, series: BySeries) -> list[str]:
        """Return the labels of the figure's series, or none if one of its series has no results."""
        found = [[label for label in series if _fits(label, want)] for want in self.series]
        return [label for labels in found for label in labels] if all(found) else []


@dataclasses.dataclass(frozen=True, eq=False)
class Paper:
    name: str
    title: str
    scales: Mapping[str, Any]
    """Scales from small to large, "quick" first and "full" last. Each has a `name` that says what
    it means; its other fields are for the experiments alone."""
    experiments: Mapping[str, Experiment]
    claims: Mapping[str, Claim]
    figures: Sequence[Figure] = ()
    notes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """Scale -> title -> a note. The title names a claim, or another subject of the page."""
    columns: Mapping[str, tuple[str, int]] = dataclasses.field(default_factory=lambda: COLUMNS)
    """The columns of the table of all settings: metric -> title and digits."""
    traces: Mapping[str, Sequence[Trace]] = dataclasses.field(default_factory=dict)
    """Scale -> the real traces that it needs."""
    sensitivity: tuple[str, ...] = ()
    """Experiments that no claim needs. They show how much the parameters matter to which the paper
    gives no value, and are run when all claims are."""

    def scenarios(self, names: Iterable[str], scale: str, traces: Path) -> list[Scenario]:
        """Make the scenarios of some experiments at a scale, each named by its series and x."""
        made = []
        for name in dict.fromkeys(names):
            for one in self.experiments[name](self.scales[scale], traces):
                x = float(one.workload.nodes if one.study.x is None else one.study.x)
                study = replace(one.study, paper=self.name, scale=scale, x=x)
                made.append(replace(one, name=f"{study.series} @ {x:g}", study=study))
        return made

    def needed(self, claims: Iterable[str]) -> list[str]:
        """Return the experiments that these claims need."""
        names: dict[str, None] = {}
        for claim in claims:
            if claim not in self.claims:
                hint = nearest(claim, self.claims)
                raise UsageError(f"{self.title} has no claim '{claim}': {hint}")
            names |= dict.fromkeys(self.claims[claim].needs)
        return list(names)

    def choose(self, claims: Sequence[str] | None, scale: str, traced: bool) -> list[str]:
        """Return the claims to judge: the given ones, or all if none are given.

        Without traces, claims that need them are left out, unless they were given by name: that
        is an error, like a claim or a scale that the paper does not have.
        """
        if scale not in self.scales:
            raise UsageError(f"{self.title} has no scale '{scale}': {nearest(scale, self.scales)}")
        chosen = list(dict.fromkeys(self.claims if claims is None else claims))
        self.needed(chosen)
        needing = [] if traced else [claim for claim in chosen if self.claims[claim].traced]
        if needing and claims is not None:
            raise UsageError(f"{', '.join(needing)} need real traces: --traces DIR")
        return [claim for claim in chosen if claim not in needing]

    def jobs(
        self, claims: Sequence[str], scale: str, seeds: Sequence[int], traces: Path = NO_TRACES
    ) -> list[Job]:
        names = self.needed(claims)
        if set(claims) == set(self.claims):
            names += self.sensitivity
        made = self.scenarios(names, scale, traces)
        return [(scenario, seed) for scenario in made for seed in seeds]

    def notes_on(self, scale: str, claims: Collection[str]) -> dict[str, str]:
        """Return the notes at a scale whose titles name one of these claims, or no claim at all."""
        found = {}
        for title, note in self.notes.get(scale, {}).items():
            named = self.claims.keys() & re.findall(r"\w+", title)
            if not named or not named.isdisjoint(claims):
                found[title] = note
        return found


def _fits(label: str, want: str) -> bool:
    return label.startswith(want[:-1]) if want.endswith("*") else label == want
