"""The runs that Vitis' claims need, at two scales.

Three patterns of interest: random; low and high correlation, where each node takes its
topics from five or from two groups.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from orbweaver.study.claims import series_name
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

TABLE = 15
FRIENDS_MAX = TABLE - 3
"""Of a table of 15: besides successor and predecessor, at least one long link."""


@dataclasses.dataclass(frozen=True)
class Scale:
    name: str
    nodes: int
    topics: int
    subscriptions: int
    buckets: int
    friends: tuple[int, ...]
    tables: tuple[int, ...]
    rates: tuple[float, ...]
    sizes: tuple[int, ...]
    warmup_ms: int

    def law(self, pattern: str) -> str:
        taken = {"low": 5, "high": 2}.get(pattern)
        return f"buckets:{self.buckets}:{taken}" if taken else "uniform"


SCALES = {
    "quick": Scale(
        name="a twentieth of the paper's",
        nodes=500,
        topics=250,
        subscriptions=20,
        buckets=10,
        friends=(0, 6, 12),
        tables=(15, 25, 35),
        rates=(0.3, 1.0, 3.0),
        sizes=(125, 250, 500, 1000),
        warmup_ms=40_000,
    ),
    "full": Scale(
        name="the paper's own",
        nodes=10_000,
        topics=5000,
        subscriptions=50,
        buckets=100,
        friends=(0, 3, 6, 9, 12),
        tables=(15, 20, 25, 30, 35),
        rates=(0.3, 0.6, 1.0, 1.5, 2.0, 3.0),
        sizes=(1250, 2500, 5000, 10_000),
        warmup_ms=60_000,
    ),
}


def scenario(
    scale: Scale, label: str, x: float, overlay: str, pattern: str = "random",
    nodes: int = 0, published: str = "uniform", **params: Any,
) -> Scenario:  # fmt: skip
    return Scenario(
        overlay=overlay,
        name=series_name(label, x),
        params=params,
        workload=WorkloadSpec(
            nodes=nodes or scale.nodes,
            topics=scale.topics,
            subscriptions_per_node=str(scale.subscriptions),
            popularity=scale.law(pattern),
        ),
        publish=PublishSpec(events=500, rates=published),
        run=RunSpec(warmup_ms=scale.warmup_ms, measure_bytes=False),
    )


def friends(pattern: str) -> Callable[[Scale], list[Scenario]]:
    """IV-B: the table has its size, and what is no friend is a long link."""
    return lambda scale: [
        scenario(scale, f"friends {pattern}", x, "vitis", pattern, long_links=TABLE - 2 - x)
        for x in scale.friends
    ]


def tables(label: str, overlay: str, pattern: str) -> Callable[[Scale], list[Scenario]]:
    """IV-C."""
    return lambda scale: [
        scenario(scale, f"table {label}", x, overlay, pattern, table_size=x) for x in scale.tables
    ]


def rates(label: str, overlay: str, pattern: str) -> Callable[[Scale], list[Scenario]]:
    """IV-D. Vitis is told the rates; RVR has no use for them."""

    def made(scale: Scale, law: str, x: float) -> Scenario:
        params: dict[str, Any] = {"rates": law} if overlay == "vitis" else {}
        name = f"rates {label}"
        return scenario(scale, name, x, overlay, pattern, published=law, **params)

    return lambda scale: [made(scale, f"zipf:{x:g}", x) for x in scale.rates]


def sizes(label: str, overlay: str) -> Callable[[Scale], list[Scenario]]:
    """III-A: the bound on the delay."""
    return lambda scale: [
        scenario(scale, f"size {label}", n, overlay, nodes=n) for n in scale.sizes
    ]


PATTERNS = ("random", "low", "high")
EXPERIMENTS: dict[str, Callable[[Scale], list[Scenario]]] = {
    **{f"friends {pattern}": friends(pattern) for pattern in PATTERNS},
    **{f"table {pattern}": tables(pattern, "vitis", pattern) for pattern in PATTERNS},
    "table rvr": tables("rvr", "rvr", "random"),
    **{f"rates {pattern}": rates(pattern, "vitis", pattern) for pattern in ("random", "high")},
    "rates rvr": rates("rvr", "rvr", "random"),
    "size vitis": sizes("vitis", "vitis"),
    "size rvr": sizes("rvr", "rvr"),
}


def scenarios(names: Iterable[str], scale: str) -> list[Scenario]:
    return [one for name in dict.fromkeys(names) for one in EXPERIMENTS[name](SCALES[scale])]
