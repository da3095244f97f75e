"""How long do the metrics of a large overlay take, compared with networkx and scipy?

Distances are taken from the last snapshot of a SpiderCast run: for each topic, between all pairs of
its nodes, through links among these nodes. Ours come from `metrics.topics.distances`; networkx and
scipy get the same graph and search from every node. networkx with "bounds" finds the diameter
alone, without most of the searches, and so without the mean distance that we get for the same
price. All answers are compared. Seconds are processor time and include the making of each graph.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import TypeVar

import networkx
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from orbweaver.metrics.similarity import top_intersection
from orbweaver.metrics.snapshot import Snapshot, snapshot
from orbweaver.metrics.topics import distances, induced, shapes
from orbweaver.overlays.catalog import find
from orbweaver.sim.simulation import simulate
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

T = TypeVar("T")


def timed(action: Callable[[], T], rounds: int = 1) -> tuple[T, float]:
    """Return the result, and the seconds of the best round."""
    seconds = []
    for _ in range(rounds):
        gc.collect()
        started = time.process_time()
        result = action()
        seconds.append(time.process_time() - started)
    return result, min(seconds)


def formed(nodes: int, warmup_ms: int, seed: int) -> Snapshot:
    scenario = Scenario(
        overlay="spidercast",
        params={"kg": 3, "kr": 0, "adaptive": False, "membership": "full"},
        workload=WorkloadSpec(nodes=nodes),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=warmup_ms, drain_ms=0, records="counters", measure_bytes=False),
    )
    outcome = simulate(scenario, seed, find(scenario.overlay))
    return snapshot(outcome.records, warmup_ms)


def by_ours(overlay: Snapshot, members: list[int]) -> tuple[int, int, int]:
    return distances(induced(overlay.links, members))


def by_networkx(overlay: Snapshot, members: list[int]) -> tuple[int, int, int]:
    largest = total = pairs = 0
    for _, reached in networkx.all_pairs_shortest_path_length(_graph(overlay, members)):
        largest = max(largest, *reached.values())
        total += sum(reached.values())
        pairs += len(reached) - 1
    return largest, total, pairs


def by_scipy(overlay: Snapshot, members: list[int]) -> tuple[int, int, int]:
    graph = induced(overlay.links, members)
    starts = np.cumsum([0, *map(len, graph)])
    ends = np.fromiter((peer for peers in graph for peer in peers), np.int64, starts[-1])
    matrix = csr_array((np.ones(len(ends)), ends, starts), shape=(len(graph), len(graph)))
    found = dijkstra(matrix, unweighted=True)
    reached = found[np.isfinite(found)]
    return int(reached.max()), int(reached.sum()), len(reached) - len(graph)


def diameter_by_bounds(overlay: Snapshot, members: list[int]) -> int:
    graph = _graph(overlay, members)
    parts = (graph.subgraph(part).copy() for part in networkx.connected_components(graph))
    return max(networkx.diameter(part, usebounds=True) for part in parts)


def _graph(overlay: Snapshot, members: list[int]) -> networkx.Graph:
    inside = set(members)
    graph = networkx.Graph()
    graph.add_nodes_from(members)
    graph.add_edges_from((a, b) for a in members for b in overlay.links[a] if b in inside)
    return graph


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--warmup-ms", type=int, default=5000, help="simulated, to form in")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--shares",
        type=float,
        nargs="+",
        default=[0.0, 0.5, 1.0],
        help="topics given to networkx, by their place in the order of size: 0 is the "
        "smallest, 1 the largest",
    )
    parser.add_argument("--tdi", type=int, default=10, help="the d of tdi(d)")
    parser.add_argument("--rounds", type=int, default=3, help="of ours; the best counts")
    args = parser.parse_args()
    overlay = formed(args.nodes, args.warmup_ms, args.seed)
    by_size = sorted(overlay.on_topic().values(), key=len)

    table = Table(title=f"Metrics of an overlay of {args.nodes:,} nodes")
    table.add_column("metric")
    for column in (
        "nodes",
        "ours s",
        "scipy s",
        "x ours",
        "networkx s",
        "x ours",
        "bounds s",
        "x ours",
    ):
        table.add_column(column, justify="right")
    for share in args.shares:
        members = by_size[round(share * (len(by_size) - 1))]
        ours, seconds = timed(lambda m=members: by_ours(overlay, m), args.rounds)
        theirs, seconds_theirs = timed(lambda m=members: by_networkx(overlay, m))
        scipys, seconds_scipy = timed(lambda m=members: by_scipy(overlay, m))
        diameter, seconds_bounds = timed(lambda m=members: diameter_by_bounds(overlay, m))
        assert ours == theirs == scipys
        assert ours[0] == diameter
        table.add_row(
            "distances, one topic",
            f"{len(members):,}",
            f"{seconds:.3f}",
            f"{seconds_scipy:.2f}",
            f"{seconds_scipy / seconds:.0f}",
            f"{seconds_theirs:.2f}",
            f"{seconds_theirs / seconds:.0f}",
            f"{seconds_bounds:.3f}",
            f"{seconds_bounds / seconds:.1f}",
        )
    found, seconds = timed(lambda: shapes(overlay), args.rounds)
    everyone = f"{sum(shape.nodes for shape in found):,}"
    table.add_row(f"distances, {len(found)} topics", everyone, f"{seconds:.2f}")
    _, seconds = timed(lambda: shapes(overlay, with_distances=False), args.rounds)
    table.add_row(f"components, {len(found)} topics", everyone, f"{seconds:.2f}")
    interests = list(overlay.interests.values())
    _, seconds = timed(lambda: top_intersection(interests, args.tdi), args.rounds)
    table.add_row(f"tdi({args.tdi})", f"{len(interests):,}", f"{seconds:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
