"""Churn says when nodes come and go; it comes from a model or from a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal

from orbweaver.core.errors import UsageError, nearest
from orbweaver.workload.tables import columns_of, read_table

ChurnKind = Literal["join", "leave", "crash"]
KINDS: tuple[ChurnKind, ...] = ("join", "leave", "crash")

Change = tuple[int, int, ChurnKind]
"""(time in milliseconds, node, what happens)"""


def exponential_ms(rng: Random, mean_ms: float) -> int:
    return max(1, round(-mean_ms * math.log(1.0 - rng.random())))


def weibull_ms(rng: Random, mean_ms: float, shape: float) -> int:
    scale = mean_ms / math.gamma(1 + 1 / shape)
    draw: float = (-math.log(1.0 - rng.random())) ** (1 / shape)
    return max(1, round(scale * draw))


def on_off(
    rng: Random,
    node: int,
    start_ms: int,
    end_ms: int,
    on_ms: float,
    off_ms: float,
    shape: float | None,
    down: ChurnKind,
) -> Iterator[Change]:
    """Yield the changes of a node that is up at `start_ms` and goes down and up until `end_ms`.

    `on_ms` and `off_ms` are mean times. `shape` None gives exponential times up, a number
    Weibull ones; times down are exponential in both cases, since only sessions are
    heavy-tailed.
    """
    now = start_ms
    while True:
        up = exponential_ms(rng, on_ms) if shape is None else weibull_ms(rng, on_ms, shape)
        now += up
        if now >= end_ms:
            return
        yield (now, node, down)
        now += exponential_ms(rng, off_ms)
        if now >= end_ms:
            return
        yield (now, node, "join")


def load_churn(
    path: Path,
    labels: Sequence[str],
    in_order: bool = False,
    start_ms: int = 0,
    speed: float = 1,
    skip_ms: int = 0,
) -> list[Change]:
    """Read a table time,node,kind with times in milliseconds, in any order.

    `labels` are the names of the nodes. With `in_order` the labels do not matter: nodes of the
    table are numbered as they appear, and nodes beyond the number of labels, or gone for good
    by `skip_ms`, are left out.
    """
    rows = sorted(read_churn(path), key=lambda row: row[0])
    if in_order:
        up = {node: kind == "join" for time, node, kind, _ in rows if time < skip_ms}
        rows = [row for row in rows if row[0] >= skip_ms]
        present = [node for node, is_up in up.items() if is_up]
        order = dict.fromkeys([*present, *(node for _, node, _, _ in rows)])
        number = {node: i for i, node in enumerate(order) if i < len(labels)}
        rows = [row for row in rows if row[1] in number]
    elif skip_ms:
        raise UsageError("churn: skip_ms needs a file and churn.nodes set to 'in order'")
    else:
        number = {label: i for i, label in enumerate(labels)}
    changes: list[Change] = []
    for time, node, kind, line in rows:
        if node not in number:
            raise UsageError(
                f"{path}, line {line}: there is no node '{node}'; for a trace of other nodes "
                "than the workload's, set churn.nodes to 'in order'"
            )
        changes.append((start_ms + round((time - skip_ms) / speed), number[node], kind))
    return changes


def read_churn(path: Path) -> Iterator[tuple[float, str, ChurnKind, int]]:
    """Yield (time, node, what happens, line) of each row."""
    # The pipeline writes time_ms, people write time. Both are in milliseconds.
    time_column = "time_ms" if "time_ms" in columns_of(path) else "time"
    for line, (time, node, kind) in read_table(path, (time_column, "node", "kind")):
        try:
            when = float(time)
        except ValueError:
            when = math.nan
        if not 0 <= when < 2**53:
            raise UsageError(
                f"{path}, line {line}: time '{time}' should be a number of milliseconds, 0 or more"
            )
        if kind not in KINDS:
            raise UsageError(f"{path}, line {line}: unknown kind '{kind}': {nearest(kind, KINDS)}")
        yield when, node, kind, line


def with_crowd(changes: list[Change], nodes: int, crowd: int, time_ms: int) -> list[Change]:
    """Return the changes with those of the last `crowd` nodes replaced: these nodes join together
    at `time_ms`, and stay."""
    if crowd > nodes:
        raise UsageError(f"churn: a crowd of {crowd} should be at most the {nodes} nodes")
    others = [change for change in changes if change[1] < nodes - crowd]
    joins: list[Change] = [(time_ms, node, "join") for node in range(nodes - crowd, nodes)]
    return sorted([*others, *joins], key=lambda change: change[0])


def with_outage(
    changes: list[Change], nodes: Collection[int], start_ms: int, end_ms: int
) -> list[Change]:
    """Return the changes with those of some nodes replaced: these nodes are up from the start,
    crash together at `start_ms`, and come back together at `end_ms`."""
    others = [change for change in changes if change[1] not in nodes]
    crashes: list[Change] = [(start_ms, node, "crash") for node in sorted(nodes)]
    returns: list[Change] = [(end_ms, node, "join") for node in sorted(nodes)]
    return sorted([*others, *crashes, *returns], key=lambda change: change[0])
