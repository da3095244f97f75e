"""Records, of whichever host, are measured as a store of runs is."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.measure import TABLES, measure
from orbweaver.pipeline.store import locate_store
from orbweaver.records import Records
from orbweaver.records.writers import write_records
from orbweaver.study.recorded import read_recorded
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

SCENARIO = Scenario(
    overlay="spidercast",
    workload=WorkloadSpec(nodes=30, topics=5, subscriptions_per_node="2"),
    publish=PublishSpec(per_topic=1),
    run=RunSpec(warmup_ms=1500, drain_ms=500),
)
ABOUT = {"overlay": "spidercast", "params": {}, "end_ms": 2050}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, in two folders of one."""
    made = tmp_path_factory.mktemp("clusters") / "twice"
    made.mkdir()
    for seed, format in ((0, "csv"), (1, "parquet")):
        records = run_scenario(SCENARIO, seed).outcome.records
        write_records(records, made / f"run{seed}", format, ABOUT)
    return made


def test_the_values_are_those_of_each_and_over_both(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    found = measure(spark, locate_store(str(folder)), tmp_path / "measured")
    assert set(found.tables) == set(TABLES)
    assert (found.tables["runs"], found.tables["topics"]) == (2, 10)
    runs = [run.result for run in read_recorded(folder)]
    assert {run.name for run in runs} == {"twice"}
    assert [run.seed for run in runs] == [0, 1]
    settings = {r["metric"]: r for r in _rows(spark, tmp_path / "measured" / "settings")}
    for metric in ("degree_mean", "components", "hit_ratio", "delay_hops_mean"):
        values = [run.metrics[metric] for run in runs]
        assert settings[metric]["seeds"] == 2
        assert settings[metric]["mean"] == pytest.approx(sum(values) / 2)
    assert {row["time_ms"] for row in settings.values()} == {1500}, "when states were noted"


def test_clusters_that_were_whole_at_different_times(spark: SparkSession, tmp_path: Path) -> None:
    for seed in (0, 1):
        run = replace(SCENARIO.run, warmup_ms=4000 + 100 * seed)
        records = run_scenario(replace(SCENARIO, run=run), seed).outcome.records
        (tmp_path / "both").mkdir(exist_ok=True)
        write_records(records, tmp_path / "both" / f"run{seed}", "csv", ABOUT | {"end_ms": 4600})
    measure(spark, locate_store(str(tmp_path / "both")), tmp_path / "measured")
    rows = _rows(spark, tmp_path / "measured" / "settings")
    assert {(row["time_ms"], row["seeds"]) for row in rows} == {(4000, 2)}


def test_a_moment_of_choice(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    measure(spark, locate_store(str(folder / "run0")), tmp_path / "early", at_ms=100)
    rows = {r["metric"]: r for r in _rows(spark, tmp_path / "early" / "values")}
    (early,) = read_recorded(folder / "run0", at_ms=100)
    assert rows["links"]["time_ms"] == 100
    assert rows["links"]["value"] == early.result.metrics["links"]


def test_records_without_a_node(tmp_path: Path) -> None:
    write_records(Records(), tmp_path / "nothing", "csv")
    with pytest.raises(UsageError, match="no node was ever up"):
        read_recorded(tmp_path / "nothing")


def _rows(spark: SparkSession, path: Path) -> list:
    return spark.read.parquet(str(path)).collect()
