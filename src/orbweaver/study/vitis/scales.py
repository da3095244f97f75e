"""The scales at which Vitis' experiments are run.

Smaller scales are not the same thing made smaller. The middle one keeps how many subscribers a
topic has, and how many topics and nodes a group, but more nodes share all their groups; the
quick one keeps none of these. At the paper's own scale, where a run takes ten minutes, tables
have the two ends that claims are about.
"""

from __future__ import annotations

import dataclasses

from orbweaver.study.traces import Trace


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
    settle_ms: int
    """The warm-up where friends are what is measured: they have to have stopped changing."""
    events: int
    """Published: enough for some twenty on the topics of each node, whose own share of overhead
    would otherwise be a matter of chance."""
    sampled: int
    """Nodes of the Twitter sample."""
    churn_ms: int
    """How long the availability trace is played."""
    peers: int
    """As many as come in that time, at least; the trace's others are left out."""
    crowd: int
    """Nodes that join at once in the middle of it."""

    def law(self, pattern: str) -> str:
        taken = {"low": 5, "high": 2}.get(pattern)
        return f"buckets:{self.buckets}:{taken}" if taken else "uniform"

    @property
    def twitter(self) -> Trace:
        """Nodes at random, and whom they follow: one hop of a breadth-first search, all but
        the last few nodes."""
        seeds = self.sampled * 3 // 100
        return Trace(
            f"twitter {self.sampled}",
            "social/twitter_ego_snap_undirected.txt.gz",
            "undirected-edges",
            method="bfs",
            settings={"nodes": self.sampled, "seeds": seeds},
        )


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
        sizes=(125, 250, 500),
        warmup_ms=30_000,
        settle_ms=40_000,
        events=500,
        sampled=500,
        churn_ms=120_000,
        peers=1500,
        crowd=200,
    ),
    "middle": Scale(
        name="a fifth of the paper's nodes and topics",
        nodes=2000,
        topics=1000,
        subscriptions=50,
        buckets=20,
        friends=(0, 6, 12),
        tables=(15, 25, 35),
        rates=(0.3, 1.0, 3.0),
        sizes=(500, 1000, 2000),
        warmup_ms=30_000,
        settle_ms=50_000,
        events=500,
        sampled=2000,
        churn_ms=400_000,
        peers=1500,
        crowd=400,
    ),
    "full": Scale(
        name="the paper's own",
        nodes=10_000,
        topics=5000,
        subscriptions=50,
        buckets=100,
        friends=(0, 6, 12),
        tables=(15, 35),
        rates=(0.3, 1.0, 3.0),
        sizes=(2500, 5000, 10_000),
        warmup_ms=30_000,
        settle_ms=120_000,
        events=2000,
        sampled=10_000,
        churn_ms=900_000,
        peers=3000,
        crowd=400,
    ),
}
