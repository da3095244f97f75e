"""What a watch says of the last hour: a small file, and a page that shows it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.report.page import Page

SUMMARY, PAGE = "watch.json", "index.html"
"""Names of the file and of the page, in the folder of a watch."""
COLUMNS = (
    "published", "delivered", "duplicates", "owed", "delivery ratio", "p50 ms", "p95 ms",
    "p99 ms", "control bytes",
)  # fmt: skip

TopicRow = dict[str, Any]


class WatchSummary(msgspec.Struct, frozen=True):
    records: str
    """The folder that is watched."""
    batch: int
    """The number of the last batch."""
    newest_ms: int
    """Time of the latest line that was read, in milliseconds since 1970."""
    nodes_up: int
    nodes_silent: int
    """Nodes among those up that have written nothing lately: killed, stuck or cut off."""
    lines: int
    """Lines read since the beginning."""
    damaged: int
    """Lines that cannot be read."""
    missing: int
    """Lines that nodes could not write."""
    late: int
    """Publications that were read when their minute was closed, and do not count."""
    unknown: int
    """Deliveries and copies of events whose publication was not found."""
    minutes: list[dict[str, Any]]
    """The minutes of the last hour over all topics, as in the table."""
    topics: list[TopicRow]
    """The topics of the last hour (`over_topics`)."""


def over_topics(rows: Iterable[Mapping[str, Any]]) -> list[TopicRow]:
    """Sum up the rows of each topic, those with the most missed deliveries first. Percentiles of
    several minutes have no sum: they are those of the topic's worst minute."""
    found: dict[str, TopicRow] = {}
    for row in rows:
        one = found.setdefault(row["topic"], {"topic": row["topic"], "control_bytes": None})
        for name in ("published", "delivered", "duplicates", "owed", "met"):
            one[name] = one.get(name, 0) + row[name]
        for name in ("delay_ms_p50", "delay_ms_p95", "delay_ms_p99", "delay_ms_max"):
            known = [ms for ms in (one.get(name), row[name]) if ms is not None]
            one[name] = max(known, default=None)
    for one in found.values():
        one["delivery_ratio"] = one["met"] / one["owed"] if one["owed"] else None
    return sorted(found.values(), key=lambda one: (one["met"] - one["owed"], one["topic"]))


def read_watched(folder: Path) -> WatchSummary:
    path = folder / SUMMARY if folder.is_dir() else folder
    try:
        return msgspec.json.decode(path.read_bytes(), type=WatchSummary)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: {reason}; 'orbweaver watch' writes it") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} was not written by 'orbweaver watch': {error}") from None


def lead(found: WatchSummary) -> str:
    silent = f", {found.nodes_silent:,} of them silent" if found.nodes_silent else ""
    return (
        f"{found.nodes_up:,} nodes up{silent}; {found.lines:,} lines read, the latest of "
        f"{clock(found.newest_ms)}"
    )


def trouble(found: WatchSummary) -> list[str]:
    """Return what should not be, in sentences without a point."""
    meanings = {
        "damaged": "lines cannot be read",
        "missing": "lines are missing, since their nodes could not write them",
        "late": "publications came when their minute was closed, and do not count",
        "unknown": "deliveries and copies are of events whose publication was not found",
    }
    return [f"{n:,} {text}" for name, text in meanings.items() if (n := getattr(found, name))]


def cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of `COLUMNS`."""
    # Rounded down, since all but one is not all.
    ratio = row["met"] * 10_000 // row["owed"] / 100 if row["owed"] else None
    numbers = (row[name] for name in ("published", "delivered", "duplicates", "owed"))
    delays = (row[f"delay_ms_{name}"] for name in ("p50", "p95", "p99"))
    return [
        *(f"{n:,}" for n in numbers),
        "-" if ratio is None else f"{ratio:.2f} %",
        *("-" if ms is None else f"{ms:,.0f}" for ms in delays),
        "-" if row["control_bytes"] is None else f"{row['control_bytes']:,}",
    ]


def clock(time_ms: int, format: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    return datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC).strftime(format)


def minute_rows(found: WatchSummary) -> Sequence[Sequence[str]]:
    """Return the minutes as rows of a table, the latest first."""
    return [(clock(row["minute_ms"], "%H:%M"), *cells(row)) for row in reversed(found.minutes)]


def topic_rows(found: WatchSummary) -> Sequence[Sequence[str]]:
    return [(row["topic"], *cells(row)) for row in found.topics]


def write_watched(path: Path, found: WatchSummary) -> None:
    """Write the page. It shows the time at which it was written; to see a later one, reload it."""
    page = Page("The last hour", lead(found))
    for text in trouble(found):
        page.text(f"{text}.")
    page.heading("By minute of publication")
    page.table(("UTC", *COLUMNS), minute_rows(found))
    page.heading("By topic")
    page.text("Latencies are those of the topic's worst minute.")
    page.table(("topic", *COLUMNS), topic_rows(found))
    page.write(path, f"orbweaver watch {found.records}, batch {found.batch}")
