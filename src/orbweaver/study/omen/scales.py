"""The scales at which OMen's experiments are run, and the traces that each needs."""

from __future__ import annotations

import dataclasses

from orbweaver.study.traces import Trace

GRAPHS = {
    "FB": ("social/facebook100_Cornell5.csv.gz", "undirected-edges"),
    "TW": ("social/twitter_ego_snap_undirected.txt.gz", "undirected-edges"),
    "ego": ("social/facebook_ego_snap.txt.gz", "undirected-edges"),
}
"""Name -> file and kind. FB and TW stand in for the paper's graphs, of which the first is a whole
network too; ego is a third one, of the neighbourhoods of ten users."""


@dataclasses.dataclass(frozen=True)
class Scale:
    name: str
    population: int
    """Nodes whose backup sets are built without a network."""
    synthetic: int
    """Nodes of simulations with drawn subscriptions."""
    planned: tuple[int, ...]
    """Nodes of social samples on which something is computed and nothing simulated (O4, O9)."""
    sampled: tuple[int, int]
    """Nodes of the social samples on which OMen and SpiderCast meet churn, the smaller first."""
    compared: int
    """Nodes of the social samples for the claims about one size. It is one of `sampled`."""
    coverages: tuple[int, ...]
    """Coverage factors with churn (O5)."""
    rounds: int
    """Changes of the churn trace that are played. The trace has fewer for 1000 machines (1471)."""
    counted_rounds: int
    """Changes that are played where messages are counted, and OMen is simulated (O11)."""
    groups: int
    """Groups of nodes that crash together (O12)."""
    looked: int = 1
    """Once in how many changes the overlay is looked at."""
    replayed: bool = False
    """Whether OMen is replayed by its parts (`mending`) where the degrees under the trace are
    asked for. SpiderCast, messages and crashes of groups are simulated at each scale."""

    def sample(self, graph: str, nodes: int) -> Trace:
        """Users found by a breadth-first search from a few, and the edges among them (6.1)."""
        file, kind = GRAPHS[graph]
        seeds = max(2, min(10, nodes // 50))
        settings = {"nodes": nodes, "seeds": seeds}
        return Trace(f"{graph} {nodes}", file, kind, method="bfs", settings=settings)

    @property
    def machines(self) -> Trace:
        """Machines drawn among those that are up when the trace begins (6.1)."""
        nodes = max(self.synthetic, *self.sampled)
        return Trace(
            f"machines {nodes}",
            "churn/google2011_machine_events.csv.gz",
            "machine-events",
            method="machines",
            settings={"nodes": nodes},
        )

    @property
    def traces(self) -> tuple[Trace, ...]:
        sizes = {"FB": dict.fromkeys((*self.sampled, *self.planned))}
        one = {self.compared: None}
        graphs = [self.sample(graph, n) for graph in GRAPHS for n in sizes.get(graph, one)]
        return (*graphs, self.machines)


SCALES = {
    "quick": Scale(
        name="a tenth of the paper's nodes and a hundredth of its churn",
        population=1000,
        synthetic=50,
        planned=(1000,),
        sampled=(50, 100),
        compared=100,
        coverages=(0, 1, 5, 9),
        rounds=20,
        counted_rounds=20,
        groups=4,
    ),
    "middle": Scale(
        name="a fifth of the paper's nodes and a twentieth of its churn",
        population=2000,
        synthetic=200,
        planned=(1000,),
        sampled=(100, 200),
        compared=200,
        coverages=(0, 1, 3, 5, 7, 9),
        rounds=100,
        counted_rounds=100,
        groups=20,
    ),
    "full": Scale(
        name="the paper's own; OMen under the trace is replayed by its parts, without messages",
        population=2000,
        synthetic=2000,
        planned=(1000, 10_000),
        sampled=(1000, 10_000),
        compared=1000,
        coverages=(0, 1, 3, 5, 7, 9),
        rounds=2000,
        counted_rounds=40,
        groups=100,
        looked=20,
        replayed=True,
    ),
}
TRACES = {name: scale.traces for name, scale in SCALES.items()}
