"""What a paper's evaluation is made of, whichever paper it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from orbweaver.core.errors import UsageError, nearest
from orbweaver.study.claims import Series, Verdict
from orbweaver.workload.scenario import Scenario

HISTOGRAM = "degree_histogram"
"""A figure's metric when it shows how many nodes have which degree, in the first run."""

BySeries = Mapping[str, Series]


@dataclasses.dataclass(frozen=True)
class Claim:
    needs: tuple[str, ...]
    """The experiments to run."""
    judge: Callable[[BySeries], list[Verdict]]


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
    """"quick" and "full", and what each means."""
    scenarios: Callable[[Iterable[str], str], list[Scenario]]
    """Of some experiments at a scale."""
    claims: Mapping[str, Claim]
    figures: Sequence[Figure]
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What we make of claims that do not reproduce, at full scale."""
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

    def jobs(
        self, claims: Sequence[str], scale: str, seeds: Sequence[int]
    ) -> list[tuple[Scenario, int]]:
        names = self.needed(claims)
        if set(claims) == set(self.claims):
            names += self.sensitivity
        made = self.scenarios(names, scale)
        return [(scenario, seed) for scenario in made for seed in seeds]

    def judge(self, claims: Iterable[str], series: BySeries) -> list[Verdict]:
        return [verdict for claim in claims for verdict in self.claims[claim].judge(series)]

    def judged_by(self, names: Iterable[str]) -> tuple[str, list[str]]:
        """The larger scale at which runs of these names tell something, and the claims that
        they are enough for; no claims if neither scale does."""
        there = frozenset(names)
        for scale in ("full", "quick"):
            enough = {
                claim: one
                for claim, one in self.claims.items()
                if there.issuperset(s.name for s in self.scenarios(one.needs, scale))
            }
            # A claim that needs no runs says nothing about these.
            if any(one.needs for one in enough.values()):
                return scale, list(enough)
        return "", []


def _fits(label: str, want: str) -> bool:
    return label.startswith(want[:-1]) if want.endswith("*") else label == want
