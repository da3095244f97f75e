"""Starts the stream of a watch, follows it and ends it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark.sql import SparkSession

from orbweaver.pipeline.watch.batches import CountedBatch, Counting
from orbweaver.pipeline.watch.kept import State, WatchFolder
from orbweaver.pipeline.watch.source import FOLDER, LiveRecords

LOOK_SECONDS = 0.2
"""Seconds between two looks at whether the stream has ended."""
TOO_SLOW = "Python worker failed to connect back"
"""What Spark says if the Python that reads the files has not started within ten seconds."""
STARTS = 30
"""How often the stream is started on a machine that is too busy for that."""


def watch(
    spark: SparkSession,
    records: Path,
    folder: WatchFolder,
    told: Callable[[CountedBatch], None],
    every_s: float = 5.0,
    once: bool = False,
) -> State:
    """Count what nodes write, batch by batch, until Ctrl-C, and return the last state.

    With `once`, the watch ends when everything was counted that was there when it began. `told` is
    called after each batch.
    """
    folder.check(records)
    folder.create()
    spark.dataSource.register(LiveRecords)
    error = None
    with _interrupted() as interrupted:
        for _ in range(STARTS):
            # A batch that was begun before is all that Spark repeats when it is to end by itself.
            again = once and folder.has_open_batch()
            counting = Counting(folder, folder.load(records), told)
            error = _follow(spark, records, folder, counting, every_s, once, interrupted)
            if interrupted.is_set() or (error is None and not again):
                break
            if error is not None and TOO_SLOW not in str(error):
                break
    if error is not None:
        raise error
    return counting.state


def _follow(
    spark: SparkSession,
    records: Path,
    folder: WatchFolder,
    counting: Counting,
    every_s: float,
    once: bool,
    interrupted: threading.Event,
) -> Exception | None:
    """Run the stream until it ends, and return why if it is for an error."""
    stream = (
        spark.readStream.format(LiveRecords.name())
        .option(FOLDER, str(records.resolve()))
        .load()
        .writeStream.foreachBatch(counting.take)
        .option("checkpointLocation", f"file:{folder.checkpoint}")
    )
    every = f"{round(1000 * every_s)} milliseconds"
    timed = stream.trigger(availableNow=True) if once else stream.trigger(processingTime=every)
    query = timed.start()
    try:
        while query.isActive and not interrupted.wait(LOOK_SECONDS):
            pass
    finally:
        with counting.between_batches(), suppress(Exception):
            query.stop()
    return None if interrupted.is_set() else query.exception()


@contextmanager
def _interrupted() -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into an event, so that the batch that is running can end. A second
    one does not wait for it."""
    event = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def interrupt(*_: object) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = [signal.signal(one, interrupt) for one in signals]
    try:
        yield event
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)
