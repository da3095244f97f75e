"""Read runs from records on disk, which live clusters or earlier simulations wrote."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from orbweaver import __version__
from orbweaver.core.errors import UsageError
from orbweaver.core.identifiers import PLACE_OF_NODE, places_of_run
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.records import Records
from orbweaver.records.writers import has_records, read_about, read_records
from orbweaver.study.run import Result, Run, measure_records


@dataclasses.dataclass(frozen=True)
class Recorded:
    result: Result
    looks: list[Snapshot]


def read_recorded(folder: Path, at_ms: int | None = None) -> list[Recorded]:
    """Read the run whose records are in a folder, or the runs in the folders inside it.

    A simulation keeps its identity. Clusters that ran the same overlay with the same parameters
    count as repetitions of each other.
    """
    name = folder.resolve().name
    return [read_run(f, name, number, at_ms) for number, f in enumerate(record_folders(folder))]


def read_run(folder: Path, name: str, number: int = 0, at_ms: int | None = None) -> Recorded:
    """Read the run whose records are in a folder."""
    return recorded(read_records(folder), read_about(folder), name, number, at_ms)


def about_run(run: Run) -> dict[str, Any]:
    """Return what is needed, besides its records, to measure a simulation again as it was measured
    when it ran."""
    return {
        "overlay": run.result.overlay,
        "params": run.result.params,
        "seed": run.result.seed,
        "fingerprint": run.result.fingerprint,
        "end_ms": run.outcome.end_ms,
        "snapshots_ms": [look.time_ms for look in run.looks],
        "young_ms": run.scenario.run.young_ms,
        "tdi": run.scenario.run.tdi,
    }


def holds_records(folder: Path) -> bool:
    return bool(record_folders(folder))


def record_folders(folder: Path) -> list[Path]:
    """Return the folders with records: this one, or those in it."""
    return [f for f in (folder, *sorted(folder.glob("*/"))) if has_records(f)]


def recorded(
    records: Records,
    about: Mapping[str, Any],
    name: str,
    number: int = 0,
    at_ms: int | None = None,
) -> Recorded:
    """Measure records at a moment. Without `at_ms` a simulation is measured at its own snapshots,
    and a cluster at the last moment at which it was whole."""
    if not len(records["nodes"]):
        raise UsageError(f"{name}: no node was ever up")
    end_ms = about.get("end_ms") or _end_ms(records)
    whole = None if "snapshots_ms" in about else whole_ms(records, end_ms)
    times = [whole] if whole is not None else about["snapshots_ms"]
    overlay, params = about.get("overlay", ""), about.get("params", {})
    places = places_of_run(about["seed"]) if "seed" in about else PLACE_OF_NODE
    looks, measured = measure_records(
        records,
        times if at_ms is None else [at_ms],
        end_ms,
        about.get("young_ms", 0),
        about.get("tdi", 0),
        whole,
        overlay,
        places,
    )
    named = msgspec.json.encode([name, overlay, params], order="deterministic")
    fingerprint = about.get("fingerprint", "")
    result = Result(
        name=name,
        overlay=overlay,
        params=params,
        nodes=len(set(records["nodes"]["node"])),
        topics=len(set(records["interests"]["topic"])),
        seed=about["seed"] if fingerprint else number,
        wall_seconds=end_ms / 1000,
        events=0,
        complete=True,
        fingerprint=fingerprint or blake2b(named, digest_size=16).hexdigest(),
        version=__version__,
        **measured,
    )
    return Recorded(result, looks)


def whole_ms(records: Records, end_ms: int) -> int:
    """The last moment at which as many nodes were up as ever, before the first of them was
    stopped; one at which states were noted, if there is any."""
    up = most = since = 0
    until = end_ms
    for time, _, kind in records["nodes"].rows():
        if kind == "join":
            up += 1
            if up >= most:
                most, since, until = up, time, end_ms
        else:
            if up == most:
                until = max(since, time - 1)
            up -= 1
    noted: Sequence[int] = records["states"]["time_ms"]
    return max((time for time in noted if since <= time <= until), default=until)


def _end_ms(records: Records) -> int:
    tables = (table for name, table in records.tables.items() if "time_ms" in table.columns)
    return max(max(table["time_ms"], default=0) for table in tables)
