"""What overlays with a bounded routing table have in common (Vitis III).

Peer sampling finds nodes, T-Man makes a table of them, and profiles tell neighbours what
this node wants and that it is alive. Links are used both ways: whoever has us in its table
is our neighbour too, though it takes no place in ours. How a table is chosen, and where
events go, is the business of the subclass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Event, Message
from orbweaver.core.overlay import Context, Timer
from orbweaver.core.params import Params
from orbweaver.core.seeds import below
from orbweaver.core.topics import NOTHING, Interest
from orbweaver.gossip.descriptor import LIFE, Aged, Descriptor
from orbweaver.gossip.dispatch import DispatchingOverlay, Handler
from orbweaver.gossip.flood import Flood, Notice, Pull, Pulled
from orbweaver.gossip.newscast import News, Newscast, NewsReply
from orbweaver.gossip.profiles import Goodbye, Peer, Profile, Proposal
from orbweaver.gossip.tman import Exchange, ExchangeReply, TMan

WHOLE_EVERY = 10
"""Cycles after which a neighbour is told everything again."""
SILENT_MAX = 20
"""Those lost last are called, one in a cycle,"""
CALLS = 10
"""each so many times: a network that was cut in two for a minute grows together again."""


class TableParams(Params, frozen=True):
    table_size: Annotated[
        int, Meta(ge=3, description="entries of the routing table", title="Vitis IV-A: 15")
    ] = 15
    cycle_ms: Annotated[
        int, Meta(ge=1, description="period of all gossip", title="Vitis Alg. 1, no value")
    ] = 1000
    age_max: Annotated[
        int,
        Meta(
            ge=1,
            description="cycles without a sign of life after which a neighbour is let go",
            title="Vitis Alg. 6, no value",
        ),
    ] = 4
    view_size: Annotated[
        int, Meta(ge=1, description="entries of the peer sampling view", title="Newscast: 20")
    ] = 20
    repair: Annotated[
        bool,
        Meta(
            description="tell of events again, and ask for them again, where nothing came back; "
            "without it each peer is told once and asked once",
            title="ours; Vitis III-C: once",
        ),
    ] = True


class TableOverlay(DispatchingOverlay):
    params: TableParams
    TIMER = "cycle"
    part_messages: ClassVar[tuple[type[Message], ...]] = (
        *Newscast.messages, *TMan.messages, Profile, Goodbye, *Flood.messages,
    )  # fmt: skip

    def __init__(self, context: Context, params: TableParams) -> None:
        super().__init__(context, params)
        self.interest: Interest = NOTHING
        self.about = Descriptor(context.me, NOTHING, 0)
        """What others are told of us."""
        self.peers: dict[NodeId, Peer] = {}
        """Everybody linked to: in our table, or with us in theirs."""
        self._sharing: dict[Topic, list[Peer]] = {}
        """Topic of ours -> the peers that share it."""
        self._silent: dict[NodeId, int] = {}
        """Neighbours that were lost without a word -> calls that are left. When a network is cut,
        the views of either side soon hold nobody of the other."""
        self._subscribed: dict[Topic, int] = {}
        """Topic -> since when."""
        self._published: dict[Topic, None] = {}
        self._running = False
        self._cycles = 0
        self._settled = False
        """The table need not be chosen anew in the next cycle."""
        self.newscast = Newscast(context, lambda: self.about, params.view_size)
        self.tman = TMan(
            context,
            lambda: self.about,
            self._neighbors,
            self.newscast.sample,
            self._tempting,
            self._refresh_table,
            params.age_max * params.cycle_ms,
        )
        self.flood = Flood(context, self._targets, self._subscribed, params.repair)

    # -- the contract

    def start(self, contacts: Sequence[NodeId]) -> None:
        self._running = True
        self.about = Descriptor(self.context.me, NOTHING, self.context.outbox.now())
        self._interest_changed()
        self.flood.start()
        self.newscast.meet(contacts)
        self.context.outbox.set_timer(self.TIMER, 1 + below(self.context.rng, self.params.cycle_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.newscast.meet(contacts)

    def stop(self) -> None:
        self._running = False
        for peer in list(self.peers.values()):
            self.context.outbox.send(peer.node, Goodbye(leaving=True))
            self._unlink(peer)
        self.context.outbox.cancel_timer(self.TIMER)

    def subscribe(self, topic: Topic) -> None:
        self._subscribed.setdefault(check_topic(topic), self.context.outbox.now())
        if self._running:
            self._interest_changed()

    def unsubscribe(self, topic: Topic) -> None:
        self._subscribed.pop(topic, None)
        self._published.pop(topic, None)
        self._interest_changed()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        if topic not in self._published:
            self._published[check_topic(topic)] = None
            if topic not in self._subscribed:
                self._interest_changed()
        return self.flood.publish(topic, payload)

    def wake(self, timer: Timer) -> None:
        """One cycle: Algorithm 1, line 5."""
        self.context.outbox.set_timer(self.TIMER, self.params.cycle_ms)
        self._drop_silent()
        if not self._settled:
            self._refresh_table(())
        self._call_silent()
        self.newscast.step()
        self.tman.step(self.newscast.contacts())
        self._introduce_again()
        self._cycle()
        self._exchange_profiles()
        self.flood.step()

    def lost(self, peer: NodeId) -> None:
        self.newscast.forget(peer)
        known = self.peers.get(peer)
        if known is not None:
            self._unlink(known)
            self._silent[peer] = CALLS
            if len(self._silent) > SILENT_MAX:
                del self._silent[next(iter(self._silent))]

    def backlog(self) -> int:
        return self.flood.backlog()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        return self._targets(topic)

    def links(self) -> Collection[NodeId]:
        return self.peers.keys()

    def status(self) -> dict[str, int]:
        table = sum(peer.chosen for peer in self.peers.values())
        return {"table": table, "in_links": len(self.peers) - table}

    # -- for subclasses

    @abstractmethod
    def _select(self, candidates: dict[NodeId, Descriptor]) -> Collection[NodeId]:
        """The new routing table, of at most `table_size` entries."""

    def _tempted(self, entries: list[Descriptor]) -> list[Descriptor]:
        """Those of whom some might find a place in the table. Choosing takes longer than
        asking."""
        return entries

    @abstractmethod
    def _targets(self, topic: Topic) -> Collection[NodeId]:
        """To whom events on a topic go from here."""

    def _cycle(self) -> None:
        """What else is done in each cycle, before profiles are sent."""

    def _linked(self, peer: Peer) -> None:
        """A link has come."""

    def _called(self, peer: Peer) -> None:
        """And it has come from the other end: somebody has put us in its table."""
        if self._tempted([peer.about]):
            self._settled = False

    def _unlinked(self, peer: Peer) -> None:
        """A link has gone."""

    def _void(self, peer: Peer) -> None:
        """Nothing holds any more that was agreed with a peer: its link has gone, or it has
        forgotten ours."""

    def _reindexed(self, peer: Peer, before: Collection[Topic]) -> None:
        """A neighbour's interest is another; what we shared with it before."""

    def _heard(self, peer: Peer, proposals: Collection[Proposal]) -> None:
        """A neighbour's profile brought these."""

    def _proposals_for(self, peer: Peer, whole: bool) -> tuple[Proposal, ...]:
        """What a profile brings a neighbour: what is new to it, or everything."""
        return ()

    def _interested(self, topic: Topic) -> Collection[NodeId]:
        """The neighbours that want a topic, whether or not we do."""
        if topic in self._sharing:
            return [peer.node for peer in self._sharing[topic]]
        bit = self.context.topics.mask(topic)
        return [peer.node for peer in self.peers.values() if peer.about.interest.mask & bit]

    def _interest_changed(self) -> None:
        self.interest = self.context.topics.interest([*self._subscribed, *self._published])
        self.about = Descriptor(self.context.me, self.interest, self.about.version + 1)
        self._settled = False
        self._sharing = {topic: [] for topic in self.interest}
        for peer in self.peers.values():
            peer.introduced = False
            self._index(peer)

    # -- the table (Algorithms 2 to 4)

    def _neighbors(self) -> Aged:
        """Whom to exchange with and pass on: the table, as in the paper."""
        return self._describe([peer for peer in self.peers.values() if peer.chosen])

    def _describe(self, peers: Collection[Peer]) -> Aged:
        now = self.context.outbox.now()
        return [peer.about for peer in peers], [now - peer.heard_ms for peer in peers]

    def _tempting(self, entries: Sequence[Descriptor]) -> Collection[Descriptor]:
        """Strangers only: neighbours are weighed by what they say themselves."""
        peers = self.peers
        return self._tempted([entry for entry in entries if entry.node not in peers])

    def _refresh_table(self, strangers: Iterable[tuple[Descriptor, int]]) -> None:
        """Choose among the neighbours and these, of whom we heard so long ago."""
        self._settled = True
        candidates = {peer.node: peer.about for peer in self.peers.values()}
        ages: dict[NodeId, int] = {}
        for entry, age in strangers:
            candidates[entry.node] = entry
            ages[entry.node] = age
        chosen = dict.fromkeys(self._select(candidates))
        for peer in [p for p in self.peers.values() if p.chosen and p.node not in chosen]:
            peer.chosen = False
            if not peer.chooses:
                self.context.outbox.send(peer.node, Goodbye(leaving=False))
                self._unlink(peer)
        for node in chosen:
            known = self.peers.get(node)
            if known is not None:
                known.chosen = True
                continue
            made = self._link(Peer(candidates[node], self.context.outbox.now() - ages[node]))
            made.chosen = True
            self._introduce(made)

    def _has_chosen(self, node: NodeId) -> bool:
        peer = self.peers.get(node)
        return peer is not None and peer.chosen

    # -- profiles (Algorithms 6 and 7)

    def _drop_silent(self) -> None:
        stale = self.context.outbox.now() - self.params.age_max * self.params.cycle_ms
        for peer in [p for p in self.peers.values() if p.heard_ms < stale]:
            self.lost(peer.node)

    def _call_silent(self) -> None:
        """The one that was called least lately."""
        if self._silent:
            peer = next(iter(self._silent))
            calls = self._silent.pop(peer)
            if calls > 1:
                self._silent[peer] = calls - 1
            self.newscast.meet([peer])

    def _exchange_profiles(self) -> None:
        quiet: tuple[list[NodeId], list[NodeId]] = ([], [])
        """Those to whom there is nothing to say but that we are alive, most of the time all:
        not in our table, and in it."""
        for peer in self.peers.values():
            if news := self._proposals_for(peer, False):
                self.context.outbox.send(peer.node, Profile(peer.chosen, None, news))
            else:
                quiet[peer.chosen].append(peer.node)
        for chosen, nodes in zip((False, True), quiet, strict=True):
            if nodes:
                self.context.outbox.send_all(nodes, Profile(chosen, None, ()))

    def _introduce_again(self) -> None:
        """To those who do not know us as we are; and to everybody now and then, since what is
        told once may be lost once."""
        self._cycles += 1
        for peer in self.peers.values():
            if not peer.introduced or (self._cycles + peer.node) % WHOLE_EVERY == 0:
                self._introduce(peer)

    def _introduce(self, peer: Peer) -> None:
        peer.introduced = True
        profile = Profile(peer.chosen, self.about, self._proposals_for(peer, True))
        self.context.outbox.send(peer.node, profile)

    def on_profile(self, sender: NodeId, message: Profile) -> None:
        peer = self.peers.get(sender)
        about = message.about
        if about is not None and about.node != sender:
            return  # nobody speaks for others here
        if peer is None:
            if about is None or not message.chosen:
                # It holds a link that we do not; it may introduce itself again.
                self.context.outbox.send(sender, Goodbye(leaving=False))
                return
            peer = self._link(Peer(about, self.context.outbox.now()))
            peer.chooses = True
            self._called(peer)
            self._introduce(peer)
        peer.heard_ms = self.context.outbox.now()
        peer.chooses = message.chosen
        if about is not None and about.version > peer.said:
            if about.version >= peer.said + LIFE and peer.said >= 0:
                # It has been started anew, and knows nothing of what was agreed.
                self._void(peer)
                peer.introduced = False
            peer.said = about.version
            self._update(peer, about)
        if message.proposals:
            self._heard(peer, message.proposals)
        if not peer.chosen and not peer.chooses:
            # Its own heartbeat crossed ours: it may take us to choose it still.
            self.context.outbox.send(sender, Goodbye(leaving=False))
            self._unlink(peer)

    def on_goodbye(self, sender: NodeId, message: Goodbye) -> None:
        peer = self.peers.get(sender)
        if message.leaving:
            self.lost(sender)
            self._silent.pop(sender, None)
        elif peer is not None:
            peer.chooses = peer.introduced = False
            if peer.chosen:
                self._void(peer)
            else:
                self._unlink(peer)

    # -- inside

    def _link(self, peer: Peer) -> Peer:
        self.peers[peer.node] = peer
        self._silent.pop(peer.node, None)
        self.context.outbox.link_up(peer.node)
        self._index(peer)
        self._linked(peer)
        return peer

    def _unlink(self, peer: Peer) -> None:
        del self.peers[peer.node]
        self._settled = self._settled and not peer.chosen
        self.context.outbox.link_down(peer.node)
        self._unindex(peer)
        self._unlinked(peer)
        self._void(peer)

    def _update(self, peer: Peer, about: Descriptor) -> None:
        was, peer.about = peer.about.interest, about
        if about.interest != was:
            self._settled = False
            before = peer.shared
            self._unindex(peer)
            self._index(peer)
            self._reindexed(peer, before)

    def _unindex(self, peer: Peer) -> None:
        for topic in peer.shared:
            self._sharing[topic].remove(peer)

    def _index(self, peer: Peer) -> None:
        sharing = self._sharing
        peer.shared = tuple([topic for topic in peer.about.interest.topics if topic in sharing])
        for topic in peer.shared:
            sharing[topic].append(peer)

    handlers: ClassVar[dict[type[Message], Handler]] = {
        News: lambda node, *m: node.newscast.on_news(*m),
        NewsReply: lambda node, *m: node.newscast.on_news_reply(*m),
        Exchange: lambda node, *m: node.tman.on_exchange(*m),
        ExchangeReply: lambda node, *m: node.tman.on_exchange_reply(*m),
        Profile: on_profile,
        Goodbye: on_goodbye,
        Notice: lambda node, *m: node.flood.on_notice(*m),
        Pull: lambda node, *m: node.flood.on_pull(*m),
        Pulled: lambda node, *m: node.flood.on_pulled(*m),
    }
