"""One node's side of OMen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar, cast

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below, sample
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import Links
from orbweaver.gossip.membership import MembershipService
from orbweaver.gossip.messages import Exchange, ExchangeReply
from orbweaver.overlays.omen.acquaintances import Acquaintances
from orbweaver.overlays.omen.churn import JoinRequests
from orbweaver.overlays.omen.coordinator import Coordinator, Given
from orbweaver.overlays.omen.exchanges import Exchanges
from orbweaver.overlays.omen.labels import ComponentLabels
from orbweaver.overlays.omen.linking import Linking
from orbweaver.overlays.omen.messages import (
    Alive,
    Enlist,
    Handled,
    Join,
    Leaving,
    LinkAccept,
    LinkDown,
    LinkRequest,
    Local,
    Meet,
    Mend,
    Probe,
    ShadowReport,
    Shed,
    ShedTested,
    ViewAsk,
    ViewTold,
)
from orbweaver.overlays.omen.params import OMenParams
from orbweaver.overlays.omen.probing import Probing
from orbweaver.overlays.omen.repairs import Repairs
from orbweaver.overlays.omen.ring import IdentifierCircle
from orbweaver.overlays.omen.selection import ViewSelection
from orbweaver.overlays.omen.shedding import Shedding
from orbweaver.overlays.omen.views import LocalViews, OwnLocal, given_up

TOLD_TIMES = 3
"""In how many heartbeats a change of interest is told, since messages can be lost."""
MEETINGS = 3
"""How many nodes a root meets in each heartbeat, each for another topic."""
LABELS_MET_MAX = 64
"""How many labels a node shows to a node that it meets."""


class OMen(Overlay):
    name: ClassVar[str] = "omen"
    summary: ClassVar[str] = "low-degree topic-connected overlay, mended by backup sets"
    paper: ClassVar[str] = "OMen, DEBS 2016"
    Params = OMenParams
    params: OMenParams
    messages = (Alive, LinkRequest, LinkAccept, LinkDown, Local, Join, Leaving, Handled,
                Enlist, Probe, ShadowReport, Mend, ViewAsk, ViewTold, Shed, ShedTested, Meet,
                Exchange, ExchangeReply, *Links.messages, *MembershipService.messages)  # fmt: skip

    CYCLE = "cycle"
    LABELS = "labels"

    def __init__(self, context: Context, params: OMenParams) -> None:
        super().__init__(context, params)
        me = context.me
        self.interest = OwnInterest(me, context.topics)
        self.linked = Links(context, params.failure_ms)
        self.neighbors = self.linked.neighbors
        self.plumtree = self.linked.plumtree
        self.heartbeats = self.linked.heartbeats
        self.membership = MembershipService(context, params, self.interest)
        self.pool = Acquaintances(me, params.age_max_ms)
        self.circle = IdentifierCircle(me, params.resilience + 1, context.places)
        self.linking = Linking(context, params, self.interest, self.linked, self.circle)
        self.exchanges = Exchanges(context, params, self.interest, self.pool, self.circle)
        self.selection = ViewSelection(context, params)
        self.views = LocalViews(params.resilience, params.ready_rounds)
        self.local = OwnLocal()
        self.repairs = Repairs(context, params, self.circle, self.views, self.pool)
        self.join_requests = JoinRequests()
        self.shedding = Shedding(context, params.shed_ms, self.interest, self.neighbors)
        self.labels = ComponentLabels(me, params.heartbeat_ms)
        self.probing = Probing(
            context, self.interest, self.neighbors, self.shedding.tested, self.labels
        )
        self.beats = 0
        self.ring_moved = True
        """Whether the ring neighbours have changed since the last cycle."""
        self.tell = 0
        """In how many heartbeats this node's descriptor is told yet."""
        self.running = False

    @classmethod
    def claims(cls, params: OMenParams) -> Claims:
        return Claims(noiseless=True, topic_connected=True, total_delivery=True)

    # -- what the host calls

    def start(self, contacts: Sequence[NodeId]) -> None:
        outbox = self.context.outbox
        self.running = True
        self.interest.start(outbox.now())
        self.repairs.coordinator.start(outbox.now())
        self.plumtree.start()
        self.membership.start(contacts)
        self.meet(contacts)
        if self.params.contacts_are_links and not self.context.kept:
            self.linking.ask(contacts)
            outbox.keep(b"started")  # a node that comes back joins like any other
        outbox.set_timer(Heartbeats.TIMER, 1 + below(self.context.rng, self.params.heartbeat_ms))
        outbox.set_timer(self.CYCLE, 1 + below(self.context.rng, self.params.cycle_ms // 2 + 1))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.membership.meet(contacts)
        for contact in contacts[:3]:
            if contact != self.context.me:
                self.exchange_with(contact)

    def stop(self) -> None:
        self.running = False
        for peer in self.watched():
            self.context.outbox.send(peer, Leaving())
        for peer in list(self.neighbors):
            self.linking.remove(peer)

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
        if timer == Heartbeats.TIMER:
            self.beat()
        elif timer == self.CYCLE:
            self.cycle()
        elif timer == self.LABELS:
            self.tell_labels()
        elif timer == Coordinator.TIMER:
            self.give(self.repairs.go_on())
        elif timer == Probing.TIMER:
            self.give(self.probing.reports())
        elif timer == MembershipService.TIMER:
            self.membership.wake()
        else:
            self.plumtree.wake(cast(str, timer))

    def lost(self, peer: NodeId) -> None:
        """A neighbour on the ring or in the overlay has left: a churn event."""
        self.depart(peer)

    def links(self) -> Collection[NodeId]:
        return self.neighbors.keys()

    def status(self) -> dict[str, int]:
        return {
            "uncovered": self.uncovered().bit_count(),
            "views": len(self.views.of),
            "views_ready": len(self.views.ready()),
            "churn_pending": len(self.repairs.churn.pending()),
        }

    # -- failure detection among ring neighbours and overlay neighbours (Sec. 3.3)

    def watched(self) -> list[NodeId]:
        return list(dict.fromkeys([*self.neighbors, *self.circle.nodes]))

    def beat(self) -> None:
        outbox, now = self.context.outbox, self.context.outbox.now()
        outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
        for peer in self.heartbeats.suspects(self.watched(), now):
            self.depart(peer)
        self.beats += 1
        self.labels.step(self.interest.topics, self.neighbors, now)
        for peer in self.watched():
            outbox.send(peer, self.alive(peer, asks=True))
        self.tell -= 1
        self.look_for_others()

    def alive(self, peer: NodeId, asks: bool) -> Alive:
        """Return a sign of life, with what the peer may not know yet."""
        about = self.interest.about if self.tell > 0 else None
        holds = self.views.number_of(peer)
        interest = self.neighbors.get(peer)
        if interest is None:
            return Alive(False, asks, holds, about, (), ())
        told = self.beats % TOLD_TIMES == 0
        labels = self.labels.news_for(peer, [t for t in self.interest.topics if t in interest])
        return Alive(True, asks, holds, about, self.circle.successors if told else (), labels)

    def on_alive(self, sender: NodeId, message: Alive) -> None:
        now = self.context.outbox.now()
        self.heard(sender)
        if message.about is not None and message.about.node == sender:
            self.pool.take([message.about], [0], now)
            if sender in self.neighbors:
                self.link(message.about)
        stranger = sender not in self.neighbors
        if message.linked and stranger and not self.linking.has_ended(sender):
            self.context.outbox.send(sender, LinkRequest(self.interest.about))
        if sender in self.neighbors and not message.linked and self.linking.is_old(sender):
            self.linking.remove(sender)
        if message.asks and sender not in self.neighbors and sender not in self.circle.nodes:
            self.context.outbox.send(sender, self.alive(sender, asks=False))
        if sender in self.circle.successors:
            self.local.held(sender, message.holds)
        if sender in self.neighbors:
            if message.successors:
                successors = message.successors[: self.params.resilience + 1]
                self.linking.successors_of[sender] = successors
            if self.labels.take(sender, message.labels, now):
                self.context.outbox.set_timer(self.LABELS, 50)

    def heard(self, peer: NodeId) -> None:
        now = self.context.outbox.now()
        self.pool.heard(peer, now)
        if peer in self.neighbors or peer in self.circle.nodes:
            self.heartbeats.heard(peer, now)

    def on_leaving(self, sender: NodeId, message: Leaving) -> None:
        self.depart(sender)

    def depart(self, peer: NodeId) -> None:
        """Take note that a node has left, and handle its churn event if that is due here."""
        self.repairs.note_leave(peer)
        self.linking.remove(peer)
        self.pool.left(peer)
        self.heartbeats.forget(peer)
        self.membership.forget(peer)
        self.circle.drop(peer)
        self.repairs.take_over(peer)
        self.follow_ring()
        self.give(self.repairs.process_exe_queue())

    # -- links

    def link(self, about: Descriptor) -> None:
        """Hold a link to a peer that shares a topic; otherwise end it."""
        new = self.linking.link(about)
        if about.node in self.neighbors:
            self.pool.take([about], [0], self.context.outbox.now())
        if new:
            self.context.outbox.set_timer(self.LABELS, 0)

    def on_link_request(self, sender: NodeId, message: LinkRequest) -> None:
        if message.about.node != sender:
            return
        self.heard(sender)
        asked = self.linking.has_asked(sender)
        self.link(message.about)
        if sender in self.neighbors and not asked:  # a request of this node says as much
            self.context.outbox.send(sender, LinkAccept(self.interest.about))

    def on_link_accept(self, sender: NodeId, message: LinkAccept) -> None:
        if message.about.node == sender:
            self.heard(sender)
            self.link(message.about)

    def on_link_down(self, sender: NodeId, message: LinkDown) -> None:
        self.linking.remove(sender)

    def on_mend(self, sender: NodeId, message: Mend) -> None:
        self.linking.ask(message.peers)

    # -- local views by T-Man (Algorithms 2 to 4)

    def cycle(self) -> None:
        now = self.context.outbox.now()
        self.context.outbox.set_timer(self.CYCLE, self.params.cycle_ms)
        self.pool.expire(self.watched(), now)
        self.pool.take(*self.exchanges.rnd_view(self.membership.view, self.views), now)
        self.follow_ring()
        settled = not self.ring_moved and len(self.views.ready()) == len(self.views.of)
        self.ring_moved = False
        for peer in self.exchanges.partners(settled):
            self.exchange_with(peer)
        self.select_view()
        self.tell_local()
        self.ask_to_join()
        self.give(self.repairs.process_standby())
        self.shed()

    def exchange_with(self, peer: NodeId) -> None:
        self.context.outbox.send(peer, Exchange(*self.exchanges.buffer(peer)))

    def on_exchange(self, sender: NodeId, message: Exchange[Descriptor]) -> None:
        self.context.outbox.send(sender, ExchangeReply(*self.exchanges.buffer(sender)))
        self.take_entries(message.entries, message.ages)

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply[Descriptor]) -> None:
        self.take_entries(message.entries, message.ages)

    def take_entries(self, entries: Sequence[Descriptor], ages: Sequence[int]) -> None:
        self.pool.take(entries, ages, self.context.outbox.now())
        self.follow_ring()

    def follow_ring(self) -> None:
        """Choose the ring neighbours, and watch the new ones."""
        now = self.context.outbox.now()
        before = self.circle.nodes
        if not self.circle.consider(self.pool.known):
            return
        for node in self.circle.nodes:
            if node not in before and node not in self.neighbors:
                self.heartbeats.heard(node, now)
                self.context.outbox.send(node, self.alive(node, asks=True))
        self.ring_moved = True
        self.repairs.keep_views()

    def select_view(self) -> None:
        """Alg. 4, selectView."""
        self.repairs.keep_views()
        mine = (self.context.me, self.interest.topics.mask)
        self.selection.select_view(self.views, mine, self.pool, self.repairs.churn.joining)

    def tell_local(self) -> None:
        """Tell the L successors what they have to know when this node leaves."""
        now = self.context.outbox.now()
        held = self.linking.held(self.pool)
        local = self.local.renew(
            self.repairs.coordinator.incarnation, self.interest.about, held, now
        )
        successors = self.circle.successors[: self.params.resilience]
        self.context.outbox.send_all(self.local.lacking(local, successors), local)

    def on_local(self, sender: NodeId, message: Local) -> None:
        if message.about.node == sender and self.views.take(message):
            self.pool.take([message.about], [0], self.context.outbox.now())
            self.repairs.churn.lives(sender, message.incarnation)

    # -- joining

    def uncovered(self) -> int:
        """Return the mask of the topics that no neighbour shares."""
        mask = self.interest.topics.mask
        for interest in self.neighbors.values():
            mask &= ~interest.mask
        return mask

    def ask_to_join(self) -> None:
        missing = self.uncovered()
        due = self.join_requests.due(self.interest.topics.mask, missing)
        if due and self.circle.successors:
            topics = self.context.topics.of_mask(missing)
            number = self.context.outbox.now()
            join = Join(self.interest.about, topics, number)
            self.context.outbox.send(self.circle.successors[0], join)

    def on_join(self, sender: NodeId, message: Join) -> None:
        if message.about.node != sender:
            return
        self.heard(sender)
        self.take_entries([message.about], [0])
        self.repairs.note_join(sender, message)

    # -- repairs (Algorithms 1, 5 and 6)

    def give(self, given: Iterable[Given]) -> None:
        """Send the messages of a repair, some of which may be to this node itself."""
        for to, message in given:
            if to == self.context.me:
                self.receive(to, message)
            else:
                self.context.outbox.send(to, message)

    def on_handled(self, sender: NodeId, message: Handled) -> None:
        self.repairs.gc_churn_event(sender, message)

    def on_enlist(self, sender: NodeId, message: Enlist) -> None:
        self.probing.on_enlist(sender, message)

    def on_probe(self, sender: NodeId, message: Probe) -> None:
        self.probing.on_probe(sender, message)
        if message.coordinator in self.shedding.tested:
            reached = self.probing.reached(message.coordinator, message.number)
            if self.shedding.proved(message.coordinator, message.number, reached):
                self.linking.end(message.coordinator)

    def on_report(self, sender: NodeId, message: ShadowReport) -> None:
        self.repairs.coordinator.on_report(sender, message)

    def on_view_ask(self, sender: NodeId, message: ViewAsk) -> None:
        answer = self.views.tell(message.node, self.context.topics)
        if answer is not None:
            self.context.outbox.send(sender, answer)

    def on_view_told(self, sender: NodeId, message: ViewTold) -> None:
        self.give(self.repairs.on_view_told(message))

    # -- the change of this node's own interest

    def interest_changed(self) -> None:
        if not self.running:
            return
        before = self.interest.topics.mask
        self.interest.renew()
        self.tell = TOLD_TIMES
        dropped = before & ~self.interest.topics.mask
        if dropped:
            number = self.interest.about.version
            self.give(self.repairs.give_up(number, given_up(dropped, self.neighbors)))
            mask = self.interest.topics.mask
            for peer in [p for p, i in self.neighbors.items() if not i.mask & mask]:
                self.linking.end(peer)

    # -- links that are not needed

    def shed(self) -> None:
        peer = self.shedding.spare()
        if peer is not None:
            number = self.repairs.coordinator.next_number()
            self.shedding.offered = peer, number
            self.context.outbox.send(peer, Shed(number))

    def on_shed(self, sender: NodeId, message: Shed) -> None:
        if self.shedding.test(sender, message.number):
            self.context.outbox.send(sender, ShedTested(message.number))

    def on_shed_tested(self, sender: NodeId, message: ShedTested) -> None:
        mask = self.shedding.to_probe(sender, message.number)
        if mask:
            topics = self.context.topics.of_mask(mask)
            self.probing.start(self.context.me, message.number, topics, but=sender)

    # -- the safety net

    def tell_labels(self) -> None:
        """Tell new labels at once, where there are some."""
        for peer in self.neighbors:
            alive = self.alive(peer, asks=False)
            if alive.labels:
                self.context.outbox.send(peer, alive)

    def look_for_others(self) -> None:
        """As the root of a component, look for a node of another one."""
        rooted = self.labels.rooted(self.context.outbox.now())
        for topic in sample(self.context.rng, rooted, MEETINGS):
            bit = self.context.topics.mask(topic)
            barred = [self.context.me, *self.neighbors]
            peer = self.membership.view.any_match(bit, barred, self.context.rng)
            if peer is not None:
                labels = self.labels.of([topic, *rooted][:LABELS_MET_MAX])
                self.context.outbox.send(peer, Meet(self.interest.about, labels))

    def on_meet(self, sender: NodeId, message: Meet) -> None:
        if message.about.node != sender:
            return
        self.take_entries([message.about], [0])
        if self.labels.strange(message.labels, self.context.outbox.now()):
            self.linking.ask([sender])


OMen.ON = {
    Alive: OMen.on_alive,
    LinkRequest: OMen.on_link_request,
    LinkAccept: OMen.on_link_accept,
    LinkDown: OMen.on_link_down,
    Mend: OMen.on_mend,
    Leaving: OMen.on_leaving,
    Exchange: OMen.on_exchange,  # Alg. 3
    ExchangeReply: OMen.on_exchange_reply,
    Local: OMen.on_local,
    Join: OMen.on_join,
    Handled: OMen.on_handled,  # Alg. 5, gcChurnEvent
    Enlist: OMen.on_enlist,
    Probe: OMen.on_probe,
    ShadowReport: OMen.on_report,
    ViewAsk: OMen.on_view_ask,
    ViewTold: OMen.on_view_told,
    Shed: OMen.on_shed,
    ShedTested: OMen.on_shed_tested,
    Meet: OMen.on_meet,
    **Links.HANDLERS,
    **MembershipService.HANDLERS,
}
