"""The last hour of a watch: summed up, as a page, and as `orbweaver status --watch` prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from orbweaver.cli.main import make_app
from orbweaver.core.errors import UsageError
from orbweaver.report.watched import WatchSummary, over_topics, read_watched, write_watched

MINUTE = 1_700_000_040_000


def row(topic: str, minute: int = 0, **given: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "minute_ms": MINUTE + 60_000 * minute, "topic": topic, "published": 4, "delivered": 8,
        "duplicates": 2, "owed": 8, "met": 8, "delivery_ratio": 1.0, "delay_ms_p50": 5.0,
        "delay_ms_p95": 9.0, "delay_ms_p99": 9.0, "delay_ms_max": 9.0, "control_bytes": None,
    }  # fmt: skip
    return whole | given


def summary() -> WatchSummary:
    return WatchSummary(
        records="/srv/records", batch=7, newest_ms=MINUTE + 65_000, nodes_up=10, nodes_silent=1,
        lines=123_456, damaged=0, missing=0, late=0, unknown=3,
        minutes=[
            row("", control_bytes=5000),
            row("", 1, owed=3000, met=2999, delivery_ratio=2999 / 3000, control_bytes=0),
        ],
        topics=over_topics([row("<news>"), row("<news>", 1), row("sport", 1, met=7)]),
    )  # fmt: skip


def test_topics_are_summed_up_with_the_worst_first() -> None:
    quiet = {"owed": 0, "met": 0, "delay_ms_p95": None}
    found = over_topics(
        [row("a", delay_ms_p95=90.0), row("a", 1, owed=10), row("b", met=1), row("c", **quiet)]
    )
    assert [(one["topic"], one["published"], one["owed"], one["met"]) for one in found] == [
        ("b", 4, 8, 1), ("a", 8, 18, 16), ("c", 4, 0, 0),
    ]  # fmt: skip
    assert [one["delivery_ratio"] for one in found] == [1 / 8, 16 / 18, None]
    assert [one["delay_ms_p95"] for one in found] == [9.0, 90.0, None]


def test_status_shows_a_watch(tmp_path: Path) -> None:
    (tmp_path / "watch.json").write_bytes(msgspec.json.encode(summary()))

    def status(*options: str) -> Any:
        arguments = ["status", "--watch", str(tmp_path), *options]
        done = CliRunner().invoke(make_app("status"), arguments, catch_exceptions=False)
        assert done.exit_code == 0
        return done

    done = status()
    assert "10 nodes up, 1 of them silent; 123,456 lines read, the latest of 2023-11-14 22:15" in (
        done.stdout
    )
    assert done.stdout.index("22:15 ") < done.stdout.index("22:14 "), "the latest minute first"
    assert "99.96 %" in done.stdout, "a missed delivery is not rounded away"
    assert "3 deliveries and copies are of events whose publication was not found" in done.stderr
    assert json.loads(status("--json").stdout) == msgspec.to_builtins(summary())


def test_the_page_of_a_watch(tmp_path: Path) -> None:
    write_watched(tmp_path / "index.html", summary())
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "99.96 %" in page
    assert "&lt;news&gt;" in page
    assert "<news>" not in page
    assert "orbweaver watch /srv/records, batch 7" in page


def test_what_is_no_watch(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file.*'orbweaver watch' writes it"):
        read_watched(tmp_path)
    (tmp_path / "watch.json").write_text("{}")
    with pytest.raises(UsageError, match="was not written by 'orbweaver watch'"):
        read_watched(tmp_path)
