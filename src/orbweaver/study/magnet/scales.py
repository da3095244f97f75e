"""The scales at which Magnet's experiments are run.

Smaller scales keep the share of its categories' topics that a node takes, a half in the base
setting, and so how much interests correlate. They do not keep how many subscribers a topic has,
which grows with the number of nodes: 500 in the paper, 10 at the quick scale.
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
    modes: tuple[int, ...]
    """Categories that a node chooses, b_p. Each of the two numbers of categories that go with it
    divides the number of topics, which excludes 3 of 30 and 3 of 15 in the paper."""
    popularity_nodes: int
    """Nodes where exponents and subscription sizes are compared (Fig. 4)."""
    popularity_subscriptions: int
    exponents: tuple[float, ...]
    subscription_sizes: tuple[int, ...]
    spatial_nodes: tuple[int, ...]
    hierarchy: int
    """Nodes, and topics, of the hierarchical model."""
    homophily: tuple[float, ...]
    init_fracs: tuple[float, ...]
    hierarchy_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    """Numbers of nodes over which paths are measured."""
    fingers: tuple[int, ...]
    events: int
    """Events where topics have different rates; with uniform rates there is one on each topic."""
    warmup_ms: int
    """Until places and fingers have settled, and then the trees, some 20 s later."""
    sampled: int
    """Nodes of each real trace, at most; 0 keeps all subscribers of the topics."""
    trace_topics: dict[str, int]
    """Trace -> topics drawn at random, with all their subscribers (4.5)."""

    @property
    def traces(self) -> tuple[Trace, ...]:
        return tuple(
            Trace(
                f"magnet {name} {topics}",
                *FILES[name],
                method="random-topics",
                settings={"topics": topics} | ({"nodes": self.sampled} if self.sampled else {}),
            )
            for name, topics in self.trace_topics.items()
        )


FILES = {
    "wiki": ("subscriptions/wikipedia_edits_jodie.txt.gz", "edits"),
    "youtube": ("subscriptions/youtube_groupmemberships.txt.gz", "pairs"),
    "github": ("subscriptions/github_watch_2009_a.txt.gz", "pairs"),
    "citeulike": ("subscriptions/citeulike_a_users.txt.gz", "lists"),
}
"""Trace -> its file and kind. The first one stands in for the paper's, the others are ours."""

SCALES = {
    "quick": Scale(
        name="two hundred nodes, a fiftieth of the paper's",
        nodes=200,
        topics=200,
        subscriptions=10,
        modes=(1, 2, 5),
        popularity_nodes=200,
        popularity_subscriptions=8,
        exponents=(0.0, 0.75, 1.5),
        subscription_sizes=(4, 16),
        spatial_nodes=(100, 200),
        hierarchy=1 << 7,
        homophily=(0.5, 2.0),
        init_fracs=(0.1, 0.5),
        hierarchy_sizes=(8, 16, 32),
        sizes=(50, 100, 200),
        fingers=(3, 7, 14),
        events=400,
        warmup_ms=50_000,
        sampled=200,
        trace_topics={"wiki": 60, "youtube": 60, "github": 60, "citeulike": 60},
    ),
    "middle": Scale(
        name="a thousand nodes, a tenth of the paper's",
        nodes=1000,
        topics=1000,
        subscriptions=50,
        modes=(1, 2, 5),
        popularity_nodes=500,
        popularity_subscriptions=18,
        exponents=(0.0, 0.75, 1.5),
        subscription_sizes=(9, 18, 36),
        spatial_nodes=(250, 1000),
        hierarchy=1 << 10,
        homophily=(0.5, 1.0, 2.0),
        init_fracs=(0.1, 0.3, 0.5),
        hierarchy_sizes=(8, 16, 32),
        sizes=(250, 500, 1000),
        fingers=(3, 7, 14),
        events=2000,
        warmup_ms=60_000,
        sampled=1000,
        trace_topics={"wiki": 300, "youtube": 300, "github": 300, "citeulike": 300},
    ),
    "full": Scale(
        name="the paper's own",
        nodes=10_000,
        topics=1000,
        subscriptions=50,
        modes=(1, 2, 4, 5),
        popularity_nodes=5000,
        popularity_subscriptions=18,
        exponents=(0.0, 0.5, 1.0, 1.5),
        subscription_sizes=(9, 18, 36),
        spatial_nodes=(2500, 5000, 10_000),
        hierarchy=1 << 14,
        homophily=(0.5, 1.0, 2.0),
        init_fracs=(0.1, 0.3, 0.5),
        hierarchy_sizes=(8, 16, 32),
        sizes=(2500, 5000, 10_000),
        fingers=(3, 7, 14),
        events=5000,
        warmup_ms=80_000,
        sampled=0,
        trace_topics={"wiki": 1000, "youtube": 3000, "github": 3000, "citeulike": 3000},
    ),
}
