"""Logs go to stderr through structlog, as lines for people or as JSON for machines.

The commands set this up; a node embedded in a program logs as `orbweaver.net.logger` says. Text
from peers is quoted, so that a peer cannot write lines of its own into the log. Tracebacks show no
variables, since some of them are keys.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any, Literal

import structlog
from structlog.dev import plain_traceback
from structlog.stdlib import ProcessorFormatter
from structlog.typing import Processor

from orbweaver.core.errors import UsageError, nearest

Format = Literal["console", "json"]
LEVELS = ("debug", "info", "warning", "error", "critical")


def configure_logs(format: Format = "console", level: str = "info") -> None:
    """Set up logging for this process. A later call takes the place of an earlier one."""
    if level.lower() not in LEVELS:
        raise UsageError(f"unknown log level '{level}': {nearest(level.lower(), LEVELS)}")
    if format not in ("console", "json"):
        raise UsageError(f"unknown log format '{format}': {nearest(format, ('console', 'json'))}")
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers = _renderers(format)
    structlog.configure(
        processors=[*shared, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=_Stderr,
    )
    _adopt(logging.getLogger("asyncio"), number, shared, renderers)


def _renderers(format: Format) -> list[Processor]:
    if format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return [
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), repr_native_str=True, exception_formatter=plain_traceback
        )
    ]


def _adopt(
    logger: logging.Logger, level: int, shared: list[Processor], renderers: list[Processor]
) -> None:
    """Let a logger of the standard library write through the same renderer."""
    handler = _Handler()
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    for old in [h for h in logger.handlers if isinstance(h, _Handler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False


class _Stderr:
    """Write to whatever stderr is at the moment. A failure to write a log must not stop a node."""

    def __init__(self, *_: Any) -> None:
        pass

    def msg(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = msg


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _Stderr().msg(self.format(record))
