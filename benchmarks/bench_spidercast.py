"""How long does SpiderCast take to form its overlay, and in how much memory?

The base setting of its paper (Sec. 3: 100 topics, 10 subscriptions for each node,
zipf:0.5, three greedy links and no random ones), simulated for some seconds without a
publication; and once with three events on each topic afterwards. Every row runs in a
new process, so that its peak memory is its own. Wall time is how long a user waits.
Processor time is the one to compare on a busy machine; rates use processor time.
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

from orbweaver.metrics.snapshot import snapshot
from orbweaver.metrics.summary import overlay_metrics
from orbweaver.overlays.catalog import find
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

BASE_PARAMS = {"kg": 3, "kr": 0, "adaptive": False, "membership": "full"}
RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of ru_maxrss: Linux counts in KiB, macOS in bytes."""


@dataclasses.dataclass(frozen=True)
class Row:
    nodes: int
    per_topic: int = 0
    view_share: float = 1.0
    """Share of the other nodes that a node knows; 1 means all."""

    @property
    def view(self) -> str:
        return "full" if self.view_share == 1 else f"{self.view_share:.1%}"

    def scenario(self, warmup_ms: int) -> Scenario:
        partial = {"membership": "partial", "view_share": self.view_share}
        return Scenario(
            overlay="spidercast",
            params={**BASE_PARAMS, **(partial if self.view_share < 1 else {})},
            workload=WorkloadSpec(
                nodes=self.nodes, topics=100, subscriptions_per_node="10", popularity="zipf:0.5"
            ),
            publish=PublishSpec(per_topic=self.per_topic),
            run=RunSpec(
                warmup_ms=warmup_ms,
                drain_ms=5000 if self.per_topic else 0,
                records="counters",
                measure_bytes=False,
            ),
        )


@dataclasses.dataclass(frozen=True)
class Clock:
    """A moment of a run, on three clocks: simulated, wall, processor."""

    simulated_ms: int
    wall: float
    processor: float


@dataclasses.dataclass(frozen=True)
class Measured:
    wall: float
    processor: float
    wall_converged: float
    converged_ms: int
    events: int
    memory_bytes: int
    degree_mean: float
    components: int
    topics: int
    deliveries: int
    processor_publishing: float


def measure(row: Row, seed: int, warmup_ms: int) -> Measured:
    gc.collect()
    wall, processor = time.perf_counter(), time.process_time()
    simulation = Simulation(row.scenario(warmup_ms), seed, find("spidercast"))
    clocks: list[Clock] = []

    def note(now: int, _: int) -> None:
        clocks.append(Clock(now, time.perf_counter() - wall, time.process_time() - processor))

    outcome = simulation.run(note)
    # Before the metrics, which need memory of their own.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    records = outcome.records
    metrics = overlay_metrics(snapshot(records, warmup_ms), with_distances=False)
    converged_ms = max((t for t in records["links"]["time_ms"] if t <= warmup_ms), default=0)
    formed = next(clock for clock in clocks if clock.simulated_ms >= warmup_ms)
    return Measured(
        wall=clocks[-1].wall,
        processor=clocks[-1].processor,
        wall_converged=next(c.wall for c in clocks if c.simulated_ms >= converged_ms),
        converged_ms=converged_ms,
        events=outcome.events,
        memory_bytes=memory,
        degree_mean=metrics["degree_mean"],
        components=metrics["components"],
        topics=metrics["topics"],
        deliveries=sum(records["publications"]["deliveries"]),
        processor_publishing=clocks[-1].processor - formed.processor,
    )


def in_own_process(row: Row, seed: int, warmup_ms: int) -> Measured:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, row, seed, warmup_ms).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 2000, 10_000])
    parser.add_argument("--publish", type=int, default=3, help="events on each topic, last row")
    parser.add_argument("--warmup-ms", type=int, default=5000, help="simulated, to form in")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--large",
        action="store_true",
        help="also 100,000 nodes that each know 0.5 %% of the others; many minutes",
    )
    args = parser.parse_args()
    rows = [Row(nodes) for nodes in args.nodes]
    if args.publish:
        rows.append(Row(max(args.nodes), per_topic=args.publish))
    if args.large:
        rows.append(Row(100_000, view_share=0.005))
    table = Table(title=f"SpiderCast forming, {args.warmup_ms / 1000:g} s simulated")
    columns = ("nodes", "view", "events", "wall s", "CPU s", "events/s", "converged", "MiB",
               "degree", "topics", "parts", "deliv./s")  # fmt: skip
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        found = in_own_process(row, args.seed, args.warmup_ms)
        published = found.deliveries / found.processor_publishing if row.per_topic else None
        table.add_row(
            f"{row.nodes:,}",
            row.view,
            f"{found.events:,}",
            f"{found.wall:.1f}",
            f"{found.processor:.1f}",
            f"{found.events / found.processor:,.0f}",
            f"{found.wall_converged:.1f} s, at {found.converged_ms:,} ms",
            f"{found.memory_bytes / 2**20:,.0f}",
            f"{found.degree_mean:.2f}",
            f"{found.topics}",
            f"{found.components}",
            "-" if published is None else f"{published:,.0f}",
        )
    table.caption = (
        "converged: wall time until the last change of a link, and when that was in the "
        "simulation; parts: connected components summed over the topics; deliv./s: from the "
        "first publication to the end"
    )
    # Twelve columns do not fit into the eighty that a pipe is taken to have.
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    main()
