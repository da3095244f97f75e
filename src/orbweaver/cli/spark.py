"""Starts Spark for the commands that need it. Starting takes seconds, so the pipeline is imported
only when a command uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from orbweaver.cli.terminal import err
from orbweaver.core.errors import LAB, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def lab_imports() -> Iterator[None]:
    """Turn a failing import, for a plain install, into an error that says what to install."""
    try:
        yield
    except ImportError:
        raise UsageError(f"this needs {LAB}") from None


def start_spark(
    master: str | None,
    command: str,
    conf: Sequence[str] | None = None,
    purpose: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark with the settings of `--conf`, and those of `purpose` if it is not running."""
    settings = parse_conf(conf or ())
    with lab_imports():
        from orbweaver.pipeline.session import spark_session
    with err.status("starting Spark"):
        return spark_session(master, f"orbweaver {command}", settings, purpose=purpose)


def parse_conf(given: Sequence[str]) -> dict[str, str]:
    settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise UsageError(f"--conf '{text}' should look like spark.executor.memory=4g")
        settings[name] = value
    return settings
