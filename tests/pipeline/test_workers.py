"""A worker freezes its imports once, and collects next to nothing after each task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from orbweaver.pipeline.characterise import tdi
from orbweaver.pipeline.characterise.interests import interests
from orbweaver.pipeline.characterise.locality import locality
from orbweaver.pipeline.store import locate_store
from orbweaver.pipeline.sweep import sweep
from orbweaver.pipeline.synthesise.stage import rates
from orbweaver.pipeline.synthesise.traffic import Rates
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec


def on_workers(spark: SparkSession, action: Callable[[], int]) -> dict[int, int]:
    """Return what the action gives on each worker."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import time

        for _ in batches:
            time.sleep(0.05)  # so that no worker takes all of the tasks
            yield pa.RecordBatch.from_pylist([{"worker": os.getpid(), "found": action()}])

    rows = spark.range(0, 6, 1, 6).mapInArrow(run, "worker long, found long").collect()
    return {row["worker"]: row["found"] for row in rows}


def thaw() -> int:
    import gc

    from orbweaver.pipeline.workers import freeze_imports

    gc.unfreeze()
    freeze_imports.cache_clear()
    return 0


def frozen() -> int:
    import gc

    return gc.get_freeze_count()


def table(spark: SparkSession) -> DataFrame:
    pairs = [(f"n{node}", f"t{(node + i) % 20}") for node in range(20) for i in range(12)]
    return interests(spark.createDataFrame(pairs, "node string, topic string"))


def test_a_sweep_leaves_imports_frozen(spark: SparkSession, tmp_path: Path) -> None:
    """A run has its own use of the collector."""
    scenario = Scenario(
        overlay="spidercast",
        workload=WorkloadSpec(nodes=10, topics=4, subscriptions_per_node="2"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=1000, drain_ms=0),
    )
    on_workers(spark, thaw)
    assert sweep(spark, [(scenario, 0)], locate_store(str(tmp_path / "store"))).ran == 1
    assert any(on_workers(spark, frozen).values())


@pytest.mark.parametrize(
    "stage",
    [
        lambda spark: rates(spark, 100, Rates("uniform", 100, 0)).collect(),
        lambda spark: tdi.exact(table(spark), 3),
        lambda spark: tdi.approximate(table(spark), 3),
        lambda spark: locality(table(spark)),
    ],
    ids=["synthesise", "exact tdi", "tdi of a sample", "locality"],
)
def test_the_tasks_of_a_stage_freeze_imports(
    spark: SparkSession, stage: Callable[[SparkSession], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tdi, "DRIVER_MAX", 0)
    on_workers(spark, thaw)
    assert not any(on_workers(spark, frozen).values())
    stage(spark)
    assert any(on_workers(spark, frozen).values())
