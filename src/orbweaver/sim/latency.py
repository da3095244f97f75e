"""A latency model says how long a message takes between two nodes, in whole milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import below
from orbweaver.workload.scenario import LatencySpec
from orbweaver.workload.tables import columns_of, open_text, read_table, reading, table_in

Latency = Callable[[NodeId, NodeId], int]
Exact = Callable[[NodeId, NodeId], float]
"""One-way time in milliseconds before it is rounded."""
UNIT_MS = {"s": 1000.0, "ms": 1.0, "us": 0.001}


def make_latencies(spec: LatencySpec, labels: Sequence[str], rng: Random) -> tuple[Latency, Exact]:
    """Build the latency model of a scenario, and the same before rounding. `labels` are the nodes'
    names in the workload."""
    scale = UNIT_MS[spec.unit]
    if spec.model == "constant":
        delay = round(spec.ms)
        return lambda sender, to: delay, lambda sender, to: spec.ms
    if spec.model == "uniform":
        low, high = round(spec.low_ms), round(spec.high_ms)
        if high < low:
            raise UsageError(f"latency: high_ms {high} is below low_ms {low}; raise it to {low}")
        width = high - low + 1
        middle = (low + high) / 2  # measuring must not take draws from the messages
        return lambda sender, to: low + below(rng, width), lambda sender, to: middle
    if not spec.file:
        raise UsageError(f"latency model '{spec.model}' needs a file; set latency.file")
    if spec.model == "matrix":
        path = table_in(Path(spec.file), "latency")
        if path.is_dir() or path.suffix == ".parquet":
            return _from_matrix(read_delays(path), 1.0, len(labels), rng)
        if spec.round_trip:
            scale /= 2
        return _from_matrix(read_matrix(path), scale, len(labels), rng)
    path = table_in(Path(spec.file), "coordinates")
    return _from_coordinates(read_coordinates(path), scale, labels)


def read_matrix(path: Path) -> list[list[float]]:
    """Read a square of numbers, separated by white space, commas or semicolons.

    Zeros off the diagonal, negative numbers and nan are missing cells, which get the median.
    """
    rows: list[list[float]] = []
    with reading(path), open_text(path) as file:
        for number, line in enumerate(file, 1):
            cells = line.replace(",", " ").replace(";", " ").split()
            if not cells or cells[0].startswith("#"):
                continue
            try:
                rows.append([float(cell) for cell in cells])
            except ValueError:
                raise UsageError(f"{path}, line {number}: not a row of numbers") from None
            if len(rows[-1]) != len(rows[0]):
                raise UsageError(
                    f"{path}, line {number}: {len(rows[-1])} numbers where line 1 has "
                    f"{len(rows[0])}"
                )
    if not rows or len(rows) != len(rows[0]):
        raise UsageError(f"{path}: a latency matrix is square; this one has {len(rows)} rows")
    return _filled(rows)


def read_delays(path: Path) -> list[list[float]]:
    """Read one-way delays in milliseconds from a table a,b,ms, as `orbweaver ingest
    latency-matrix` writes it. Pairs that are not in the table get the median."""
    cells = [(int(a), int(b), float(ms)) for _, (a, b, ms) in read_table(path, ("a", "b", "ms"))]
    size = 1 + max((max(a, b) for a, b, _ in cells), default=-1)
    rows = [[0.0] * size for _ in range(size)]
    for a, b, ms in cells:
        rows[a][b] = ms
    return _filled(rows)


def _filled(rows: list[list[float]]) -> list[list[float]]:
    """Put the median into each missing cell, in place, and return the rows."""
    present = sorted(
        cell
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
        if i != j and cell > 0 and math.isfinite(cell)
    )
    median = present[len(present) // 2] if present else 0.0
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if i == j:
                row[j] = 0.0
            elif not (cell > 0 and math.isfinite(cell)):
                row[j] = median
    return rows


def _from_matrix(
    rows: list[list[float]], scale: float, nodes: int, rng: Random
) -> tuple[Latency, Exact]:
    """Give every node a random place in the matrix; places are used as evenly as possible."""
    delays = [[max(1, round(cell * scale)) for cell in row] for row in rows]
    size = len(rows)
    order: list[int] = []
    while len(order) < nodes:
        block = list(range(size))
        for i in range(size - 1, 0, -1):
            j = below(rng, i + 1)
            block[i], block[j] = block[j], block[i]
        order.extend(block)
    return (
        lambda sender, to: delays[order[sender]][order[to]],
        lambda sender, to: rows[order[sender]][order[to]] * scale,
    )


def read_coordinates(path: Path) -> dict[str, tuple[float, ...]]:
    """Read a table node,x,y or node,x,y,z, in which distances are one-way delays."""
    axes = ("x", "y", "z") if "z" in columns_of(path) else ("x", "y")
    points: dict[str, tuple[float, ...]] = {}
    for line, (node, *cells) in read_table(path, ("node", *axes)):
        try:
            point = tuple(float(cell) for cell in cells)
        except ValueError:
            point = (math.nan,)
        if not all(map(math.isfinite, point)):
            raise UsageError(
                f"{path}, line {line}: coordinates {', '.join(cells)} should be finite numbers"
            )
        points[node] = point
    return points


def _from_coordinates(
    points: dict[str, tuple[float, ...]], scale: float, labels: Sequence[str]
) -> tuple[Latency, Exact]:
    missing = [label for label in labels if label not in points]
    if missing:
        raise UsageError(f"{len(missing)} nodes have no coordinates, for example '{missing[0]}'")
    places = [points[label] for label in labels]
    return (
        lambda sender, to: round(math.dist(places[sender], places[to]) * scale),
        lambda sender, to: math.dist(places[sender], places[to]) * scale,
    )
