"""Spark for the commands that need it. Starting it takes seconds and the other commands do
without, so that nothing of the pipeline is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from orbweaver.cli.terminal import err
from orbweaver.core.errors import LAB, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def lab_imports() -> Iterator[None]:
    """Around imports that a plain install does not have."""
    try:
        yield
    except ImportError:
        raise UsageError(f"this needs {LAB}") from None


def start_spark(master: str | None, command: str) -> SparkSession:
    with lab_imports():
        from orbweaver.pipeline.session import spark_session
    with err.status("starting Spark"):
        return spark_session(master, f"orbweaver {command}")
