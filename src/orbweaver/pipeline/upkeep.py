"""Looks after a store: finds damage, makes large files of small ones, converts earlier stores."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import RemoveAction
from pyarrow import fs

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.store import (
    BEFORE_DELTA,
    DAMAGED,
    LOOKS,
    RESULTS,
    Key,
    RunStore,
    kind_of,
)
from orbweaver.study.results import read_results

AT_ONCE = 200
"""How many runs of an earlier store are committed together."""


def damaged(store: RunStore, thorough: bool = False) -> dict[str, str]:
    """Return the files of a store that cannot be read, each with the reason. Only sizes are
    compared unless the check is to be `thorough`, which reads every file."""
    present = {
        info.path: info.size
        for kind in (LOOKS, RESULTS)
        for info in store.files.get_file_info(fs.FileSelector(kind, allow_not_found=True))
    }
    bad = {}
    for name, size in store.listed(store.open()).items():
        if name not in present:
            bad[name] = "it is missing"
        elif present[name] != size:
            bad[name] = f"it has {present[name]:,} bytes in place of {size:,}"
        elif thorough and (why := _unreadable(store, name)):
            bad[name] = why
    return bad


def incomplete(store: RunStore) -> set[Key]:
    """Return the runs of which only a part is there."""
    table = store.open()
    expected = {
        (row["run"], row["code"]): row["looks"]
        for row in store.rows(table, RESULTS, ["run", "code", "looks"]).to_pylist()
    }
    looks = store.rows(table, LOOKS, ["run", "code"])
    counted = looks.group_by(["run", "code"]).aggregate([([], "count_all")]).to_pylist()
    there = {(row["run"], row["code"]): row["count_all"] for row in counted}
    return {key for key in expected.keys() | there.keys() if expected.get(key) != there.get(key, 0)}


def take_out(store: RunStore, names: Collection[str]) -> int:
    """Take damaged files out of the table, with all else of their runs, and move them aside. Return
    how many runs are gone; a sweep repeats them."""
    table = store.open()
    now_ms = round(time.time() * 1000)
    sizes = store.listed(table)
    if names:
        table.create_write_transaction(
            [RemoveAction(n, True, now_ms, sizes[n], {"kind": kind_of(n)}) for n in names],
            "append",
            table.schema(),
            ["kind"],
        )
    files = store.files
    files.create_dir(DAMAGED)
    for name in names:
        if files.get_file_info(name).type == fs.FileType.File:
            files.move(name, f"{DAMAGED}/{name.rpartition('/')[2]}")
    lost = incomplete(store)
    for code in sorted({code for _, code in lost}):
        runs = ", ".join(f"'{run}'" for run, of in sorted(lost) if of == code)
        store.open().delete(f"code = '{code}' AND run IN ({runs})")
    return len(lost)


def compact(store: RunStore, keep_hours: float) -> dict[str, int]:
    """Make large files of small ones, and delete files that are no part of the table and older than
    `keep_hours`. A task writes its file before the driver commits it, so these hours must be more
    than the longest run takes."""
    merged = store.open().optimize.compact()
    deleted = store.open().vacuum(
        int(keep_hours), dry_run=False, enforce_retention_duration=False, full=True
    )
    return {
        "files_before": merged["numFilesRemoved"],
        "files_after": merged["numFilesAdded"],
        "deleted": len(deleted),
    }


def history(store: RunStore) -> list[dict[str, Any]]:
    """Return the commits, the last one first, with the number of runs that each added."""
    return [
        {
            "version": one["version"],
            "time_ms": one["timestamp"],
            "operation": one["operation"],
            "runs": int(one.get("runs", 0)),
        }
        for one in store.open().history()
    ]


def convert(old: Path, store: RunStore) -> int:
    """Add the runs of a store of an earlier version, which was a folder with a file of results and
    a Parquet file of snapshots for each run. Return how many runs were added."""
    if not (old / BEFORE_DELTA).is_file():
        raise UsageError(f"{old} is not a store of an earlier version: it has no {BEFORE_DELTA}")
    store.check()
    store.create()
    made = []
    for one in read_results(old / BEFORE_DELTA).each():
        file = old / "looks" / f"{one.result.run_id}-{one.code}.parquet"
        if file.exists():  # a run without this file counted as one that had not been run
            rows = pq.read_table(file)
            scenario = (rows.schema.metadata or {}).get(b"scenario", b"").decode()
            made.append(store.write_look_rows(one, scenario, rows))
    for start in range(0, len(made), AT_ONCE):
        store.add(made[start : start + AT_ONCE])
    return len(made)


def _unreadable(store: RunStore, name: str) -> str:
    try:
        with store.files.open_input_file(name) as file:
            for _ in pq.ParquetFile(file).iter_batches():
                pass
    except (pa.ArrowException, OSError) as error:
        return str(error).partition(". ")[0].strip()
    return ""
