"""What does a run of Rappel cost, at the sizes of its paper's evaluation?

One feed with an update a minute, on the delays of a latency matrix, or of random places on a plane
if there is no such file:

- "authors": 220 nodes for an hour, which took the authors' own simulator, in C++, 36.6 s;
- "crash": claim R3, 250 subscribers for four hours, half of which crash and return;
- "churn": claim R4, of 5300 nodes 5000 are up at a time for four hours, and 30 come and go in a
  minute.

Every row runs in a process of its own, so that its peak memory is its own. Processor time is the
one to compare on a busy machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from orbweaver.core.seeds import generator
from orbweaver.metrics.deliveries import deliveries
from orbweaver.overlays.rappel import Rappel
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import (
    ChurnSpec,
    LatencySpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of ru_maxrss: Linux counts in KiB, macOS in bytes."""
MATRIX = Path(__file__).resolve().parents[2] / "shared/data/latency/planetlab490_rtt_t01.txt.gz"
MINUTE_MS = 60_000
FIRST_MIN = 20
"""When the first update is published, in minutes."""
PLANE_MS = 150
"""Side of the plane on which nodes are placed without a matrix, in milliseconds one way."""


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    nodes: int
    minutes: int
    churn: ChurnSpec
    goal_s: float
    """Most processor time, in seconds."""
    goal_mb: float | None = None


ROWS = (
    Row("authors", 220, 60, ChurnSpec(), 7),
    Row(
        "crash",
        251,
        240,
        ChurnSpec(outage=0.5, outage_ms=120 * MINUTE_MS, outage_end_ms=180 * MINUTE_MS),
        60,
    ),
    Row(
        "churn",
        5300,
        240,
        ChurnSpec(model="exponential", on_ms=10_000_000, off_ms=600_000, down="crash"),
        900,
        2000,
    ),
)


@dataclasses.dataclass(frozen=True)
class Measured:
    seconds: float
    """Processor time."""
    events: int
    """Messages and timers."""
    memory_bytes: int
    deliveries: int
    hit_ratio: float
    """Share of the updates that nodes got which had been up for a minute."""


def plane(nodes: int, folder: Path) -> LatencySpec:
    rng = generator("bench-rappel", nodes)
    rows = [f"{n},{PLANE_MS * rng.random()},{PLANE_MS * rng.random()}" for n in range(nodes)]
    path = folder / "plane.csv"
    path.write_text("\n".join(["node,x,y", *rows]), encoding="utf-8")
    return LatencySpec(model="coordinates", file=str(path))


def scenario(row: Row, latency: LatencySpec) -> Scenario:
    return Scenario(
        overlay="rappel",
        workload=WorkloadSpec(nodes=row.nodes, topics=1, subscriptions_per_node="1"),
        latency=latency,
        churn=row.churn,
        publish=PublishSpec(
            by="publisher", events=row.minutes - FIRST_MIN, every_ms=MINUTE_MS, payload_bytes=1024
        ),
        run=RunSpec(
            warmup_ms=FIRST_MIN * MINUTE_MS,
            duration_ms=row.minutes * MINUTE_MS,
            measure_bytes=False,
        ),
    )


def measure(row: Row, matrix: Path, seed: int) -> Measured:
    with TemporaryDirectory() as folder:
        latency = (
            LatencySpec(model="matrix", file=str(matrix))
            if matrix.is_file()
            else plane(row.nodes, Path(folder))
        )
        started = time.process_time()
        outcome = Simulation(scenario(row, latency), seed, Rappel).run()
        seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    found = deliveries(outcome.records, grace_ms=MINUTE_MS)
    return Measured(seconds, outcome.events, memory, found.deliveries, found.hit_ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", nargs="+", default=["authors"], choices=[r.name for r in ROWS])
    parser.add_argument("--minutes", type=int, help="simulated, in place of those of the row")
    parser.add_argument("--matrix", type=Path, default=MATRIX, help="round trips in ms")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    table = Table(title="Rappel, one feed")
    for column in ("row", "nodes", "minutes", "CPU s", "goal", "us/event", "us/node-minute",
                   "MB", "deliveries", "hit ratio"):  # fmt: skip
        table.add_column(column, justify="right")
    for row in ROWS:
        if row.name not in args.rows:
            continue
        if args.minutes:
            row = dataclasses.replace(row, minutes=args.minutes)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measure, row, args.matrix, args.seed).result()
        table.add_row(
            row.name,
            f"{row.nodes:,}",
            f"{row.minutes}",
            f"{found.seconds:.1f}",
            "" if args.minutes else f"{row.goal_s:g}",
            f"{1e6 * found.seconds / found.events:.1f}",
            f"{1e6 * found.seconds / row.nodes / row.minutes:.0f}",
            f"{found.memory_bytes / 1e6:,.0f}",
            f"{found.deliveries:,}",
            f"{100 * found.hit_ratio:.2f} %",
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
