"""Reads what `orbweaver measure` wrote, for a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.core.errors import LAB, UsageError
from orbweaver.study.claims import gather
from orbweaver.study.run import Result

SHOWN = 4
"""Most settings with a plot of their topics; more would hide each other."""


class Measured(msgspec.Struct, frozen=True):
    code: str
    """The version of the code that made the runs."""
    store: str
    """The store that the runs were read from."""
    results: list[Result]
    topics: dict[str, list[tuple[int, int]]]
    """Setting -> (nodes, diameter) of each topic at the last snapshot of one run."""


def read_measured(folder: Path) -> Measured:
    runs = _read(folder, "runs", ["run", "code", "result"])
    results = [msgspec.json.decode(row["result"], type=Result) for row in runs]
    results.sort(key=lambda result: (result.name, result.fingerprint, result.seed))
    chosen: dict[str, str] = {}
    for label, one in list(gather(results).items())[:SHOWN]:
        chosen[one.results[max(one.xs)][0].run_id] = label
    return Measured(runs[0]["code"], _store(folder), results, _topics(folder, chosen))


def _store(folder: Path) -> str:
    about = folder / "dataset.json"  # not there in tables made by hand
    return str(json.loads(about.read_text("utf-8"))["store"]) if about.exists() else "store"


def _topics(folder: Path, labels: dict[str, str]) -> dict[str, list[tuple[int, int]]]:
    import pyarrow.compute as pc

    columns = ["run", "time_ms", "nodes", "diameter"]
    wanted = pc.field("run").isin(list(labels))
    rows = _read(folder, "topics", columns, wanted)
    last: dict[str, int] = {}
    for row in rows:
        last[row["run"]] = max(last.get(row["run"], 0), row["time_ms"])
    points: dict[str, list[tuple[int, int]]] = {label: [] for label in labels.values()}
    for row in rows:
        if row["time_ms"] == last[row["run"]]:
            points[labels[row["run"]]].append((row["nodes"], row["diameter"]))
    return {label: sorted(pairs) for label, pairs in points.items()}


def _read(folder: Path, name: str, columns: list[str], rows: Any = None) -> list[dict[str, Any]]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(f"this needs {LAB}") from None
    if not (folder / name).is_dir():
        raise UsageError(f"{folder} has no table '{name}'; 'orbweaver measure' makes one")
    found: list[dict[str, Any]] = pq.read_table(
        folder / name, columns=columns, filters=rows
    ).to_pylist()
    return found
