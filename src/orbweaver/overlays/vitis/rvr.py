"""RVR routes to rendezvous nodes and is blind to interests (baseline of Vitis, as in Scribe).

All links are ring and small-world links; every subscriber asks for its own way to the
topic's place, and events go over the tree that these ways make.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import Beside, Exchange, ExchangeReply, Pulled, Relay
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.notices import NoticeAndPull
from orbweaver.gossip.relays import Relays
from orbweaver.gossip.router import Router
from orbweaver.gossip.smallworld import SmallWorld
from orbweaver.overlays.vitis.messages import Goodbye, Profile
from orbweaver.overlays.vitis.node import RelayParams, Vitis
from orbweaver.overlays.vitis.table import Change, Peer, RoutingTable


class Rvr(Overlay):
    name: ClassVar[str] = "rvr"
    summary: ClassVar[str] = "one rendezvous tree for each topic, blind to interests"
    paper: ClassVar[str] = "baseline of Vitis, Sec. IV"
    Params = RelayParams
    params: RelayParams
    messages = Vitis.messages
    TIMER = Vitis.TIMER

    def __init__(self, context: Context, params: RelayParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.newscast = Newscast(context, self.interest, params.view_size)
        self.world = SmallWorld(context.me, context.places, params.table_size - 2, context.rng)
        self.table = RoutingTable(
            context,
            params,
            self.interest,
            self.newscast,
            self.world,
            self.on_link,
            callers_max=params.view_size,
        )
        self.router = Router(context.me, context.places)
        self.relays = Relays(context, self.router.next_hop, params.relay_ms)
        self.notices = NoticeAndPull(
            context, self.relays.peers, self.interest.subscribed, params.repair
        )
        self.running = False
        self._asked: tuple[NodeId, ...] = ()
        """The ring neighbours that have been asked since they became ring neighbours."""

    @classmethod
    def claims(cls, params: RelayParams) -> Claims:
        return Claims(
            noiseless=False,
            topic_connected=False,
            total_delivery=params.repair,
            degree_bound="table_size links of its own; links of other nodes to it are not bounded",
        )

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.running = True
        self.interest.start(self.context.outbox.now())
        self.table.interest_changed()
        self.relays.want(self.interest.topics)
        self.notices.start()
        self.newscast.meet(contacts)
        self.context.outbox.set_timer(self.TIMER, 1 + below(self.context.rng, self.params.cycle_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.newscast.meet(contacts)

    def stop(self) -> None:
        self.running = False
        self.table.leave()
        self.context.outbox.cancel_timer(self.TIMER)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.interest_changed()

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        self.interest_changed()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        if self.interest.publish(topic):
            self.interest_changed()
        return self.notices.publish(topic, payload)

    def wake(self, timer: Timer) -> None:
        self.context.outbox.set_timer(self.TIMER, self.params.cycle_ms)
        self.table.drop_silent()
        if not self.table.settled:
            self.refreshed(self.table.refresh())
        self.table.call_silent()
        self.newscast.step()
        sample = self.newscast.sample()
        self.refreshed(self.table.consider(*sample))
        self.table.exchange_rt(sample)
        for peer in self.table.unintroduced():
            self.table.introduce(peer)
        successors = self.world.ring.successors
        if successors and successors[0] in self.table.peers:  # not since it was lost
            self.context.outbox.send(successors[0], Beside())
        self.relays.step()
        self.table.exchange_profiles({})
        self.notices.step()

    def lost(self, peer: NodeId) -> None:
        self.table.lost(peer)

    def backlog(self) -> int:
        return self.notices.backlog()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        return self.relays.peers(topic)

    def links(self) -> Collection[NodeId]:
        return self.table.peers.keys()

    def status(self) -> dict[str, int]:
        relayed = sum(topic not in self.table.hood.sharing for topic in self.relays.branches)
        return self.table.status() | {"relay_of": relayed}

    def on_exchange_rt(self, sender: NodeId, message: Exchange[Descriptor]) -> None:
        self.refreshed(self.table.on_exchange_rt(sender, message))

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply[Descriptor]) -> None:
        self.refreshed(self.table.consider(message.entries, message.ages))

    def on_profile(self, sender: NodeId, message: Profile) -> None:
        caller = self.table.accept_caller(sender, message)
        if caller is not None:
            if self.world.improving([caller.about]):  # a ring does not wait
                self.refreshed(self.table.refresh())
            self.table.introduce(caller)
        peer = self.table.on_profile(sender, message)
        if peer is not None:
            self.table.end_half_link(peer)

    def on_link(self, peer: Peer, change: Change) -> None:
        if change == "linked":
            self.router.add(peer.node)
            self.relays.reroute()
            return
        if change == "unlinked":
            self.router.remove(peer.node)
        self.relays.lost(peer.node)

    def on_beside(self, sender: NodeId, message: Beside) -> None:
        nearer = [self.table.peers[node] for node in self.router.beside(sender)]
        if nearer:
            entries, ages = self.table.describe(nearer)
            self.context.outbox.send(sender, ExchangeReply(tuple(entries), tuple(ages)))

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        if sender in self.table.peers:
            self.relays.on_relay(sender, message)
        else:
            self.context.outbox.send(sender, Goodbye(leaving=False))

    def refreshed(self, new: Collection[Peer]) -> None:
        """Introduce this node to its new neighbours, and ask those next to it on the ring."""
        for peer in new:
            self.table.introduce(peer)
        ring = self.world.ring.nodes
        for node in ring:
            if node not in self._asked:
                self.context.outbox.send(node, Beside())
        self._asked = ring

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self.table.interest_changed()
            self.relays.want(self.interest.topics)


Rvr.ON = Vitis.ON | {
    Exchange: Rvr.on_exchange_rt,
    ExchangeReply: Rvr.on_exchange_reply,
    Profile: Rvr.on_profile,
    Beside: Rvr.on_beside,
    Relay: Rvr.on_relay,
    Pulled: lambda node, sender, message: node.notices.on_pulled(sender, message),
}
