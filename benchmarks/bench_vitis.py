"""How long do Vitis, RVR and OPT take to form their overlays, and in how much memory?

The base setting of Vitis' paper (Sec. IV: 50 topics for each node, as many subscribers of a
topic at any size, tables of 15), simulated for some cycles of a second; then 500
publications. Every row runs in a process of its own, so that its peak memory is its own.
Processor time is the one to compare on a busy machine. A node-cycle is the work of one node in
one cycle, with all messages to it.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rich.console import Console
from rich.table import Table

from orbweaver.overlays.catalog import find
from orbweaver.sim.simulation import Simulation
from orbweaver.sim.world import World
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of ru_maxrss: Linux counts in KiB, macOS in bytes."""
PATTERNS = {"random": "uniform", "low": "buckets:{}:5", "high": "buckets:{}:2"}


@dataclasses.dataclass(frozen=True)
class Row:
    overlay: str
    pattern: str
    nodes: int
    cycles: int
    events: int

    def scenario(self) -> Scenario:
        return Scenario(
            overlay=self.overlay,
            workload=WorkloadSpec(
                nodes=self.nodes,
                topics=self.nodes // 2,
                subscriptions_per_node="50",
                popularity=PATTERNS[self.pattern].format(max(5, self.nodes // 100)),
            ),
            publish=PublishSpec(per_topic=0, events=self.events, every_ms=2),
            run=RunSpec(
                warmup_ms=1000 * self.cycles,
                drain_ms=3000 if self.events else 0,
                records="counters",
                measure_bytes=False,
            ),
        )


@dataclasses.dataclass(frozen=True)
class Measured:
    forming: float
    """Processor seconds until the first publication."""
    whole: float
    cycles: float
    fresh: float
    """Links that came up in the last cycle before the publications, for each node."""
    ring: float | None
    """Share of the nodes that are linked to their successor when the publications begin."""
    messages: int
    memory_bytes: int
    owed: int
    delivered: int


def measure(row: Row, seed: int) -> Measured:
    gc.collect()
    simulation = Simulation(row.scenario(), seed, find(row.overlay))
    formed_ms = 1000 * row.cycles
    started = time.process_time()
    clocks: dict[int, float] = {}
    rings: list[float] = []

    def note(now: int, _: int) -> None:
        clocks[now] = time.process_time() - started
        if now >= formed_ms and not rings:
            rings.append(right_successors(simulation.world))

    outcome = simulation.run(note)
    # Before the metrics, which need memory of their own.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    records = outcome.records
    links = zip(records["links"]["time_ms"], records["links"]["kind"], strict=True)
    fresh = sum(formed_ms - 1000 < time <= formed_ms and kind == "up" for time, kind in links)
    subscribers = dict.fromkeys(records["publications"]["topic"], 0)
    for topic in records["interests"]["topic"]:
        if topic in subscribers:
            subscribers[topic] += 1
    return Measured(
        forming=next(spent for now, spent in clocks.items() if now >= formed_ms),
        whole=max(clocks.values()),
        cycles=outcome.end_ms / 1000,
        fresh=fresh / 2 / row.nodes,
        ring=rings[0] if row.overlay != "opt" else None,
        messages=outcome.events,
        memory_bytes=memory,
        owed=sum(subscribers[topic] - 1 for topic in records["publications"]["topic"]),
        delivered=sum(records["publications"]["deliveries"]),
    )


def right_successors(world: World) -> float:
    order = sorted([node.me for node in world.nodes], key=world.places.__getitem__)
    linked = [node.overlay.links() for node in world.nodes if node.overlay is not None]
    right = sum(after in linked[n] for n, after in zip(order, order[1:] + order[:1], strict=True))
    return right / len(order)


def in_own_process(row: Row, seed: int) -> Measured:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, row, seed).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--overlays", nargs="+", default=["vitis", "rvr", "opt"])
    parser.add_argument("--patterns", nargs="+", default=["random"], choices=PATTERNS)
    parser.add_argument("--cycles", type=int, default=20, help="to form in")
    parser.add_argument("--events", type=int, default=500, help="publications afterwards")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    table = Table(title=f"{args.cycles} cycles, then {args.events} publications")
    for column in ("overlay", "interests", "nodes", "forming, CPU s", "all, CPU s",
                   "us/node-cycle", "events/s", "fresh links", "ring", "MiB", "KiB/node",
                   "delivered"):  # fmt: skip
        table.add_column(column, justify="right")
    for overlay in args.overlays:
        for pattern in args.patterns:
            for nodes in args.nodes:
                row = Row(overlay, pattern, nodes, args.cycles, args.events)
                found = in_own_process(row, args.seed)
                table.add_row(
                    overlay,
                    pattern,
                    f"{nodes:,}",
                    f"{found.forming:.1f}",
                    f"{found.whole:.1f}",
                    f"{1e6 * found.whole / nodes / found.cycles:,.0f}",
                    f"{found.messages / found.whole:,.0f}",
                    f"{found.fresh:.2f}",
                    "-" if found.ring is None else f"{100 * found.ring:.1f} %",
                    f"{found.memory_bytes / 2**20:,.0f}",
                    f"{found.memory_bytes / 1024 / nodes:,.0f}",
                    f"{found.delivered:,} of {found.owed:,}" if args.events else "-",
                )
    table.caption = (
        "fresh links: links that came up in the last cycle before the publications, for each "
        "node; ring: nodes linked to their successor then; events are messages and timers"
    )
    Console(width=None if sys.stdout.isatty() else 140).print(table)


if __name__ == "__main__":
    main()
