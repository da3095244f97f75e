"""similarity(x, y) and random(y) are SpiderCast's maintenance with a different choice of neighbours
(Sec. 3.9.1).

A node wants x neighbours whose interests are most like its own, and y random ones. It counts
neighbours, not coverage, so L^max is the number that it wants.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import Annotated, ClassVar, cast

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.overlay import Claims, Context, InterestView, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import Links
from orbweaver.gossip.membership import MembershipService
from orbweaver.overlays.spidercast.maintenance import Aim, Audit, MaintenanceParams, Neighbor
from orbweaver.overlays.spidercast.node import SpiderCast
from orbweaver.overlays.spidercast.tasks import Tasks


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
    """Wants a number of neighbours: similar ones if `interest` is given, else any."""

    def __init__(
        self, wanted: int, view: InterestView, rng: Random, interest: OwnInterest | None = None
    ) -> None:
        self._wanted = wanted
        self._view = view
        self._rng = rng
        self._interest = interest

    def limit(self) -> int:
        return self._wanted

    def audit(self, neighbors: Collection[Neighbor]) -> CountAudit:
        return CountAudit(self._wanted, len(neighbors))

    def next_node(self, neighbors: Collection[Neighbor], exclude: set[NodeId]) -> NodeId | None:
        if self._interest is None:  # NEXTRANDOMNODE
            return self._view.any_peer(exclude, self._rng)
        # NEXTSIMILARITYNODE: the largest intersection with the node's own interest.
        return self._view.best_match(self._interest.topics.mask, exclude, self._rng)


class SimilarityParams(MaintenanceParams, frozen=True):
    similar: Annotated[
        int, Meta(ge=0, le=1000, description="similar neighbours wanted (x)", title="Sec. 3.9.1")
    ] = 10
    random: Annotated[
        int, Meta(ge=0, le=1000, description="random neighbours wanted (y)", title="Sec. 3.9.1")
    ] = 0


class RandomParams(MaintenanceParams, frozen=True):
    random: Annotated[
        int, Meta(ge=0, le=1000, description="random neighbours wanted (y)", title="Sec. 3.9.1")
    ] = 10


class Similarity(Overlay):
    name: ClassVar[str] = "similarity"
    summary: ClassVar[str] = "links to the nodes with most shared topics, and some random ones"
    paper: ClassVar[str] = "baseline of SpiderCast, Sec. 3.9.1"
    Params: ClassVar[type[MaintenanceParams]] = SimilarityParams
    params: SimilarityParams | RandomParams
    messages = SpiderCast.messages

    def __init__(self, context: Context, params: SimilarityParams | RandomParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.linked = Links(context, params.failure_ms)
        self.plumtree = self.linked.plumtree
        self.membership = MembershipService(context, params, self.interest)
        view = self.membership.view
        aims = (
            CountAim(_similar(params), view, context.rng, self.interest),
            CountAim(params.random, view, context.rng),
        )
        self.tasks = Tasks(context, params, aims, self.interest, self.linked, self.membership)
        self.running = False

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
        return _similar(params) + params.random + 2 * params.margin

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.running = True
        self.interest.start(self.context.outbox.now())
        self.plumtree.start()
        self.membership.start(contacts)
        phase = 1 + below(self.context.rng, self.params.heartbeat_ms)
        self.context.outbox.set_timer(Heartbeats.TIMER, phase)
        self.tasks.start_when_settled()

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.membership.meet(contacts)

    def stop(self) -> None:
        self.running = False
        self.tasks.leave()

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.plumtree.subscribe(topic)
        self.interest_changed()

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        self.plumtree.unsubscribe(topic)
        self.interest_changed()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        return self.publish_run(topic, (payload,))[0].event

    def publish_run(self, topic: Topic, payloads: Sequence[bytes]) -> Sequence[Carrier]:
        if self.interest.publish(topic):
            self.interest_changed()
        return (self.plumtree.publish_run(topic, payloads),)

    def reach(self, topic: Topic) -> int:
        return self.plumtree.reach(topic)

    def wake(self, timer: Timer) -> None:
        if isinstance(timer, tuple):
            self.tasks.all[timer[1]].maintain_neighbors()
        elif timer == Heartbeats.TIMER:
            self.context.outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
            for peer in self.linked.silent():
                self.lost(peer)
            self.tasks.beat()
        elif timer == MembershipService.TIMER:
            self.membership.wake()
            self.tasks.start_when_settled()
        else:
            self.plumtree.wake(cast(str, timer))

    def lost(self, peer: NodeId) -> None:
        self.tasks.lost(peer)
        self.membership.forget(peer)

    def links(self) -> Collection[NodeId]:
        return self.linked.neighbors.keys()

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self.tasks.interest_changed()


Similarity.ON = SpiderCast.ON


class RandomLinks(Similarity):
    """This is similarity(0, y)."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "links to random nodes"
    Params = RandomParams


def _similar(params: SimilarityParams | RandomParams) -> int:
    return params.similar if isinstance(params, SimilarityParams) else 0
