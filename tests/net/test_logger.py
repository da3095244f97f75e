"""What an embedded node logs goes where the program wants it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from orbweaver.net.logger import Logger

log = Logger()


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def test_structlog_has_it_where_the_program_set_it_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []

    def take(_: Any, __: str, event: Any) -> Any:
        seen.append(f"{event['event']} {event['of']}")
        raise structlog.DropEvent

    structlog.configure(processors=[take])
    log.info("mine", of=7)
    assert seen == ["mine 7"]
    assert not caplog.records


def test_else_the_standard_library_has_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "orbweaver"):
        log.info("refused", said="x\n2026 [info] all is well")
    assert caplog.messages == ["refused said='x\\n2026 [info] all is well'"]
    assert not structlog.is_configured()


def test_a_traceback_comes_along(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("odd")
    except ValueError:
        log.exception("failed")
    assert "ValueError: odd" in caplog.text


def test_without_any_set_up_only_warnings_show(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("orbweaver")
    before = logger.propagate
    logger.propagate = False  # past pytest's own handlers, to the handler of last resort
    try:
        log.info("chatter")
        log.warning("trouble", peer="00ab")
    finally:
        logger.propagate = before
    assert capfd.readouterr() == ("", "trouble peer='00ab'\n")
