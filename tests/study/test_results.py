"""Results that stay when their store is gone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.study.papers import PAPERS
from orbweaver.study.results import (
    Results,
    Stored,
    append_results,
    codes_of,
    made_here,
    read_results,
    told_codes,
)
from orbweaver.study.run import run_scenario
from orbweaver.study.version import run_code
from orbweaver.workload.scenario import RunSpec, Scenario, StudySpec, WorkloadSpec

COMMITTED = sorted(Path(__file__).parents[2].glob("docs/results/*/results.jsonl"))
SMALL = Scenario(
    overlay="spidercast",
    name="degree",
    study=StudySpec(series="degree", x=20.0),
    workload=WorkloadSpec(nodes=20, topics=4, subscriptions_per_node="2"),
    run=RunSpec(warmup_ms=1000),
)
TWIN = msgspec.structs.replace(SMALL, name="size", study=StudySpec(series="size", x=20.0))
LARGER = msgspec.structs.replace(SMALL, workload=WorkloadSpec(nodes=30, topics=4))


@pytest.fixture
def kept() -> Results:
    return Results([Stored("old", run_scenario(SMALL, 0).result)])


def test_what_is_kept_need_not_be_run_again(kept: Results) -> None:
    assert kept.missing([(SMALL, 0), (TWIN, 0)]) == []
    wanted = [(SMALL, 1), (LARGER, 0)]
    assert kept.missing([(SMALL, 0), *wanted]) == wanted
    assert Results().missing([(SMALL, 0), (TWIN, 0)]) == [(TWIN, 0)], "they are one run"


def test_a_default_may_be_typed_or_not(kept: Results) -> None:
    assert kept.missing([(msgspec.structs.replace(SMALL, params={"kg": 3}), 0)]) == []
    assert kept.missing([(msgspec.structs.replace(SMALL, params={"kg": 2}), 0)])


def test_a_run_that_is_in_two_series_is_found_in_both(kept: Results) -> None:
    found = kept.of([(TWIN, 0), (LARGER, 0), (SMALL, 0)])
    assert [one.result.name for one in found] == ["size", "degree"]
    assert [one.result.study.series for one in found] == ["size", "degree"]
    assert found[0].result.metrics == found[1].result.metrics
    assert told_codes(codes_of(found)) == "old"


def test_what_was_kept_first_stays_and_the_page_says_which_code_made_it(kept: Results) -> None:
    kept.add(Stored("new", run_scenario(SMALL, seed).result) for seed in (0, 1, 2))
    found = kept.of([(SMALL, seed) for seed in (0, 1, 2)])
    assert [one.code for one in found] == ["old", "new", "new"]
    assert told_codes(codes_of(found)) == "new (2 of 3 runs), old (1 of 3 runs)"


def test_a_file_has_all_of_it_and_the_same_bytes_each_time(kept: Results, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    kept.add([Stored("new", run_scenario(SMALL, 1).result)])
    kept.write(first)
    again = read_results(first)
    jobs = [(SMALL, 0), (SMALL, 1)]
    assert again.of(jobs) == kept.of(jobs)
    again.write(second)
    assert first.read_bytes() == second.read_bytes()
    assert len(read_results(tmp_path / "none.jsonl")) == 0


def test_a_line_that_is_no_result_is_named(kept: Results, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    kept.write(path)
    path.write_bytes(path.read_bytes() + b'{"code": "x"}\n')
    with pytest.raises(UsageError, match=r"some.jsonl, line 2: not a result: .*`result`"):
        read_results(path)


def test_results_are_added_one_by_one_whatever_happened_to_the_last(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    result = run_scenario(SMALL, 0).result
    append_results(path, [Stored("old", result)])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    assert [one.code for one in read_results(path).each()] == ["old"], "a line was cut short"
    append_results(path, [Stored("new", result)])
    assert [one.code for one in read_results(path).each()] == ["old", "new"]


def test_a_sweep_takes_results_of_its_own_code_only(kept: Results) -> None:
    job = (SMALL, 0)
    assert kept.missing([job], any_code=False) == [job]
    kept.add(made_here([run_scenario(SMALL, 0).result]))
    assert kept.missing([job], any_code=False) == []
    (ours,) = kept.of([job], any_code=False)
    assert (len(kept), ours.code) == (2, run_code("spidercast"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.name)
def test_what_is_in_the_repository_can_be_read_and_found(path: Path) -> None:
    paper, _, scale = path.parent.name.partition("-")
    stored = read_results(path)
    jobs = PAPERS[paper].jobs(list(PAPERS[paper].claims), scale or "full", range(10))
    drawn = [job for job in jobs if not _traced(job[0])]
    found = stored.of(drawn)
    assert bool(found) == bool(drawn)
    assert all(one.result.study.paper == paper for one in found)
    if scale == "quick":  # at other scales some are of settings that were changed since
        ids = {one.result.run_id for one in found}
        traced = {one.study.series for one, _ in jobs if _traced(one)}
        left = [one.result for one in stored.each() if one.result.run_id not in ids]
        assert {result.name.partition(" @ ")[0] for result in left} <= traced


def _traced(scenario: Scenario) -> bool:
    """Return whether a scenario is made of tables of traces, which are not in the repository."""
    return bool(scenario.workload.file or scenario.churn.file or scenario.latency.file)
