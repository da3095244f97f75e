"""How long does a centralised design take, and how much longer without arrays?

The large instance is a social sample by OMen's method (6.1): users of a social graph, each also a
topic, taken breadth-first from some random users, with all relations among them. It is cut from a
graph in a file, or drawn if there is no file. The textbook version is timed on a smaller sample and
must choose the same links. `wanted` is the number of subscriptions, `mean` and `max` are degrees.
Seconds are processor time without compilation; memory is the peak of a process that did nothing
else.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from orbweaver.core.seeds import generator
from orbweaver.design.plan import Plan, design, drawn_order, numbered
from orbweaver.design.rules import ALGORITHMS, Rule
from orbweaver.design.textbook import choose_links
from orbweaver.workload.dialect import Reading
from orbweaver.workload.sampling import breadth_first
from orbweaver.workload.subscriptions import (
    Subscriptions,
    load_subscriptions,
    make_model,
    synthesise,
)

T = TypeVar("T")
GRAPH = (
    Path(__file__).resolve().parents[2] / "shared/data/social/twitter_ego_snap_undirected.txt.gz"
)


def timed(action: Callable[[], T]) -> tuple[T, float]:
    started = time.process_time()
    result = action()
    return result, time.process_time() - started


def friends(path: Path) -> Subscriptions:
    """Draw the users of an undirected graph; neighbours subscribe to each other."""
    one_way = load_subscriptions(path, Reading(header="no"))
    wanted: dict[str, dict[str, None]] = {}
    for user, others in zip(one_way.labels, one_way.of_node, strict=True):
        for other in others:
            if user != other:
                wanted.setdefault(user, {})[other] = None
                wanted.setdefault(other, {})[user] = None
    of_node = tuple(tuple(others) for others in wanted.values())
    return Subscriptions(tuple(wanted), of_node, tuple(wanted))


def drawn(nodes: int) -> Subscriptions:
    topics = min(nodes, 10_000)
    return synthesise(make_model(topics, "zipf:0.8", 1, min(topics, 80)), nodes, "bench")


def measured(interests: list[tuple[str, ...]], rule: Rule) -> tuple[Plan, float, float]:
    """Return a plan, its seconds, and the megabytes of the process."""
    design([["a"], ["a"]], rule)  # compiles
    plan, seconds = timed(lambda: design(interests, rule))
    return plan, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def by_textbook(interests: list[tuple[str, ...]], rule: Rule) -> list[tuple[int, int]]:
    order = drawn_order(len(interests), 0)
    topics = numbered(interests)
    chosen = choose_links([topics[node] for node in order], rule)
    return [tuple(sorted((order[u], order[v]))) for u, v in chosen]  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graph", type=Path, default=GRAPH, help="edges of a social graph")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--textbook-nodes", type=int, default=500)
    args = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 100)
    if args.graph.is_file():
        graph = friends(args.graph)
        source = args.graph.name
    else:
        graph = None
        source = f"drawn, since {args.graph} is not there"

    table = Table(title=f"Design of topic-connected overlays: {source}")
    table.add_column("algorithm")
    for column in ("nodes", "wanted", "links", "mean", "max", "s", "MB", "textbook", "x"):
        table.add_column(column, justify="right")
    for nodes in (args.textbook_nodes, args.nodes):
        if graph is None:
            sample = drawn(nodes)
        else:
            sample = breadth_first(graph, nodes, generator("bench", nodes))
        interests = list(sample.of_node)
        for algorithm in ALGORITHMS:
            rule = Rule(algorithm)
            # A process of its own: the most memory that one ever had does not fall again.
            with get_context("spawn").Pool(1) as pool:
                plan, seconds, megabytes = pool.apply(measured, (interests, rule))
            plain = ["", ""]
            if nodes == args.textbook_nodes:
                links, seconds_plain = timed(lambda i=interests, r=rule: by_textbook(i, r))
                assert links == list(plan.added)
                plain = [f"{seconds_plain:.1f}", f"{seconds_plain / seconds:,.0f}"]
            table.add_row(
                algorithm,
                f"{len(interests):,}",
                f"{sum(map(len, interests)):,}",
                f"{len(plan.links):,}",
                f"{plan.degree_mean:.2f}",
                f"{plan.degree_max}",
                f"{seconds:.2f}" if seconds > 1 else f"{seconds:.4f}",
                f"{megabytes:,.0f}",
                *plain,
            )
    console.print(table)


if __name__ == "__main__":
    main()
