"""What does a node of Magnet cost, and does it cost more in a larger network?

The base setting of Magnet's paper (Sec. 4.2: 1000 topics in ten categories, 50 topics for each
node, all out of one category, with a power law of 1 inside it), formed from nothing in simulated
time; then 1000 publications. Every row runs in a process of its own, so that its peak memory is its
own. Processor time is the one to compare on a busy machine. All rows of a table are from one run.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import math
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from orbweaver.overlays.catalog import find
from orbweaver.overlays.magnet import Magnet
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of ru_maxrss: Linux counts in KiB, macOS in bytes."""
CATEGORIES = 10
TOPICS = 1000
SUBSCRIPTIONS = 50
"""Topics of one node."""
FULL = (1000, 2000, 5000, 10_000)


@dataclasses.dataclass(frozen=True)
class Row:
    overlay: str
    nodes: int
    seconds: int
    """Simulated seconds to form in."""
    events: int
    params: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Measured:
    forming: float
    """Processor seconds until the first publication."""
    whole: float
    messages: dict[str, int]
    """Messages of each type, until the first publication."""
    memory_bytes: int
    rings: float
    """Share of the nodes with the right successor on both rings when the publications begin."""
    attached: float
    """Share of the subscriptions whose node hangs at the root of the tree then."""
    relays: float
    """Nodes that an event reaches and that do not subscribe, mean over the events."""
    owed: int
    delivered: int


def multi_modal(nodes: int, seed: int) -> list[str]:
    """Return the lines of a table of subscriptions: each node has topics of one category."""
    rng = Random(seed)
    size = TOPICS // CATEGORIES
    cumulative = list(accumulate(1 / (rank + 1) for rank in range(size)))
    lines = []
    for node in range(nodes):
        first = rng.randrange(CATEGORIES) * size
        drawn: dict[int, None] = {}
        while len(drawn) < SUBSCRIPTIONS:
            drawn[rng.choices(range(size), cum_weights=cumulative)[0]] = None
        lines += [f"n{node},t{first + topic}" for topic in drawn]
    return lines


def scenario(row: Row, table: Path) -> Scenario:
    return Scenario(
        overlay=row.overlay,
        params=dict(row.params),
        workload=WorkloadSpec(file=str(table), header="no"),
        publish=PublishSpec(per_topic=0, events=row.events, every_ms=2),
        run=RunSpec(
            warmup_ms=1000 * row.seconds, drain_ms=3000, records="counters", measure_bytes=False
        ),
    )


def measure(row: Row, seed: int) -> Measured:
    with TemporaryDirectory() as folder:
        table = Path(folder) / "subscriptions.csv"
        table.write_text("\n".join(multi_modal(row.nodes, seed)) + "\n")
        simulation = Simulation(scenario(row, table), seed, find(row.overlay))
    gc.collect()
    formed_ms = 1000 * row.seconds
    formed: list[tuple[float, dict[str, int], float, float]] = []
    started = time.process_time()

    def note(now: int, _: int) -> None:
        if now >= formed_ms and not formed:
            spent = time.process_time() - started
            counts = Counter({kind.__name__: n for kind, n in recorder.count.items()})
            formed.append((spent, counts, *how_formed(simulation)))

    recorder = simulation.world.recorder
    records = simulation.run(note).records
    whole = time.process_time() - started
    # Before the metrics, which need memory of their own.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    subscribers = Counter(topic for n in simulation.world.nodes for topic in n.wanted)
    forming, messages, rings, attached = formed[0]
    return Measured(
        forming=forming,
        whole=whole,
        messages=messages,
        memory_bytes=memory,
        rings=rings,
        attached=attached,
        relays=fmean(records["publications"]["relays"]),
        owed=sum(subscribers[topic] - 1 for topic in records["publications"]["topic"]),
        delivered=sum(records["publications"]["deliveries"]),
    )


def how_formed(simulation: Simulation) -> tuple[float, float]:
    """Return the shares of nodes with right successors, and of subscriptions on their trees."""
    nodes = [n.overlay for n in simulation.world.nodes if isinstance(n.overlay, Magnet)]
    wrong: dict[int, None] = {}
    for skewed in (False, True):
        order = sorted(nodes, key=lambda node: node.table.ring(skewed).here)
        for node, after in zip(order, order[1:] + order[:1], strict=True):
            if node.table.ring(skewed).successors[:1] != (after.context.me,):
                wrong[node.context.me] = None
    wanted = sum(len(node.interest.subscribed) for node in nodes)
    detached = sum(node.status()["detached"] for node in nodes)
    return 1 - len(wrong) / len(nodes), 1 - detached / wanted


def in_own_process(row: Row, seed: int) -> Measured:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, row, seed).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[250, 500])
    parser.add_argument("--full", action="store_true", help=f"as many nodes as {FULL}")
    parser.add_argument("--overlays", nargs="+", default=["magnet", "magnet-strawman"])
    parser.add_argument("--seconds", type=int, default=50, help="to form in")
    parser.add_argument("--events", type=int, default=1000, help="publications afterwards")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="parameters")
    parser.add_argument("--messages", action="store_true", help="count them by type")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    params = tuple((name, value) for name, _, value in (one.partition("=") for one in args.set))
    table = Table(title=f"{args.seconds} simulated seconds, then {args.events} publications")
    for column in ("overlay", "nodes", "forming, CPU s", "all, CPU s", "ms/node", "ratio",
                   "ratio of log N", "messages/node", "MiB", "rings", "on trees",
                   "relays", "delivered"):  # fmt: skip
        table.add_column(column, justify="right")
    console = Console(width=None if sys.stdout.isatty() else 160)
    for overlay in args.overlays:
        base: tuple[float, int] | None = None
        for nodes in FULL if args.full else args.nodes:
            row = Row(overlay, nodes, args.seconds, args.events, params)
            found = in_own_process(row, args.seed)
            print(f"{overlay}, {nodes:,} nodes: {found.whole:.1f} s", file=sys.stderr, flush=True)
            each = found.whole / nodes
            base = base or (each, nodes)
            table.add_row(
                overlay,
                f"{nodes:,}",
                f"{found.forming:.1f}",
                f"{found.whole:.1f}",
                f"{1000 * each:.1f}",
                f"{each / base[0]:.2f}",
                f"{math.log(nodes) / math.log(base[1]):.2f}",
                f"{sum(found.messages.values()) / nodes:,.0f}",
                f"{found.memory_bytes / 2**20:,.0f}",
                f"{100 * found.rings:.1f} %",
                f"{100 * found.attached:.1f} %",
                f"{found.relays:.1f}",
                f"{found.delivered:,} of {found.owed:,}",
            )
            if args.messages:
                counts = Counter(found.messages).most_common()
                console.print(
                    f"{overlay}, {nodes:,} nodes, messages for each node:",
                    ", ".join(f"{kind} {count / nodes:,.0f}" for kind, count in counts),
                )
    table.caption = (
        "ratio: processor time for each node, relative to the first row; ratio of log N: what a "
        "cost in proportion to log N would be; messages, rings, trees: at the first publication; "
        "relays: uninterested nodes that an event reaches"
    )
    console.print(table)


if __name__ == "__main__":
    main()
