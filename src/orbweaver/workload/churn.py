"""Churn: when nodes come and go, from a model or from a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal

from orbweaver.core.errors import UsageError, nearest
from orbweaver.workload.tables import columns_of, read_table

ChurnKind = Literal["join", "leave", "crash"]
KINDS: tuple[ChurnKind, ...] = ("join", "leave", "crash")

Change = tuple[int, int, ChurnKind]
"""(time in ms, node, what happens)"""


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
    """A node that is up at `start_ms` and alternates, on and off, until `end_ms`.

    `shape` None gives exponential times, a number Weibull ones (the off times stay
    exponential: it is sessions that are heavy-tailed).
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
    """A table time,node,kind with times in milliseconds, in any order. `labels` are the
    nodes' names; `in_order` ignores them and numbers the table's nodes as they appear,
    leaving out those beyond the last node, and those that are gone by `skip_ms`."""
    rows = sorted(_read_churn(path), key=lambda row: row[0])
    if in_order:
        up = {node: kind == "join" for time, node, kind, _ in rows if time < skip_ms}
        rows = [row for row in rows if row[0] >= skip_ms]
        present = [node for node, is_up in up.items() if is_up]
        order = dict.fromkeys([*present, *(node for _, node, _, _ in rows)])
        number = {node: i for i, node in enumerate(order) if i < len(labels)}
        rows = [row for row in rows if row[1] in number]
    elif skip_ms:
        raise UsageError("churn: skip_ms is for a file whose nodes are taken 'in order'")
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


def _read_churn(path: Path) -> Iterator[tuple[float, str, ChurnKind, int]]:
    """(time, node, what happens, line)"""
    # The pipeline writes time_ms; by hand one writes time. Both are milliseconds.
    time_column = "time_ms" if "time_ms" in columns_of(path) else "time"
    for line, (time, node, kind) in read_table(path, (time_column, "node", "kind")):
        try:
            when = float(time)
        except ValueError:
            when = math.nan
        if not 0 <= when < 2**53:
            raise UsageError(f"{path}, line {line}: '{time}' is not a time in milliseconds")
        if kind not in KINDS:
            raise UsageError(f"{path}, line {line}: kind '{kind}': {nearest(kind, KINDS)}")
        yield when, node, kind, line


def with_crowd(changes: list[Change], nodes: int, crowd: int, time_ms: int) -> list[Change]:
    """The last `crowd` of the nodes join together, and stay."""
    if crowd > nodes:
        raise UsageError(f"churn: a crowd of {crowd} out of {nodes} nodes")
    others = [change for change in changes if change[1] < nodes - crowd]
    joins: list[Change] = [(time_ms, node, "join") for node in range(nodes - crowd, nodes)]
    return sorted([*others, *joins], key=lambda change: change[0])
