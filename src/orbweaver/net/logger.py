"""What a node logs goes where the program wants it; a library sets up no logs.

In a program that has configured structlog, as the commands of `orbweaver.cli` do, lines go there.
In any other program they go to the logger `orbweaver` of the standard library, which shows
warnings on stderr unless it is told otherwise.
"""

from __future__ import annotations

import logging
from typing import Any

import structlog

_standard = logging.getLogger("orbweaver")
_structured = structlog.get_logger()


class Logger:
    """A logger for events with facts: `log.warning("peer lost", peer=id)`."""

    def info(self, event: str, **facts: Any) -> None:
        if structlog.is_configured():
            _structured.info(event, **facts)
        else:
            _standard.info("%s", _Line(event, facts))

    def warning(self, event: str, **facts: Any) -> None:
        if structlog.is_configured():
            _structured.warning(event, **facts)
        else:
            _standard.warning("%s", _Line(event, facts))

    def exception(self, event: str, **facts: Any) -> None:
        """Log the exception that is being handled, with its traceback."""
        if structlog.is_configured():
            _structured.exception(event, **facts)
        else:
            _standard.exception("%s", _Line(event, facts))


class _Line:
    """One line of text, made only if it is shown. Values are quoted, so that text from peers
    cannot look like lines of its own."""

    def __init__(self, event: str, facts: dict[str, Any]) -> None:
        self._event = event
        self._facts = facts

    def __str__(self) -> str:
        return " ".join(
            [self._event, *(f"{name}={value!r}" for name, value in self._facts.items())]
        )
