"""Run what a paper's claims need, and judge the claims on the results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.study.claims import Verdict, gather
from orbweaver.study.paper import NO_TRACES, BySeries, Paper
from orbweaver.study.pool import run_all
from orbweaver.study.results import Codes, Results, Stored, codes_of, made_here, told_codes
from orbweaver.study.run import Job, Result, fingerprint
from orbweaver.study.version import code_version
from orbweaver.workload.scenario import Scenario

SEEDS_MIN = 3
"""Fewest seeds with which a claim is called reproduced: with fewer it may hold by chance."""


class Ledger(msgspec.Struct, frozen=True):
    """A ledger is a paper's claims with their verdicts, and what they were judged on."""

    paper: str
    title: str
    scale: str
    scale_meaning: str
    seeds: list[int]
    """The seeds of the setting that has fewest; none where no run was needed."""
    verdicts: list[Verdict]
    traced: list[str]
    """The judged claims that need real traces."""
    part: list[str]
    """The judged claims, if they are only a part of the paper's."""
    codes: dict[str, str] = {}
    """Claim -> the versions of the code that made its runs. Empty if one version made all runs."""

    @property
    def counted(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if not verdict.uncounted]

    @property
    def held(self) -> int:
        return sum(verdict.reproduced for verdict in self.counted)

    @property
    def enough_seeds(self) -> bool:
        return not self.seeds or len(self.seeds) >= SEEDS_MIN

    @property
    def summary(self) -> str:
        count = f"{self.held} of {len(self.counted)} checks"
        seeds = "one seed" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        if self.enough_seeds:
            text = f"{count} reproduced."
        else:
            text = f"{count} hold over {seeds}; it takes {SEEDS_MIN} to call one reproduced."
        shown = len(self.verdicts) - len(self.counted)
        return f"{text} Shown and not counted: {shown}." if shown else text

    def word(self, verdict: Verdict) -> str:
        if verdict.uncounted:
            return f"{'holds' if verdict.reproduced else 'does not hold'}, not counted"
        if not verdict.reproduced:
            return "not reproduced"
        return "reproduced" if self.enough_seeds else "holds"

    def command(self, claim: str = "") -> str:
        """Return the command that makes the ledger again, or one claim of it."""
        seeds = f" --seeds {','.join(map(str, self.seeds))}" if self.seeds else ""
        claims = claim or ",".join(self.part)
        only = f" --claims {claims}" if claims else ""
        needs = self.traced and (not claim or claim in self.traced)
        traces = " --traces TRACES" if needs else ""
        return f"orbweaver reproduce {self.paper} --scale {self.scale}{only}{seeds}{traces}"


@dataclasses.dataclass(frozen=True)
class Judged:
    paper: Paper
    ledger: Ledger
    results: list[Result]
    """The results that the claims were judged on."""
    series: BySeries
    """The same results by series."""
    codes: Codes
    """The version of the code for each run. Empty if one version made all runs."""
    code: str
    """The versions of the code that made the runs, as text, with the number of runs by each."""


Runner = Callable[[Sequence[Job]], Iterable[Result]]
"""A function that runs scenarios, each with its seed, in any order."""


def reproduce(
    paper: Paper,
    run: Runner = run_all,
    claims: Sequence[str] | None = None,
    scale: str = "quick",
    seeds: Sequence[int] = (0, 1, 2),
    traces: Path | None = None,
    known: Results | None = None,
) -> Judged:
    """Run what a paper's claims need, and judge the claims.

    Without `claims` all claims are judged. `traces` is the folder with the tables of real traces
    (`pipeline.traces`); without it, claims that need traces are left out. Runs whose results are
    `known` are not run again, and the new results are added to the known ones.
    """
    chosen = paper.choose(claims, scale, traced=traces is not None)
    jobs = paper.jobs(chosen, scale, seeds, traces or NO_TRACES)
    results = Results() if known is None else known
    if missing := results.missing(jobs):
        results.add(made_here(run(missing)))
        if left := results.missing(missing):
            named = ", ".join(f"{scenario.name} seed {seed}" for scenario, seed in left)
            raise UsageError(f"these runs have no result, so that no claim is judged: {named}")
    return judge(paper, chosen, scale, results.of(jobs))


def judge(paper: Paper, claims: Sequence[str], scale: str, stored: Sequence[Stored]) -> Judged:
    """Judge claims on stored results, which name the series of the paper that they belong to."""
    results = [one.result for one in stored]
    made = codes_of(stored)
    several = made if len(set(made.values())) > 1 else {}
    series = gather(results)
    settings = (rs for one in series.values() for rs in one.results.values())
    ledger = Ledger(
        paper=paper.name,
        title=paper.title,
        scale=scale,
        scale_meaning=paper.scales[scale].name,
        seeds=min([sorted({r.seed for r in rs}) for rs in settings], key=len, default=[]),
        verdicts=[v for claim in claims for v in paper.claims[claim].verdicts(series)],
        traced=[claim for claim in claims if paper.claims[claim].traced],
        part=list(claims) if set(claims) != set(paper.claims) else [],
        codes={c: _codes_of(paper, c, scale, results, several) for c in claims if several},
    )
    return Judged(paper, ledger, results, series, several, told_codes(made) or code_version())


def judge_all(paper: Paper, results: Results, traces: Path = NO_TRACES) -> Judged | None:
    """Judge the claims of a paper for which there are results.

    All are judged at one scale: the one at which most claims have results, and the largest of
    several such scales. Return None if no claim has results.
    """
    seeds: dict[str, set[int]] = {}
    for one in results.each():
        seeds.setdefault(one.result.fingerprint, set()).add(one.result.seed)
    best: list[str] = []
    judged = None
    for scale in reversed(list(paper.scales)):
        made = {name: paper.scenarios([name], scale, traces) for name in paper.experiments}
        jobs = {
            name: [[(s, seed) for seed in sorted(seeds.get(_named(s), ()))] for s in scenarios]
            for name, scenarios in made.items()
        }
        enough = [c for c, one in paper.claims.items() if all(all(jobs[n]) for n in one.needs)]
        # A claim that needs no runs does not show that there are results at this scale.
        if len(enough) > len(best) and any(paper.claims[claim].needs for claim in enough):
            there = [job for by_setting in jobs.values() for one in by_setting for job in one]
            best, judged = enough, judge(paper, enough, scale, results.of(there))
    return judged


def _named(scenario: Scenario) -> str:
    try:
        return fingerprint(scenario)
    except UsageError:
        return ""  # it needs the table of a trace, which is not here


def _codes_of(paper: Paper, claim: str, scale: str, results: Iterable[Result], codes: Codes) -> str:
    needed = paper.scenarios(paper.claims[claim].needs, scale, NO_TRACES)
    places = {scenario.study for scenario in needed}
    return told_versions((r for r in results if r.study in places), codes)


def told_versions(results: Iterable[Result], codes: Codes) -> str:
    """Return the beginnings of the versions of the code that made these runs, as text."""
    made = dict.fromkeys(codes[r.run_id] for r in results)
    return ", ".join("+".join(part[:6] for part in code.split("+")) for code in made)
