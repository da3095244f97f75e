"""What does one repair of OMen cost, a whole trace of churn, and one churn event in messages?

The first two are measured on the parts, without a network (`orbweaver.study.omen.mending`): the
overlay begins as LowODA's design, and for each node that leaves the backup set is chosen, the
components of what is left are found, and Algorithm 1 adds links. The workload
is a social sample by OMen's method (6.1), cut from a graph in a file or drawn if there is no file,
and the trace is the machine events of a cluster, or random if there is no file. The third is a
simulation, in which nodes crash one after another: it counts the messages that build and repair,
and not those that are sent all the time.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench_design import GRAPH, drawn, friends, timed
from rich.console import Console
from rich.table import Table

from orbweaver.core.params import build
from orbweaver.core.seeds import below, generator, sample
from orbweaver.core.topics import TopicTable
from orbweaver.overlays.catalog import find
from orbweaver.overlays.omen.churn import Shadow
from orbweaver.records import Recorder
from orbweaver.sim.world import World
from orbweaver.study.omen.mending import Mended, MendingParams
from orbweaver.study.omen.replay import Up
from orbweaver.workload.sampling import breadth_first

TRACE = GRAPH.parents[1] / "churn/google2011_machine_events.csv.gz"
EVENTS_MAX = 2000
"""How many changes of the trace are played at most."""
SIZES = ((4, 5), (6, 10), (11, 40))
"""Least and most subscriptions of the nodes in each column."""
OVERLAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("omen", {}),
    ("spidercast", {"kg": 3, "kr": 1}),
    ("spidercast", {"kg": 4, "kr": 0}),
)
ALWAYS = ("keepalive", "membership", "data")
"""Purposes of messages that are sent whether nodes come and go or not."""


class Timed(Mended):
    """Notes the processor time of each repair, in milliseconds."""

    def __init__(self, interests: Sequence[Collection[str]], up: Up) -> None:
        topics = TopicTable(sorted({topic for wanted in interests for topic in wanted}))
        self.repair_ms: list[float] = []
        super().__init__(interests, topics, up, MendingParams(), 0)

    def mend(self, shadow: Shadow, joins: bool) -> None:
        started = time.process_time()
        super().mend(shadow, joins)
        self.repair_ms.append(1000 * (time.process_time() - started))


def churn_of(trace: Path, nodes: int) -> list[tuple[int, bool]]:
    """Return which node leaves or joins (True), one after another. All are up at first."""
    rng = generator("bench-omen-churn", nodes)
    if not trace.is_file():
        chosen = [below(rng, nodes) for _ in range(1300)]
        return [(node, chosen[:at].count(node) % 2 == 1) for at, node in enumerate(chosen)]
    with gzip.open(trace, "rt", encoding="utf-8") as lines:
        rows = [line.split(",")[:3] for line in lines]
    machines = sample(rng, [machine for time, machine, _ in rows if time == "0"], nodes)
    number = {machine: node for node, machine in enumerate(machines)}
    kinds = {"0": True, "1": False}  # added, removed; the others are changes of capacity
    return [
        (number[machine], kinds[kind])
        for time, machine, kind in rows
        if time != "0" and machine in number and kind in kinds
    ]


def replayed(interests: Sequence[Collection[str]], trace: Path) -> list[str]:
    """Return the cells of one row: what the whole trace costs."""
    up = dict.fromkeys(range(len(interests)))
    replay, before = timed(lambda: Timed(interests, up))
    start = degrees(replay, up)
    changes = churn_of(trace, len(interests))[:EVENTS_MAX]
    began = time.process_time()
    for node, joins in changes:
        if joins:
            up[node] = None
            replay.join(node, up)
        else:
            up.pop(node, None)
            replay.leave(node, up)
    seconds = time.process_time() - began
    costs, end = sorted(replay.repair_ms), degrees(replay, up)
    return [
        f"{len(interests):,}",
        f"{len(costs):,}",
        f"{median(costs):.1f}",
        f"{costs[int(0.99 * len(costs))]:.1f}",
        f"{seconds:.0f} + {before:.0f}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:,.0f}",
        f"{mean(start):.1f} / {max(start)}",
        f"{mean(end):.1f} / {max(end)}",
    ]


def degrees(replay: Mended, up: Up) -> list[int]:
    ends = Counter(end for link in replay.links(up) for end in link)
    return [ends[node] for node in up]


class Crashes:
    """Nodes of one overlay that crash one after another and come back."""

    def __init__(self, overlay: str, params: dict[str, Any], nodes: int) -> None:
        rng = generator("bench-omen-crashes", nodes)
        sizes = range(4, 41)
        self._rng = rng
        self._recorder = Recorder(rows=False)
        kind = find(overlay)
        self.world = World(
            nodes, kind, build(kind.Params, params, overlay), topics=TopicTable(),
            latency=lambda a, b: 20, recorder=self._recorder, contact_chance=rng,
            node_seed=lambda node, life: 1000 * node + life,
        )  # fmt: skip
        for node in self.world.nodes:
            size = rng.choices(sizes, [1 / n**2 for n in sizes])[0]
            node.wanted |= {f"t{n}": None for n in sample(rng, range(100), size)}
        self.world.join_all(self.world.nodes)
        self._run(40_000)

    def churn(self, events: int) -> list[tuple[int, int]]:
        """Return the subscriptions of each node that crashed, and the messages of the event."""
        found = []
        for node in sample(self._rng, self.world.nodes, events):
            before = self._sent()
            self.world.crash(node)
            self._run(15_000)
            found.append((len(node.wanted), self._sent() - before))
            self.world.join(node)
            self._run(15_000)
        return found

    def degree(self) -> float:
        return mean(len(self.world.links_of(node.me)) for node in self.world.nodes)

    def _sent(self) -> int:
        return sum(n for kind, n in self._recorder.count.items() if kind.purpose not in ALWAYS)

    def _run(self, ms: int) -> None:
        self.world.engine.run(self.world.engine.now + ms, 1 << 40)


def counted(overlay: str, params: dict[str, Any], nodes: int, events: int) -> list[str]:
    crashes = Crashes(overlay, params, nodes)
    found = crashes.churn(events)
    cells = [f"{crashes.degree():.1f}"]
    for least, most in SIZES:
        sent = [n for wanted, n in found if least <= wanted <= most]
        cells.append(f"{mean(sent):.0f} ({len(sent)})" if sent else "")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graph", type=Path, default=GRAPH, help="edges of a social graph")
    parser.add_argument("--trace", type=Path, default=TRACE, help="machine events of a cluster")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000])
    parser.add_argument("--crash-nodes", type=int, default=150)
    parser.add_argument("--crashes", type=int, default=30)
    args = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)

    table = Table(title="OMen over a trace, by its parts")
    columns = ("nodes", "events", "repair ms", "99 %", "s", "MB", "degrees before", "after")
    for column in columns:
        table.add_column(column, justify="right")
    graph = friends(args.graph) if args.graph.is_file() else None
    for nodes in args.nodes:
        rng = generator("bench", nodes)
        found = drawn(nodes) if graph is None else breadth_first(graph, nodes, rng)
        with get_context("spawn").Pool(1) as pool:
            table.add_row(*pool.apply(replayed, (list(found.of_node), args.trace)))
    console.print(table)

    table = Table(title=f"Messages for a crash, {args.crash_nodes} nodes (crashes)")
    table.add_column("overlay")
    table.add_column("degree", justify="right")
    for least, most in SIZES:
        table.add_column(f"{least} to {most} topics", justify="right")
    for overlay, params in OVERLAYS:
        name = f"{overlay} {' '.join(f'{k}={v}' for k, v in params.items())}"
        table.add_row(name, *counted(overlay, params, args.crash_nodes, args.crashes))
    console.print(table)


if __name__ == "__main__":
    main()
