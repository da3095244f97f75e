"""Makes Ctrl-C end a Spark job, not only the waiting for it.

An interrupt ends only the call that waits for a job. (PySpark's own handler, which `session`
removes, uses the connection that was interrupted, and fails.) The job would go on and write into a
folder that we are about to remove. So each job carries a tag. After an interrupt the job is
cancelled by its tag, and its last tasks are waited for.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

WAIT_SECONDS = 15.0
"""Longest wait in seconds for cancelled tasks. Spark ends the Python of a cancelled task after 2 s
(spark.python.task.killTimeout)."""

_numbers = itertools.count(1)


@contextmanager
def cancelled_on_failure(spark: SparkSession) -> Iterator[None]:
    """Cancel the jobs that the body started if the body fails."""
    tag = f"orbweaver-{next(_numbers)}"
    _add_tag(spark, tag)
    try:
        yield
    except BaseException:
        with suppress(Exception):
            _cancel(spark, tag)
        raise
    finally:
        with suppress(Exception):
            _remove_tag(spark, tag)


def _add_tag(spark: SparkSession, tag: str) -> None:
    # A session's tags work over Connect only: elsewhere they belong to a thread of the JVM,
    # and after an interrupt we use a different thread. A job's tags stay with the job.
    if is_remote():
        spark.addTag(tag)
    else:
        spark.sparkContext.addJobTag(tag)


def _remove_tag(spark: SparkSession, tag: str) -> None:
    if is_remote():
        spark.removeTag(tag)
    else:
        spark.sparkContext.removeJobTag(tag)


def _cancel(spark: SparkSession, tag: str) -> None:
    if is_remote():
        spark.interruptTag(tag)
        return
    spark.sparkContext.cancelJobsWithTag(tag)
    # PySpark does not pass on how many tasks run, cancelled ones included; the JVM knows.
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if not sum(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
            return
        time.sleep(0.1)
