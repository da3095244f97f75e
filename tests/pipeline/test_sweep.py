"""Sweeps: every run once, failures told, nothing run twice."""

from __future__ import annotations

import math
import resource
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from orbweaver.core.errors import UsageError
from orbweaver.pipeline import bundles
from orbweaver.pipeline import sweep as stage
from orbweaver.pipeline.store import RESULTS, RunStore, locate_store
from orbweaver.pipeline.sweep import bounded_memory, sweep, writing_alone
from orbweaver.study.results import Results, made_here
from orbweaver.study.run import Job, Result, run_id, run_scenario
from orbweaver.workload.scenario import InterestChange, PublishSpec, RunSpec, Scenario, WorkloadSpec


def small(name: str, nodes: int = 30, **changes: object) -> Scenario:
    scenario = Scenario(
        overlay="spidercast",
        name=name,
        workload=WorkloadSpec(nodes=nodes, topics=8, subscriptions_per_node="3"),
        publish=PublishSpec(per_topic=1),
        run=RunSpec(warmup_ms=1500, drain_ms=500),
    )
    return msgspec.structs.replace(scenario, **changes)


def at(folder: Path) -> RunStore:
    return locate_store(str(folder / "store"))


def timeless(results: list[Result]) -> list[Result]:
    return [msgspec.structs.replace(result, wall_seconds=0) for result in results]


def test_results_are_those_of_single_runs_and_are_not_run_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    jobs = [(small(name, nodes), seed) for name, nodes in (("a", 30), ("b", 50)) for seed in (0, 1)]
    store = locate_store(str(tmp_path / "store"))
    seen: list[tuple[int, int]] = []
    first = sweep(spark, jobs[:3], store, wave=2, done=lambda *at: seen.append(at))
    assert (first.ran, first.failures) == (3, [])
    assert {(2, 3), (3, 3)} <= set(seen)
    assert seen == sorted(seen), "never back"
    assert len(seen) <= 2 * len(set(seen)), "told of changes, not of the time"
    second = sweep(spark, jobs, store)
    assert second.ran == 1, "only what was missing"
    alone = [run_scenario(scenario, seed).result for scenario, seed in jobs]
    assert timeless(second.results) == timeless(alone)
    assert sweep(spark, jobs, store).ran == 0


def test_what_differs_in_nothing_but_its_name_is_run_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    runner = stage._runner
    monkeypatch.setattr(
        stage, "_runner", lambda runs, *more: ran.append(len(runs)) or runner(runs, *more)
    )
    jobs = [(small(name), seed) for name in ("a", "b") for seed in (0, 1)]
    seen: list[tuple[int, int]] = []
    swept = sweep(spark, jobs, at(tmp_path), wave=9, done=lambda *at: seen.append(at))
    assert (ran, swept.ran, seen[-1]) == ([2], 2, (2, 2))
    assert [(r.name, r.seed) for r in swept.results] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    first, _, twin, _ = swept.results
    assert msgspec.structs.replace(twin, name="a") == first
    again = sweep(spark, [(small("c"), 1)], at(tmp_path))
    assert (again.ran, again.results[0].name) == (0, "c"), "also when it was run before"


def test_waves_grow_and_short_runs_share_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[int, int]] = []
    runner = stage._runner

    def counting(runs: list[Job], tasks: list[list[int]], *more: Any) -> Any:
        ran.append((len(runs), len(tasks)))
        return runner(runs, tasks, *more)

    monkeypatch.setattr(stage, "_parallelism", lambda spark: 2)
    monkeypatch.setattr(stage, "_runner", counting)
    # However slow the machine is, these runs are short.
    monkeypatch.setattr(bundles, "WAVE_S", math.inf)
    monkeypatch.setattr(bundles, "TASK_S", math.inf)
    jobs = [(small("tiny", 10), seed) for seed in range(17)]
    seen: list[tuple[int, int]] = []
    swept = sweep(spark, jobs, at(tmp_path), done=lambda *at: seen.append(at))
    assert [result.seed for result in swept.results] == list(range(17))
    assert ran == [(2, 2), (15, 8)]
    assert seen == sorted(seen), "never back"
    assert seen[-1] == (17, 17)


def test_a_failing_run_is_told_and_the_others_go_on(spark: SparkSession, tmp_path: Path) -> None:
    broken = small("broken", interests=(InterestChange(0, 99, "a", "subscribe"),))
    swept = sweep(spark, [(broken, 7), (small("fine"), 0)], at(tmp_path))
    assert [result.name for result in swept.results] == ["fine"]
    (failure,) = swept.failures
    assert (failure.name, failure.seed) == ("broken", 7)
    assert "there is no node 99" in failure.error
    assert failure.replay.startswith("orbweaver replay ")
    assert failure.replay.endswith("--seed 7")
    noted = (tmp_path / "store" / "_failures.jsonl").read_bytes()
    assert msgspec.json.decode(noted, type=type(failure)) == failure
    again = sweep(spark, [(broken, 7), (small("fine"), 0)], at(tmp_path))
    assert again.ran == 1, "what failed is tried again"


def test_a_run_that_takes_too_much_memory_fails_alone(spark: SparkSession, tmp_path: Path) -> None:
    hungry = small("hungry", nodes=200_000)
    swept = sweep(spark, [(hungry, 0), (small("fine"), 0)], at(tmp_path), memory_gb=1.0)
    assert [result.name for result in swept.results] == ["fine"]
    assert "MemoryError" in swept.failures[0].error


def test_the_bound_on_memory_ends_with_the_run() -> None:
    """Spark gives the process other tasks afterwards."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with bounded_memory(50):
        assert resource.getrlimit(resource.RLIMIT_AS)[0] == 50 * 2**30
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"params": {"kg": 4}}, {"run": RunSpec(tdi=5)}],
    ids=["seed", "parameter", "observation"],
)
def test_what_makes_another_run(change: dict[str, object]) -> None:
    plain = run_id(small("x"), 0)
    assert plain == run_id(small("y", params={"kg": 3}), 0), "3 is the default"
    seed = int(str(change.pop("seed", 0)))
    assert run_id(small("x", **change), seed) != plain


def test_a_changed_overlay_of_ones_own_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "from orbweaver.overlays.vitis.opt import Opt\n\nclass Mine(Opt): ...\n"
    (tmp_path / "my_overlay.py").write_text(text)
    job = (small("x", overlay="my_overlay:Mine"), 0)
    stored = Results(made_here([run_scenario(*job).result]))
    assert stored.missing([job], any_code=False) == []
    (tmp_path / "my_overlay.py").write_text(text + "# another\n")
    assert stored.missing([job], any_code=False) == [job]


def test_two_commands_do_not_write_one_store_at_a_time(tmp_path: Path) -> None:
    with (
        writing_alone(at(tmp_path)),
        writing_alone(locate_store(str(tmp_path / "other"))),
        pytest.raises(UsageError, match="another command"),
        writing_alone(at(tmp_path)),
    ):
        pass
    with writing_alone(at(tmp_path)):
        pass


def test_the_store_keeps_what_the_overlay_looked_like(spark: SparkSession, tmp_path: Path) -> None:
    scenario = small("x", run=RunSpec(warmup_ms=1500, drain_ms=500, snapshots_ms=(500,)))
    store = at(tmp_path)
    sweep(spark, [(scenario, 0)], store)
    rows = store.read_looks(spark, store.results().each()).collect()
    (kept,) = store.rows(store.open(), RESULTS, ["scenario"]).column(0).to_pylist()
    assert msgspec.json.decode(kept, type=Scenario) == scenario
    looks = run_scenario(scenario, 0).looks
    assert [look.time_ms for look in looks] == [500, 1500]
    there = {(r.run, r.time_ms, r.node, frozenset(r.topics), tuple(r.peers)) for r in rows}
    assert there == {
        (run_id(scenario, 0), look.time_ms, node, topics, tuple(look.links[node]))
        for look in looks
        for node, topics in look.interests.items()
    }


def test_a_store_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    other, odd = (locate_store(str(tmp_path / name)) for name in ("st1", "st[12] {a}"))
    for store, seeds in ((other, 2), (odd, 1)):
        assert sweep(spark, [(small("a", 10), seed) for seed in range(seeds)], store).ran == seeds
    stored = odd.results().each()
    assert odd.read_looks(spark, stored).count() == 10 * len(stored) == 10
    assert sweep(spark, [(small("a", 10), 0)], odd).ran == 0


def test_a_store_is_a_folder_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "subscriptions"
    spark.createDataFrame([("a", "x")], "node string, topic string").write.parquet(str(table))
    file, full = tmp_path / "file", tmp_path / "full"
    file.write_text("x")
    full.mkdir()
    (full / "thesis.tex").write_text("years of work")
    for place in (table, file, full, tmp_path / "nowhere" / "store"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UsageError):
            sweep(spark, [(small("a"), 0)], locate_store(str(place)))
        assert sorted(tmp_path.rglob("*")) == before
