"""OMen under churn by its own parts, replayed in one place: no message is sent.

Simulating every message of a thousand nodes over a whole trace takes days. How degrees develop is
decided by which nodes are in a shadow set and which links Algorithm 1 adds, so those parts of the
overlay are called here, one change after another. A probe finds which shadow nodes are connected,
and gossip tells nodes of candidates for backup sets: here the components are looked up, and the
candidates are drawn at random, as many as a node remembers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.ids import NodeId
from orbweaver.core.params import Params, build
from orbweaver.core.seeds import generator
from orbweaver.core.topics import TopicTable
from orbweaver.design.rules import Rule
from orbweaver.overlays.omen.acquaintances import SIZE_MAX
from orbweaver.overlays.omen.backups import (
    Candidate,
    build_backups_greedy,
    build_backups_primal_dual,
)
from orbweaver.overlays.omen.churn import Shadow, shadow_of
from orbweaver.overlays.omen.components import joined_alike, joined_in_truth
from orbweaver.overlays.omen.repair import Joined, repair_tco_on_churn
from orbweaver.overlays.omen.views import LocalView
from orbweaver.sim.oracle import Oracle
from orbweaver.study.omen.replay import Up, plan, replay
from orbweaver.study.procedures import Findings, Procedure
from orbweaver.workload.links import Link
from orbweaver.workload.scenario import Scenario, Workload


class MendingParams(Params, frozen=True):
    coverage: Annotated[int, Meta(ge=0, description="lambda", title="Sec. 4.2: 5")] = 5
    rho: Annotated[float, Meta(ge=1, description="rho of the LowODA rule", title="not given")] = 3.0
    backups: Annotated[
        Literal["primal-dual", "greedy"],
        Meta(description="how backup sets are built", title="Sec. 6.3: primal-dual"),
    ] = "primal-dual"
    known: Annotated[
        int,
        Meta(
            ge=0,
            description="candidates that backups are chosen from; 0 for all, which is OMen-G",
            title="as many as a node remembers",
        ),
    ] = SIZE_MAX


class Mended:
    """An overlay that the parts of OMen mend."""

    def __init__(
        self,
        of_node: Sequence[Collection[str]],
        topics: TopicTable,
        up: Up,
        params: MendingParams,
        seed: int,
    ) -> None:
        self._params = params
        self._rng = generator("omen mending", seed)
        self._interests = [topics.interest(wanted) for wanted in of_node]
        self._neighbors: list[dict[NodeId, None]] = [{} for _ in of_node]
        self._oracle = Oracle(len(of_node), topics, lambda node: self._neighbors[node])
        self._oracle.load((NodeId(node), self._interests[node]) for node in up)
        for a, b in plan(of_node, up, (), Rule("lowoda", params.rho), seed):
            self._link(NodeId(a), NodeId(b))

    def join(self, node: int, up: Up) -> None:
        """Link up a node that has joined: S = B(v') + v'."""
        peer, interest = NodeId(node), self._interests[node]
        backups = dict(self._build_backups(peer, up, max(1, self._params.coverage)))
        self._oracle.put(peer, interest)
        shadow = Shadow((), interest.mask, {peer: interest.mask}, backups, ())
        self.mend(shadow, joins=True)

    def leave(self, node: int, up: Up) -> None:
        """Join again what a node held together: S = B(v') + N(v')."""
        peer = NodeId(node)
        self._oracle.remove(peer)
        neighbors, self._neighbors[peer] = self._neighbors[peer], {}
        for other in neighbors:
            del self._neighbors[other][peer]
        view = LocalView(1)
        view.topics = self._interests[peer].mask
        view.neighbors = {other: self._interests[other].mask for other in neighbors}
        view.backups = dict(self._build_backups(peer, up, self._params.coverage))
        self.mend(shadow_of(peer, {peer: view}, ()), joins=False)

    def links(self, up: Up) -> Sequence[Link]:
        return [(a, b) for a, peers in enumerate(self._neighbors) for b in peers if a < b]

    def mend(self, shadow: Shadow, joins: bool) -> None:
        """Add the links that Algorithm 1 chooses."""
        interests = shadow.interests()
        joined: Iterable[Joined]
        if joins:  # what was there before is connected
            joined = joined_alike(
                (1 << topic, node, NodeId(0))
                for node, mask in shadow.backups.items()
                for topic in bits_of(mask & shadow.topics)
            )
        else:
            joined = joined_in_truth(interests, shadow.topics, self._oracle)
        degrees = {node: len(self._neighbors[node]) for node in interests}
        rho = self._params.rho
        for a, b in repair_tco_on_churn(interests, shadow.topics, joined, degrees, rho):
            self._link(a, b)

    def _build_backups(self, node: NodeId, up: Up, factor: int) -> list[Candidate]:
        wanted = self._interests[node].mask
        candidates = list(self._candidates(wanted, up).items())
        if self._params.backups == "greedy":
            return build_backups_greedy(wanted, candidates, factor)
        return build_backups_primal_dual(wanted, candidates, factor, self._rng)

    def _candidates(self, wanted: int, up: Up) -> dict[NodeId, int]:
        """Return the nodes that a coordinator knows of, with their topics: some at random, and one
        for each topic that none of these has, because gossip looks for it."""
        known = self._params.known or len(up)
        peers = self._oracle.sample(min(1.0, known / max(1, len(up))), self._rng)
        candidates = {peer: self._oracle.mask_of(peer) for peer in peers}
        missing = wanted
        for mask in candidates.values():
            missing &= ~mask
        for topic in bits_of(missing):
            found = self._oracle.any_match(1 << topic, (), self._rng)
            if found is not None:
                candidates[found] = self._oracle.mask_of(found)
        return candidates

    def _link(self, a: NodeId, b: NodeId) -> None:
        self._neighbors[a][b] = None
        self._neighbors[b][a] = None


def mend(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    params = build(MendingParams, scenario.params, "omen-replay")
    of_node = workload.subscriptions.of_node
    topics = TopicTable(workload.subscriptions.topics)
    return replay(scenario, workload, seed, lambda up: Mended(of_node, topics, up, params, seed))


MENDING = Procedure("omen-replay", MendingParams, mend)
