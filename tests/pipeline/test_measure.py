"""Measuring a store gives what single runs give, and their spread."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from orbweaver.core.errors import UsageError
from orbweaver.metrics.averages import interval95, mean
from orbweaver.metrics.topics import shapes
from orbweaver.pipeline.measure import TABLES, measure, select_runs
from orbweaver.pipeline.store import locate_store
from orbweaver.pipeline.sweep import sweep
from orbweaver.study.results import Results, made_here
from orbweaver.study.run import Run, run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

SEEDS = (0, 1, 2)
ALONE = Scenario(
    overlay="spidercast",
    name="alone",
    workload=WorkloadSpec(nodes=60, topics=8, subscriptions_per_node="3"),
    publish=PublishSpec(per_topic=1),
    run=RunSpec(warmup_ms=1500, drain_ms=500, snapshots_ms=(200,), tdi=6),
)
# Random links leave topics in pieces, so that no two components are counted alike.
POOR = Scenario(
    overlay="random",
    name="poor",
    params={"random": 1},
    workload=WorkloadSpec(nodes=60, topics=8, subscriptions_per_node="3"),
    publish=PublishSpec(per_topic=0),
    run=RunSpec(warmup_ms=1500, drain_ms=0),
)


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, int], Run]:
    return {(s.name, seed): run_scenario(s, seed) for s in (ALONE, POOR) for seed in SEEDS}


@pytest.fixture(scope="module")
def measured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measure")
    store = locate_store(str(folder / "store"))
    swept = sweep(spark, [(s, seed) for s in (ALONE, POOR) for seed in SEEDS], store)
    assert len(swept.results) == 2 * len(SEEDS)
    found = measure(spark, store, folder / "measured")
    assert found.tables["runs"] == 2 * len(SEEDS)
    return folder / "measured"


def rows(spark: SparkSession, folder: Path, name: str) -> list:
    return spark.read.parquet(str(folder / name)).collect()


def test_topics_are_those_of_the_snapshots(
    spark: SparkSession, measured: Path, runs: dict[tuple[str, int], Run]
) -> None:
    names = {r.run: (r["name"], r.seed) for r in rows(spark, measured, "runs")}
    there = {
        (*names[r.run], r.time_ms, r.topic, r.nodes, r.components, r.diameter, r.distance_sum,
         r.distance_pairs)
        for r in rows(spark, measured, "topics")
    }  # fmt: skip
    assert there == {
        (*run, look.time_ms, s.topic, s.nodes, s.components, s.diameter, s.distance_sum,
         s.distance_pairs)
        for run, one in runs.items()
        for look in one.looks
        for s in shapes(look)
    }  # fmt: skip
    assert any(row[5] > 1 for row in there)


def test_values_are_those_of_the_runs(
    spark: SparkSession, measured: Path, runs: dict[tuple[str, int], Run]
) -> None:
    names = {r.run: (r["name"], r.seed) for r in rows(spark, measured, "runs")}
    values = {(names[r.run], r.time_ms, r.metric): r.value for r in rows(spark, measured, "values")}
    for run, one in runs.items():
        last = one.looks[-1].time_ms
        for metric, value in one.result.metrics.items():
            assert values[run, last, metric] == pytest.approx(value), (run, metric)
        for look in one.result.snapshots:
            for metric in ("degree_mean", "components", "nodes_up"):
                assert values[run, look["time_ms"], metric] == pytest.approx(look[metric])


def test_settings_are_over_the_seeds(
    spark: SparkSession, measured: Path, runs: dict[tuple[str, int], Run]
) -> None:
    found = {(r["name"], r.time_ms, r.metric): r for r in rows(spark, measured, "settings")}
    for scenario in (ALONE, POOR):
        degrees = [runs[scenario.name, s].result.metrics["degree_mean"] for s in SEEDS]
        row = found[scenario.name, 1500, "degree_mean"]
        assert (row.seeds, row.lowest, row.highest) == (3, min(degrees), max(degrees))
        assert row["mean"] == pytest.approx(mean(degrees))
        assert row.ci95 == pytest.approx(interval95(degrees))
    assert (POOR.name, 1500, "hit_ratio") not in found, "nothing was published"


def test_a_store_of_other_code_says_what_it_has(
    spark: SparkSession, measured: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"it has runs of code: [0-9a-f]{16} \(6 runs\)"):
        measure(spark, locate_store(str(measured.parent / "store")), tmp_path / "m", code="feed")
    assert not (tmp_path / "m").exists()


def test_no_store(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a store of runs"):
        measure(spark, locate_store(str(tmp_path)), tmp_path / "m")


def test_a_folder_of_tables(measured: Path) -> None:
    assert {f.name for f in measured.iterdir()} == {*TABLES, "dataset.json"}


def test_runs_of_an_overlay_that_was_changed_since_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "from orbweaver.overlays.vitis.opt import Opt\n\nclass Mine(Opt): ...\n"
    mine = msgspec.structs.replace(POOR, overlay="edited_overlay:Mine", params={})
    stored = []
    for change in ("", "# another\n"):
        (tmp_path / "edited_overlay.py").write_text(text + change)
        stored += made_here(run_scenario(scenario, 0).result for scenario in (mine, POOR))
    found = select_runs(Results(stored).each())
    assert len(found) == 2
    assert all(one in found for one in stored[1:3])
