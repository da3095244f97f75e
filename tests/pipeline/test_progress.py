"""The bar: right where there is a terminal, nothing where there is none, harmless always."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from orbweaver.pipeline import progress
from orbweaver.pipeline.progress import count_tasks, job_progress


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def printed(by: Console) -> str:
    assert isinstance(by.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", by.file.getvalue())


def slow_job(spark: SparkSession) -> int:
    def wait(batches: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        import time

        for batch in batches:
            time.sleep(0.3)
            yield batch

    return spark.range(0, 6, 1, 6).mapInPandas(wait, "id long").count()


class Stage(NamedTuple):
    stageId: int
    numTasks: int
    numActiveTasks: int
    numCompletedTasks: int


class Job(NamedTuple):
    stageIds: list[int]


class Tracker:
    """What Spark would say."""

    def __init__(self, jobs: dict[int, list[int]], *stages: Stage) -> None:
        self.jobs = jobs
        self.stages = {stage.stageId: stage for stage in stages}

    def getJobIdsForGroup(self, jobGroup: str | None = None) -> list[int]:
        return [*self.jobs, 99]

    def getJobInfo(self, jobId: int) -> Any:
        return Job(self.jobs[jobId]) if jobId in self.jobs else None

    def getStageInfo(self, stageId: int) -> Any:
        return self.stages.get(stageId)


@pytest.mark.parametrize(
    ("tracker", "expected"),
    [
        (Tracker({}), (0, 0)),
        (Tracker({1: [1, 2]}, Stage(1, 8, 2, 3), Stage(2, 4, 0, 0)), (3, 12)),
        (Tracker({1: [1, 7]}, Stage(1, 8, 2, 3)), (3, 8)),
        # The second job finds the first one's result: stage 2 is passed over.
        (
            Tracker({1: [1], 2: [2, 3]}, Stage(1, 8, 0, 8), Stage(2, 8, 0, 0), Stage(3, 1, 1, 0)),
            (8, 9),
        ),
        (Tracker({1: [1], 2: [1, 2]}, Stage(1, 8, 0, 8), Stage(2, 1, 0, 1)), (9, 9)),
    ],
    ids=["nothing yet", "one under way", "a stage unknown", "a stage skipped", "a stage shared"],
)
def test_counting(tracker: Tracker, expected: tuple[int, int]) -> None:
    assert count_tasks(tracker, "any") == expected


def test_a_bar_moves(spark: SparkSession) -> None:
    shown = console(terminal=True)
    with job_progress(spark, "simulate", shown):
        assert slow_job(spark) == 6
    assert "simulate" in printed(shown)
    steps = [(int(a), int(b)) for a, b in re.findall(r"(\d+)/(\d+)", printed(shown))]
    # Spark tells of a task a little after its end, so that the last may come too late.
    assert any(0 < done < total for done, total in steps)
    assert max(done for done, _ in steps) >= 4
    assert "orbweaver-progress" not in [thread.name for thread in threading.enumerate()]


def test_no_terminal_no_bar(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    shown = console(terminal=False)
    with job_progress(spark, "simulate", shown):
        assert spark.range(3).count() == 3
    with job_progress(spark, "simulate"):
        assert spark.range(3).count() == 3
    assert printed(shown) == ""
    assert capfd.readouterr() == ("", "")


def test_the_group_is_named_and_left(spark: SparkSession) -> None:
    context = spark.sparkContext
    before = [context.getLocalProperty(key) for key in progress.GROUP]
    with job_progress(spark, "outer", console(False)):
        outer = context.getLocalProperty("spark.jobGroup.id")
        assert context.getLocalProperty("spark.job.description") == "outer"
        with job_progress(spark, "inner", console(False)):
            assert context.getLocalProperty("spark.jobGroup.id") != outer
        assert context.getLocalProperty("spark.jobGroup.id") == outer
    assert [context.getLocalProperty(key) for key in progress.GROUP] == before


def test_the_body_may_raise(spark: SparkSession) -> None:
    with pytest.raises(ZeroDivisionError), job_progress(spark, "simulate", console(True)):
        _ = 1 / 0


@pytest.mark.parametrize("terminal", [True, False])
def test_trouble_with_the_bar_is_no_trouble(terminal: bool) -> None:
    done = False
    with job_progress(None, "simulate", console(terminal)):  # type: ignore[arg-type]
        done = True
    assert done


def test_a_tracker_that_fails_is_asked_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)

    def count(tracker: object, group: str) -> tuple[int, int]:
        asked.append(group)
        if len(asked) == 1:
            raise RuntimeError("not yet")
        return 2, 2

    monkeypatch.setattr(progress, "count_tasks", count)
    shown = console(terminal=True)
    with job_progress(spark, "simulate", shown):
        threading.Event().wait(0.5)
    assert "2/2" in printed(shown)
