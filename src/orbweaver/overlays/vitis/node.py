"""This is one node's side of Vitis."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import (
    Beside,
    Exchange,
    ExchangeReply,
    News,
    NewsReply,
    Notice,
    Pull,
    Pulled,
    Relay,
    Unrelay,
)
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.notices import NoticeAndPull
from orbweaver.gossip.rates import SeenRates, make_rates
from orbweaver.gossip.relays import Relays
from orbweaver.gossip.router import Router
from orbweaver.gossip.smallworld import SmallWorld
from orbweaver.overlays.vitis.gateways import Gateways
from orbweaver.overlays.vitis.messages import Goodbye, Profile
from orbweaver.overlays.vitis.neighbors import FriendsAndRing
from orbweaver.overlays.vitis.table import Change, Peer, RoutingTable, TableParams


class RelayParams(TableParams, frozen=True):
    relay_ms: Annotated[
        int, Meta(ge=1, description="how often relay paths are asked for again", title="ours")
    ] = 5000


class VitisParams(RelayParams, frozen=True):
    long_links: Annotated[
        int,
        Meta(
            ge=0,
            description="entries of the table that are small-world links, besides successor and "
            "predecessor; the rest are friends",
            title="Vitis IV-B: 1 (k = 3 with the ring)",
        ),
    ] = 1
    gateway_hops: Annotated[
        int,
        Meta(
            ge=1,
            description="d: how many hops a gateway may be from the nodes it serves",
            title="Vitis IV-A: 5",
        ),
    ] = 5
    rates: Annotated[
        str,
        Meta(
            description="publication rates by which friends are weighed: uniform, estimated "
            "from the events seen, or zipf:A by the number of the topic",
            title="Vitis IV-A: uniform",
        ),
    ] = "uniform"
    one_way: Annotated[
        bool,
        Meta(
            description="in a cluster, events go only to neighbours in the node's own table, not "
            "to neighbours that have chosen the node",
            title="the paper does not say",
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.long_links > self.table_size - 2:
            raise ValueError(
                f"a table of {self.table_size} has room for {self.table_size - 2} long links "
                f"besides successor and predecessor, not for {self.long_links}"
            )


class Vitis(Overlay):
    name: ClassVar[str] = "vitis"
    summary: ClassVar[str] = "interest clusters of bounded degree, joined by rendezvous relays"
    paper: ClassVar[str] = "Vitis, IPDPS 2011"
    Params = VitisParams
    params: VitisParams
    messages = (News, NewsReply, Exchange, ExchangeReply, Profile, Goodbye, Beside, Relay, Unrelay,
                Notice, Pull, Pulled)  # fmt: skip
    TIMER = "cycle"

    def __init__(self, context: Context, params: VitisParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.rates = make_rates(params.rates, context.topics)
        self.newscast = Newscast(context, self.interest, params.view_size)
        self.world = SmallWorld(context.me, context.places, params.long_links, context.rng)
        self.table = RoutingTable(
            context,
            params,
            self.interest,
            self.newscast,
            FriendsAndRing(
                params.table_size, self.world, self.interest, context.topics, self.rates
            ),
            self.on_link,
            # A node that likes this one is likely to be liked by it. Without the callers it takes
            # friends half as long again to find each other.
            callers_max=params.view_size,
        )
        self.router = Router(context.me, context.places)
        self.relays = Relays(context, self.router.next_hop, params.relay_ms)
        self.gateways = Gateways(
            context.me, context.places, self.table.hood, params.gateway_hops, params.table_size
        )
        self.notices = NoticeAndPull(context, self.towards, self.interest.subscribed, params.repair)
        self.running = False
        self._asked: tuple[NodeId, ...] = ()
        """The ring neighbours that have been asked since they became ring neighbours."""

    @classmethod
    def claims(cls, params: VitisParams) -> Claims:
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
        self.gateways.follow()
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
        self.saw(topic)
        return self.notices.publish(topic, payload)

    def wake(self, timer: Timer) -> None:
        """Run one cycle (Alg. 1, line 5)."""
        self.context.outbox.set_timer(self.TIMER, self.params.cycle_ms)
        self.table.drop_silent()
        if not self.table.settled:
            self.refreshed(self.table.refresh())
        self.table.call_silent()
        self.newscast.step()
        self.exchange_rt()
        self.introduce(self.table.unintroduced())
        self.update_gateways()
        if isinstance(self.rates, SeenRates):
            self.rates.step()
        self.ask_successor()
        self.relays.step()
        self.table.exchange_profiles(self.gateways.news())
        self.notices.step()

    def lost(self, peer: NodeId) -> None:
        self.table.lost(peer)

    def backlog(self) -> int:
        return self.notices.backlog()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        """Return the neighbours in the cluster and in the tree: those that want the topic, and the
        relay path in both directions."""
        near = self.table.hood.interested(topic)
        if self.params.one_way:
            near = [node for node in near if self.table.peers[node].chosen]
        return dict.fromkeys([*near, *self.relays.peers(topic)])

    def links(self) -> Collection[NodeId]:
        return self.table.peers.keys()

    def status(self) -> dict[str, int]:
        relayed = sum(topic not in self.table.hood.sharing for topic in self.relays.branches)
        return self.table.status() | {"relay_of": relayed, "gateway_of": len(self.gateways.ours)}

    # -- neighbours (Algorithms 2 to 4, 6 and 7)

    def exchange_rt(self) -> None:
        sample = self.newscast.sample()
        self.refreshed(self.table.consider(*sample))
        self.table.exchange_rt(sample)

    def on_exchange_rt(self, sender: NodeId, message: Exchange[Descriptor]) -> None:
        self.refreshed(self.table.on_exchange_rt(sender, message))

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply[Descriptor]) -> None:
        self.refreshed(self.table.consider(message.entries, message.ages))

    def on_profile(self, sender: NodeId, message: Profile) -> None:
        caller = self.table.accept_caller(sender, message)
        if caller is not None:
            if self.world.improving([caller.about]):  # a ring does not wait
                self.refreshed(self.table.refresh())
            elif self.table.choice.improving([caller.about]):
                self.table.settled = False
            self.introduce([caller])
        known = self.table.peers.get(sender)
        before = known.shared if known is not None else ()
        peer = self.table.on_profile(sender, message)
        if peer is None:
            return
        if peer.shared is not before:
            self.gateways.reindexed(peer, before)
        if message.proposals:
            self.gateways.heard(peer, message.proposals)
        self.table.end_half_link(peer)

    def introduce(self, peers: Collection[Peer]) -> None:
        for peer in peers:
            self.table.introduce(peer, self.gateways.introduction(peer))

    def refreshed(self, new: Collection[Peer]) -> None:
        """Introduce this node to its new neighbours, and ask those next to it on the ring."""
        self.introduce(new)
        ring = self.world.ring.nodes
        for node in ring:
            if node not in self._asked:
                self.context.outbox.send(node, Beside())
        self._asked = ring

    def on_link(self, peer: Peer, change: Change) -> None:
        if change == "linked":
            self.router.add(peer.node)
            self.relays.reroute()
            self.gateways.fresh_links += 1
            return
        if change == "unlinked":
            self.router.remove(peer.node)
        self.relays.lost(peer.node)
        self.gateways.forget(peer)

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self.table.interest_changed()
            self.gateways.follow()

    # -- ring, gateways and relay paths (Algorithm 5)

    def ask_successor(self) -> None:
        successors = self.world.ring.successors
        if successors and successors[0] in self.table.peers:  # not since it was lost
            self.context.outbox.send(successors[0], Beside())

    def on_beside(self, sender: NodeId, message: Beside) -> None:
        nearer = [self.table.peers[node] for node in self.router.beside(sender)]
        if nearer:
            entries, ages = self.table.describe(nearer)
            self.context.outbox.send(sender, ExchangeReply(tuple(entries), tuple(ages)))

    def update_gateways(self) -> None:
        topics = self.gateways.step()
        if topics is not None:
            self.relays.want(topics)

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        if sender in self.table.peers:
            self.relays.on_relay(sender, message)
        else:
            # The link is going down, or the sender's introduction is still on its way. The
            # sender is told, so that it asks again or elsewhere.
            self.context.outbox.send(sender, Goodbye(leaving=False))

    # -- events

    def on_pulled(self, sender: NodeId, message: Pulled) -> None:
        if self.notices.on_pulled(sender, message):
            self.saw(message.event.topic)

    def saw(self, topic: Topic) -> None:
        if isinstance(self.rates, SeenRates):
            self.rates.saw(topic)


Vitis.ON = {
    News: lambda node, sender, message: node.newscast.on_news(sender, message),
    NewsReply: lambda node, sender, message: node.newscast.on_news_reply(sender, message),
    Exchange: Vitis.on_exchange_rt,
    ExchangeReply: Vitis.on_exchange_reply,
    Profile: Vitis.on_profile,
    Goodbye: lambda node, sender, message: node.table.on_goodbye(sender, message),
    Beside: Vitis.on_beside,
    Relay: Vitis.on_relay,
    Unrelay: lambda node, sender, message: node.relays.on_unrelay(sender, message),
    Notice: lambda node, sender, message: node.notices.on_notice(sender, message),
    Pull: lambda node, sender, message: node.notices.on_pull(sender, message),
    Pulled: Vitis.on_pulled,
}
