"""Shows how far a Spark job is.

The jobs inside `job_progress` are one job group. A thread asks Spark's status tracker how many
tasks of the group are done, and updates a bar on stderr. A failure of the bar never fails or delays
the job.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

if TYPE_CHECKING:
    from rich.console import Console

POLL_SECONDS = 0.25
"""Seconds between two looks at the tracker; each look is a handful of calls into the JVM."""

GROUP = ("spark.jobGroup.id", "spark.job.description")

_numbers = itertools.count(1)

Moved = Callable[[int, int], None]
"""Called with the number of tasks done and of tasks known."""


class Tracker(Protocol):
    """The part of `pyspark.StatusTracker` that is used here."""

    def getJobIdsForGroup(self, jobGroup: str | None = None) -> list[int]: ...
    def getJobInfo(self, jobId: int) -> Any: ...
    def getStageInfo(self, stageId: int) -> Any: ...


@contextmanager
def job_progress(spark: SparkSession, label: str, console: Console | None = None) -> Iterator[None]:
    """Show a bar while the body runs jobs. Shows nothing if stderr is no terminal; never raises."""
    with ExitStack() as ending:
        with suppress(Exception):
            _begin(ending, spark, label, console)
        yield


@contextmanager
def watched_tasks(spark: SparkSession, label: str, moved: Moved) -> Iterator[None]:
    """Call `moved` with the numbers of tasks while the body runs jobs; never raises."""
    with ExitStack() as ending:
        with suppress(Exception):
            if is_remote():
                _follow_server(ending, spark, moved)
            else:
                group = _enter_group(ending, spark, label)
                _follow_tracker(ending, spark.sparkContext.statusTracker(), group, moved)
        yield


def count_tasks(tracker: Tracker, group: str) -> tuple[int, int]:
    """Return the tasks done and the tasks known, over all jobs of the group so far."""
    counted: dict[int, tuple[int, int]] = {}
    for job_id in tracker.getJobIdsForGroup(group):
        job = tracker.getJobInfo(job_id)
        found = [tracker.getStageInfo(stage_id) for stage_id in job.stageIds] if job else []
        stages = [stage for stage in found if stage is not None]
        begun = {s.stageId for s in stages if s.numActiveTasks + s.numCompletedTasks > 0}
        # Stages are numbered in the order in which they run. One that was passed over is
        # skipped, since an earlier job left its result behind: its tasks will never run.
        reached = max(begun, default=-1)
        for s in stages:
            if s.stageId in begun or s.stageId > reached:
                counted[s.stageId] = s.numCompletedTasks, s.numTasks
    return sum(done for done, _ in counted.values()), sum(total for _, total in counted.values())


def _begin(ending: ExitStack, spark: SparkSession, label: str, console: Console | None) -> None:
    # Here, since workers import this module too, and have no terminal.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = console or Console(stderr=True)
    if not console.is_terminal:
        # The group is set all the same: it names the jobs in Spark's own UI and logs.
        if not is_remote():
            _enter_group(ending, spark, label)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    # What the body prints goes around the bar, but not with it: stdout may be a file.
    bar = Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    task = bar.add_task(label, total=None)
    bar.start()
    ending.callback(_quietly, bar.stop)

    def moved(done: int, total: int) -> None:
        # Tasks are known of as their jobs are planned, so that the end may move away.
        bar.update(task, completed=done, total=total or None)

    ending.enter_context(watched_tasks(spark, label, moved))


def _enter_group(ending: ExitStack, spark: SparkSession, label: str) -> str:
    context = spark.sparkContext
    before = [(key, context.getLocalProperty(key)) for key in GROUP]
    group = f"{label} {next(_numbers)}"

    def leave() -> None:
        for key, value in before:
            # No value unsets it, which the declared type does not know.
            context.setLocalProperty(key, value)  # type: ignore[arg-type]

    context.setJobGroup(group, label)
    ending.callback(_quietly, leave)
    return group


def _follow_tracker(ending: ExitStack, tracker: Tracker, group: str, moved: Moved) -> None:
    over = threading.Event()

    def look() -> None:
        last = False
        told = (0, 0)
        while not last:
            last = over.wait(POLL_SECONDS)
            # Spark may not know a stage yet, or not any more, or be about to stop.
            with suppress(Exception):
                counted = count_tasks(tracker, group)
                if counted != told:
                    moved(*counted)
                told = counted

    thread = threading.Thread(target=look, name="orbweaver-progress", daemon=True)
    thread.start()

    def end() -> None:
        over.set()
        thread.join(timeout=2)

    ending.callback(_quietly, end)


def _follow_server(ending: ExitStack, spark: SparkSession, moved: Moved) -> None:
    """Follow the progress that a Connect server reports, since it has no tracker."""

    def told(stages: Iterable[Any] | None, **_: Any) -> None:
        with suppress(Exception):
            known = list(stages or ())
            moved(sum(s.num_completed_tasks for s in known), sum(s.num_tasks for s in known))

    spark.registerProgressHandler(told)  # type: ignore[arg-type]
    ending.callback(_quietly, spark.removeProgressHandler, told)


def _quietly(action: Callable[..., object], *arguments: Any) -> None:
    with suppress(Exception):
        action(*arguments)
