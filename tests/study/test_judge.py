"""A paper, reproduced without the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.study.claims import Verdict
from orbweaver.study.judge import reproduce
from orbweaver.study.paper import BySeries, Claim, Paper
from orbweaver.study.results import Results
from orbweaver.study.run import Job, Result, run_scenario
from orbweaver.workload.scenario import RunSpec, Scenario, StudySpec, WorkloadSpec


@dataclasses.dataclass(frozen=True)
class Size:
    name: str
    nodes: tuple[int, ...]


def over_nodes(overlay: str, size: Size, traces: Path) -> list[Scenario]:
    return [
        Scenario(
            overlay=overlay,
            study=StudySpec(series=f"links of {overlay}"),
            workload=WorkloadSpec(nodes=nodes, topics=4, subscriptions_per_node="2"),
            run=RunSpec(warmup_ms=2000),
        )
        for nodes in size.nodes
    ]


def fewer_links(series: BySeries) -> list[Verdict]:
    ours, other = (series[f"links of {name}"] for name in ("opt", "random"))
    ok = all(a < b for a, b in zip(ours.means("links"), other.means("links"), strict=True))
    return [Verdict("T1", f"links over N = {ours.told_xs}", "fewer", ours.told("links", 0), ok)]


TINY = Paper(
    name="tiny",
    title="Tiny",
    scales={"quick": Size("ten and more", (10, 12)), "full": Size("more", (20, 30))},
    experiments={
        "opt": lambda size, traces: over_nodes("opt", size, traces),
        "random": lambda size, traces: over_nodes("random", size, traces),
    },
    claims={
        "T1": Claim(("opt", "random"), fewer_links),
        "T2": Claim(("opt",), lambda series: [], traced=True),
    },
)


def test_a_paper_is_reproduced_by_any_function_that_runs_scenarios() -> None:
    ran: list[Job] = []

    def run(jobs: Sequence[Job]) -> list[Result]:
        ran.extend(jobs)
        return [run_scenario(*job).result for job in reversed(jobs)]

    known = Results()
    judged = reproduce(TINY, run, seeds=(0, 1), known=known)
    assert len(ran) == len(judged.results) == len(known) == 8
    assert {result.study for result in judged.results} == {
        StudySpec("tiny", "quick", f"links of {overlay}", x)
        for overlay in ("opt", "random")
        for x in (10.0, 12.0)
    }
    (verdict,) = judged.ledger.verdicts
    assert (verdict.claim, verdict.what) == ("T1", "links over N = 10, 12")
    assert judged.ledger.part == ["T1"], "T2 needs real traces"
    assert reproduce(TINY, run, seeds=(0, 1), known=known).ledger == judged.ledger
    assert len(ran) == 8, "what is known is not run again"
    reproduce(TINY, run, scale="full", seeds=(1,), known=known)
    assert [(job[0].name, job[1]) for job in ran[8:]] == [
        (f"links of {overlay} @ {n}", 1) for overlay in ("opt", "random") for n in (20, 30)
    ]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"claims": ["T2"]}, "T2 need real traces"),
        ({"claims": ["T3"]}, "has no claim 'T3'"),
        ({"scale": "middle"}, "has no scale 'middle'"),
    ],
)
def test_what_cannot_be_judged_is_told_before_anything_runs(
    asked: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        reproduce(TINY, lambda jobs: pytest.fail("ran"), **asked)  # type: ignore[arg-type]


def test_nothing_is_judged_where_a_run_failed() -> None:
    def first_alone(jobs: Sequence[Job]) -> list[Result]:
        return [run_scenario(*jobs[0]).result]

    with pytest.raises(UsageError, match=r"result, so .*: links of opt @ 12 seed 0, links of r"):
        reproduce(TINY, first_alone, seeds=(0,))
