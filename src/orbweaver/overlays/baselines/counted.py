"""similarity(x, y) and random(y): SpiderCast's code with another choice (Sec. 3.9.1).

A node wants x neighbours whose interests are most like its own and y random ones. There
is no coverage to be complete, only a number to be reached, so L^max is that number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Claims, InterestView
from orbweaver.core.topics import Interest
from orbweaver.gossip.maintenance import Aim, Audit, Neighbor
from orbweaver.gossip.tasked_mesh import TaskedMesh, TaskedMeshParams


class CountAudit(Audit):
    __slots__ = ("_neighbors", "_wanted")

    def __init__(self, wanted: int, neighbors: int) -> None:
        self._wanted = wanted
        self._neighbors = neighbors

    @property
    def under(self) -> int:
        return max(0, self._wanted - self._neighbors)

    def under_without(self, neighbor: Neighbor) -> int:
        return max(0, self._wanted - self._neighbors + 1)


class CountAim(Aim):
    """A plain number of neighbours."""

    def __init__(self, wanted: int, choose: Callable[[set[NodeId]], NodeId | None]) -> None:
        self._wanted = wanted
        self._choose = choose

    def limit(self) -> int:
        return self._wanted

    def audit(self, neighbors: Collection[Neighbor]) -> CountAudit:
        return CountAudit(self._wanted, len(neighbors))

    def next_node(self, neighbors: Collection[Neighbor], exclude: set[NodeId]) -> NodeId | None:
        return self._choose(exclude)


def next_similarity_node(
    view: InterestView, own_interest: Callable[[], Interest], rng: Random
) -> Callable[[set[NodeId]], NodeId | None]:
    """NEXTSIMILARITYNODE: the largest intersection with one's own interest."""
    return lambda exclude: view.best_match(own_interest().mask, exclude, rng)


def next_random_node(view: InterestView, rng: Random) -> Callable[[set[NodeId]], NodeId | None]:
    """NEXTRANDOMNODE: anybody."""
    return lambda exclude: view.any_peer(exclude, rng)


class SimilarityParams(TaskedMeshParams, frozen=True):
    similar: Annotated[
        int, Meta(ge=0, le=1000, description="similar neighbours wanted (x)", title="Sec. 3.9.1")
    ] = 10
    random: Annotated[
        int, Meta(ge=0, le=1000, description="random neighbours wanted (y)", title="Sec. 3.9.1")
    ] = 0


class RandomParams(TaskedMeshParams, frozen=True):
    random: Annotated[
        int, Meta(ge=0, le=1000, description="random neighbours wanted (y)", title="Sec. 3.9.1")
    ] = 10


class Counted(TaskedMesh):
    params: SimilarityParams | RandomParams

    @classmethod
    def claims(cls, params: SimilarityParams | RandomParams) -> Claims:
        links = "similar + random" if isinstance(params, SimilarityParams) else "random"
        return Claims(
            noiseless=True,
            topic_connected=False,
            total_delivery=False,
            degree_bound=f"{links} + margin for each of the two tasks",
        )

    @classmethod
    def degree_bound(cls, params: SimilarityParams | RandomParams, interest: Interest) -> int:
        similar = params.similar if isinstance(params, SimilarityParams) else 0
        return similar + params.random + 2 * params.margin

    def _aims(self) -> list[Aim]:
        rng = self.context.rng
        similar = self.params.similar if isinstance(self.params, SimilarityParams) else 0
        return [
            CountAim(similar, next_similarity_node(self.view, lambda: self.interest, rng)),
            CountAim(self.params.random, next_random_node(self.view, rng)),
        ]


class Similarity(Counted):
    name: ClassVar[str] = "similarity"
    summary: ClassVar[str] = "links to the nodes with most shared topics, and some random ones"
    paper: ClassVar[str] = "baseline of SpiderCast, Sec. 3.9.1"
    Params = SimilarityParams


class RandomLinks(Counted):
    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "links to random nodes"
    paper: ClassVar[str] = "baseline of SpiderCast, Sec. 3.9.1"
    Params = RandomParams
