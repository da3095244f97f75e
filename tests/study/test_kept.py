"""Results that stay when their store is gone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.study.kept import (
    Kept,
    KeptResults,
    append_kept,
    read_kept,
    read_lines,
    told_codes,
)
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import RunSpec, Scenario, WorkloadSpec

SMALL = Scenario(
    overlay="spidercast",
    name="degree @ 20",
    workload=WorkloadSpec(nodes=20, topics=4, subscriptions_per_node="2"),
    run=RunSpec(warmup_ms=1000),
)
TWIN = msgspec.structs.replace(SMALL, name="size @ 20")
LARGER = msgspec.structs.replace(SMALL, workload=WorkloadSpec(nodes=30, topics=4))


@pytest.fixture
def kept() -> KeptResults:
    made = KeptResults()
    made.add("old", [run_scenario(SMALL, 0).result])
    return made


def test_what_is_kept_need_not_be_run_again(kept: KeptResults) -> None:
    assert kept.missing([(SMALL, 0), (TWIN, 0)]) == []
    wanted = [(SMALL, 1), (LARGER, 0)]
    assert kept.missing([(SMALL, 0), *wanted]) == wanted


def test_a_default_may_be_typed_or_not(kept: KeptResults) -> None:
    assert kept.missing([(msgspec.structs.replace(SMALL, params={"kg": 3}), 0)]) == []
    assert kept.missing([(msgspec.structs.replace(SMALL, params={"kg": 2}), 0)])


def test_a_run_that_is_in_two_series_has_both_names(kept: KeptResults) -> None:
    found = kept.of([(TWIN, 0), (LARGER, 0), (SMALL, 0)])
    assert [one.result.name for one in found] == ["size @ 20", "degree @ 20"]
    assert found[0].result.metrics == found[1].result.metrics
    assert told_codes(found) == "old"


def test_what_was_kept_first_stays_and_the_page_says_who_made_what(kept: KeptResults) -> None:
    kept.add("new", [run_scenario(SMALL, seed).result for seed in (0, 1, 2)])
    found = kept.of([(SMALL, seed) for seed in (0, 1, 2)])
    assert [one.code for one in found] == ["old", "new", "new"]
    assert told_codes(found) == "new (2 of 3 runs), old (1 of 3 runs)"


def test_a_file_has_all_of_it_and_the_same_bytes_each_time(
    kept: KeptResults, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    kept.add("new", [run_scenario(SMALL, 1).result])
    kept.write(first)
    again = read_kept(first)
    jobs = [(SMALL, 0), (SMALL, 1)]
    assert again.of(jobs) == kept.of(jobs)
    again.write(second)
    assert first.read_bytes() == second.read_bytes()
    assert len(read_kept(tmp_path / "none.jsonl")) == 0


def test_a_line_that_is_no_result_is_named(kept: KeptResults, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    kept.write(path)
    path.write_bytes(path.read_bytes() + b'{"code": "x"}\n')
    with pytest.raises(UsageError, match=r"some.jsonl, line 2: not a result: .*`result`"):
        read_kept(path)


def test_results_are_added_one_by_one_whatever_happened_to_the_last(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    result = run_scenario(SMALL, 0).result
    append_kept(path, Kept("old", result))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    assert [one.code for one in read_lines(path)] == ["old"], "a line was cut short by a crash"
    append_kept(path, Kept("new", result))
    assert [one.code for one in read_lines(path)] == ["old", "new"]
