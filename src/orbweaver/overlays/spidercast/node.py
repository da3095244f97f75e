"""This is one node's side of SpiderCast."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, cast

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import Links
from orbweaver.gossip.membership import MembershipService
from orbweaver.overlays.spidercast.adaptive import KR_MAX, next_kr
from orbweaver.overlays.spidercast.coverage import GreedyCoverage, RandomCoverage, Ties
from orbweaver.overlays.spidercast.maintenance import MaintenanceParams, NeighborMaintenance
from orbweaver.overlays.spidercast.messages import (
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    Heartbeat,
    Leave,
    Redirect,
)
from orbweaver.overlays.spidercast.tasks import Tasks, to_task


class SpiderCastParams(MaintenanceParams, frozen=True):
    kg: Annotated[
        int, Meta(ge=0, le=100, description="greedy coverage of each topic", title="Sec. 3.3: 3")
    ] = 3
    kr: Annotated[
        int, Meta(ge=0, le=100, description="random coverage of each topic", title="Sec. 3.3: 0")
    ] = 0
    ties: Annotated[
        Ties,
        Meta(
            description="break ties of the greedy choice at random, or in one order that is "
            "common to all nodes",
            title="Fig. 5 l. 8: random",
        ),
    ] = "random"
    adaptive: Annotated[
        bool,
        Meta(
            description="let a node whose links are too alike raise its own kr, up to 3",
            title="proposed in Sec. 3.3.1; stays at kr for the paper's workloads but Zipf 2",
        ),
    ] = True


class SpiderCast(Overlay):
    name: ClassVar[str] = "spidercast"
    summary: ClassVar[str] = "coverage-driven topic-connected overlay"
    paper: ClassVar[str] = "SpiderCast, DEBS 2007"
    Params = SpiderCastParams
    params: SpiderCastParams
    messages = (Connect, ConnectOk, Redirect, Disconnect, DisconnectOk, Leave, Heartbeat,
                *Links.messages, *MembershipService.messages)  # fmt: skip

    def __init__(self, context: Context, params: SpiderCastParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.linked = Links(context, params.failure_ms)
        self.neighbors = self.linked.neighbors
        self.plumtree = self.linked.plumtree
        self.membership = MembershipService(context, params, self.interest)
        view = self.membership.view
        self.greedy = GreedyCoverage(params.kg, self.interest, view, context.rng, params.ties)
        self.random = RandomCoverage(params.kr, self.interest, view, context.rng)
        aims = (self.greedy, self.random)
        self.tasks = Tasks(context, params, aims, self.interest, self.linked, self.membership)
        self.running = False

    @classmethod
    def claims(cls, params: SpiderCastParams) -> Claims:
        return Claims(
            noiseless=True,
            topic_connected=True,
            total_delivery=True,
            degree_bound="(kg + kr) * interests + margin for each of the two tasks",
        )

    @classmethod
    def degree_bound(cls, params: SpiderCastParams, interest: Interest) -> int:
        kr = max(params.kr, KR_MAX) if params.adaptive else params.kr
        return (params.kg + kr) * len(interest) + 2 * params.margin

    def start(self, contacts: Sequence[NodeId]) -> None:
        now = self.context.outbox.now()
        self.running = True
        self.interest.start(now)
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
        if isinstance(timer, tuple):  # Fig. 2
            self.tasks.all[timer[1]].maintain_neighbors()
            if self.params.adaptive:
                self.adapt_kr()
        elif timer == Heartbeats.TIMER:
            self.beat()
        elif timer == MembershipService.TIMER:
            self.membership.wake()
            self.tasks.start_when_settled()
        else:
            self.plumtree.wake(cast(str, timer))

    def lost(self, peer: NodeId) -> None:
        self.tasks.lost(peer)
        self.membership.forget(peer)

    def links(self) -> Collection[NodeId]:
        return self.neighbors.keys()

    def status(self) -> dict[str, int]:
        return {
            "kr": self.random.k,
            "target": sum(task.target for task in self.tasks.all),
            "covered": int(self.covered()),
        }

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self.tasks.interest_changed()

    def beat(self) -> None:
        self.context.outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
        for peer in self.linked.silent():
            self.lost(peer)
        self.tasks.beat()

    def covered(self) -> bool:
        greedy, random = self.tasks.all
        return greedy.covered and (random.covered or self.random.k == 0)

    def adapt_kr(self) -> None:
        """Raise K_r where the links are too alike (Sec. 3.3.1)."""
        if self.covered():
            kr = next_kr(
                self.random.k, self.params.kg, len(self.neighbors), len(self.interest.topics)
            )
            if kr != self.random.k:
                self.random.k = kr
                task = self.tasks.all[1]
                task.covered = False
                task.wake_up()


SpiderCast.ON = {
    Connect: to_task(NeighborMaintenance.on_connect),
    ConnectOk: to_task(NeighborMaintenance.on_connect_ok),
    Redirect: to_task(NeighborMaintenance.on_redirect),
    Disconnect: to_task(NeighborMaintenance.on_disconnect),
    # Fig. 4, lines 27-28
    DisconnectOk: to_task(lambda task, sender, _: task.remove_connection(sender)),
    Leave: lambda node, sender, message: node.tasks.on_leave(sender, message),
    Heartbeat: lambda node, sender, message: node.tasks.on_heartbeat(sender, message),
    **Links.HANDLERS,
    **MembershipService.HANDLERS,
}
