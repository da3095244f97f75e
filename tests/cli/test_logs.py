"""Logs go to stderr, as lines or as JSON, and nothing that a peer says can forge a line."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from orbweaver.cli.logs import configure_logs
from orbweaver.core.errors import UsageError

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    logger = logging.getLogger("asyncio")
    before = (logger.handlers[:], logger.level, logger.propagate)
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
    logger.handlers[:], logger.level, logger.propagate = before


def lines(capsys: Capture) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def parsed(capsys: Capture) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(capsys)]


def test_a_later_set_up_holds_for_loggers_in_use(capsys: Capture) -> None:
    log = structlog.get_logger()
    configure_logs("json", level="warning")
    log.warning("first")
    configure_logs("json", level="error")
    log.warning("second")
    assert [found["event"] for found in parsed(capsys)] == ["first"]


def test_json_is_one_object_for_each_line(capsys: Capture) -> None:
    configure_logs("json")
    structlog.get_logger().warning("peer lost", peer="00ab", waited_ms=250, odd=b"\xff")
    (found,) = parsed(capsys)
    assert found.pop("timestamp").endswith("Z")
    assert found == {
        "event": "peer lost",
        "level": "warning",
        "peer": "00ab",
        "waited_ms": 250,
        "odd": repr(b"\xff"),
    }


def test_console_is_a_line_for_people(capsys: Capture) -> None:
    configure_logs("console")
    structlog.get_logger().info("listening", address="127.0.0.1:7700")
    (line,) = lines(capsys)
    assert "[info     ] listening" in line
    assert "address='127.0.0.1:7700'" in line
    assert "\x1b" not in line, "no colours where there is no terminal"


@pytest.mark.parametrize("format", ["console", "json"])
def test_a_peer_cannot_write_lines_of_its_own(format: Any, capsys: Capture) -> None:
    configure_logs(format)
    structlog.get_logger().info("refused", said="x\n2026 [info] all is well\x1b[2J")
    (line,) = lines(capsys)
    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("level", "kept"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("WARNING", ["warning", "error"]),
        ("error", ["error"]),
        ("critical", []),
    ],
)
def test_levels(level: str, kept: list[str], capsys: Capture) -> None:
    configure_logs("json", level)
    log = structlog.get_logger()
    for name in ("debug", "info", "warning", "error"):
        getattr(log, name)("said")
    assert [found["level"] for found in parsed(capsys)] == kept


@pytest.mark.parametrize("format", ["console", "json"])
def test_a_traceback_shows_no_variables(format: Any, capsys: Capture) -> None:
    configure_logs(format)
    secret_key = "hunter" + "2"
    try:
        raise ValueError(len(secret_key))
    except ValueError:
        structlog.get_logger().exception("failed")
    err = capsys.readouterr().err
    assert "ValueError: 7" in err
    assert "raise ValueError" in err
    assert secret_key not in err


@pytest.mark.parametrize("format", ["console", "json"])
def test_asyncio_speaks_through_the_same_renderer(format: Any, capsys: Capture) -> None:
    configure_logs(format)
    configure_logs(format)  # twice must not mean each line twice

    async def main() -> None:
        error = KeyError("lost")
        context = {"message": "Task was never retrieved", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)

    asyncio.run(main())
    found = lines(capsys)
    assert sum("Task was never retrieved" in line for line in found) == 1
    assert sum("KeyError: 'lost'" in line for line in found) == 1
    if format == "json":
        (line,) = found
        assert json.loads(line)["logger"] == "asyncio"
        assert json.loads(line)["level"] == "error"
    else:
        assert "[asyncio]" in found[0]


def test_asyncio_is_filtered_like_the_rest(capsys: Capture) -> None:
    configure_logs("json", "error")
    logging.getLogger("asyncio").warning("slow callback")
    assert lines(capsys) == []


def test_a_stderr_that_is_gone_does_not_stop_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, line: str) -> None:
            tried.append(line)
            raise BrokenPipeError

    tried: list[str] = []
    configure_logs("json")
    monkeypatch.setattr(sys, "stderr", Gone())
    structlog.get_logger().error("anybody there?")
    logging.getLogger("asyncio").error("hello?")
    assert len(tried) == 2


@pytest.mark.parametrize(
    ("format", "level", "complaint"),
    [
        ("console", "warnings", "unknown log level 'warnings': did you mean 'warning'?"),
        ("xml", "info", "unknown log format 'xml': known: console, json"),
    ],
)
def test_mistakes(format: Any, level: str, complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        configure_logs(format, level)
    assert str(raised.value) == complaint
    assert not structlog.is_configured()
