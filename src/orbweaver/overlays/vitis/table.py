"""The routing table is made by T-Man on peer sampling, and kept by profiles (Vitis III, Algorithms
2 to 4, 6 and 7).

Peer sampling finds nodes, T-Man makes a table of them, and profiles tell neighbours what this
node wants and that it is alive. Links are used both ways: a node that has this one in its table
is a neighbour too, though it takes no place in this node's table. Which candidates make the best
table is decided by a `Choice`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.params import Params
from orbweaver.core.seeds import pick
from orbweaver.gossip import tman
from orbweaver.gossip.descriptor import LIFE, Aged, Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import Exchange, ExchangeReply
from orbweaver.gossip.neighborhood import Neighborhood
from orbweaver.gossip.newscast import Newscast
from orbweaver.overlays.vitis.messages import Goodbye, Profile, Proposal

WHOLE_EVERY = 10
"""Cycles after which a neighbour is told everything again."""
SILENT_MAX = 20
"""How many lost neighbours a node calls, the latest ones, one in each cycle."""
CALLS = 10
"""How often each lost neighbour is called. With these numbers a network that was cut in two for a
minute grows together again."""


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
            description="repeat notices and requests that nothing came back for; without it each "
            "peer is told once and asked once",
            title="ours; Vitis III-C: once",
        ),
    ] = True


class Peer:
    """Holds what a node knows of a neighbour."""

    __slots__ = ("about", "chooses", "chosen", "heard_ms", "introduced", "node", "proposals",
                 "said", "shared")  # fmt: skip

    def __init__(self, about: Descriptor, heard_ms: int) -> None:
        self.node = about.node
        self.about = about
        self.said = -1
        """The latest version that the peer itself has sent, or -1. Once there is one, what other
        nodes say of the peer does not count."""
        self.heard_ms = heard_ms
        """When the peer was last heard, by this node or by the node that told of the peer."""
        self.chosen = False
        """The peer is in this node's table."""
        self.chooses = False
        """This node is in the peer's table."""
        self.introduced = False
        """The peer has this node's descriptor as it is now."""
        self.shared: tuple[Topic, ...] = ()
        """The topics that both want."""
        self.proposals: dict[Topic, Proposal] = {}


Change = Literal["linked", "unlinked", "forgotten"]
"""What happened to a link. "forgotten": the link stays, but the peer no longer knows what was
agreed over it."""


class Choice(Protocol):
    """Which candidates make the best routing table (Algorithm 4)."""

    def choose(
        self, candidates: Mapping[NodeId, Descriptor], current: Collection[NodeId]
    ) -> Collection[NodeId]:
        """Return the new table. Among equals, nodes of the `current` table stay."""
        ...

    def improving(self, entries: list[Descriptor]) -> list[Descriptor]:
        """Return the entries that could enter the table chosen last: a cheap filter, run
        before the full selection."""
        ...


class RoutingTable:
    def __init__(
        self,
        context: Context,
        params: TableParams,
        interest: OwnInterest,
        newscast: Newscast,
        choice: Choice,
        changed: Callable[[Peer, Change], None],
        callers_max: int = 0,
    ) -> None:
        """`changed` is told of each link at the moment when it comes or goes. In exchanges up
        to `callers_max` peers that have chosen this node are named beside its own table."""
        self._me = context.me
        self._outbox = context.outbox
        self._rng = context.rng
        self._age_max_ms = params.age_max * params.cycle_ms
        self._interest = interest
        self._newscast = newscast
        self.choice = choice
        self._changed = changed
        self._callers_max = callers_max
        self.hood: Neighborhood[Peer] = Neighborhood(context.topics)
        self.peers = self.hood.peers
        """All neighbours: those in the table, and those that have this node in theirs."""
        self.settled = False
        """The table need not be chosen anew in the next cycle."""
        self._silent: dict[NodeId, int] = {}
        """Neighbour that was lost without a word -> calls that are left. When a network is cut,
        the views on either side soon hold no node of the other."""
        self._cycles = 0

    def interest_changed(self) -> None:
        self.settled = False
        self.hood.follow(self._interest.topics)
        for peer in self.peers.values():
            peer.introduced = False

    def leave(self) -> None:
        for peer in list(self.peers.values()):
            self._outbox.send(peer.node, Goodbye(leaving=True))
            self._unlink(peer)

    def lost(self, node: NodeId) -> None:
        self._newscast.forget(node)
        peer = self.peers.get(node)
        if peer is not None:
            self._unlink(peer)
            self._silent[node] = CALLS
            if len(self._silent) > SILENT_MAX:
                del self._silent[next(iter(self._silent))]

    def status(self) -> dict[str, int]:
        table = sum(peer.chosen for peer in self.peers.values())
        return {"table": table, "in_links": len(self.peers) - table}

    # -- T-Man. Functions that choose the table return the peers to introduce this node to.

    def exchange_rt(self, sample: Aged) -> None:
        """Exchange candidates with a random neighbour (Algorithm 2, the active thread)."""
        neighbors = self._neighbors()
        partners = [entry.node for entry in neighbors[0]] or self._newscast.contacts()
        if partners:
            entries, ages = tman.buffer(self._interest.about, neighbors, sample, self._age_max_ms)
            self._outbox.send(pick(self._rng, partners), Exchange(entries, ages))

    def on_exchange_rt(self, sender: NodeId, message: Exchange[Descriptor]) -> list[Peer]:
        """Answer an exchange, and consider its candidates (Algorithm 3, the passive thread)."""
        entries, ages = tman.buffer(
            self._interest.about, self._neighbors(), self._newscast.sample(), self._age_max_ms
        )
        self._outbox.send(sender, ExchangeReply(entries, ages))
        return self.consider(message.entries, message.ages)

    def consider(self, entries: Sequence[Descriptor], ages: Sequence[int]) -> list[Peer]:
        """Choose the table anew if any of these nodes could improve it.

        Only strangers are looked at: a neighbour is judged by what it says itself.
        """
        peers = self.peers
        improving = self.choice.improving([e for e in entries if e.node not in peers])
        if not improving:
            return []
        fresh = tman.freshest(self._me, entries, ages, improving, self._age_max_ms)
        return self.refresh(fresh) if fresh else []

    def refresh(self, strangers: Iterable[tuple[Descriptor, int]] = ()) -> list[Peer]:
        """Choose the table among the neighbours and these strangers, given with their ages."""
        self.settled = True
        current = [peer.node for peer in self.peers.values() if peer.chosen]
        candidates = {peer.node: peer.about for peer in self.peers.values()}
        ages: dict[NodeId, int] = {}
        for entry, age in strangers:
            candidates[entry.node] = entry
            ages[entry.node] = age
        chosen = dict.fromkeys(self.choice.choose(candidates, current))
        for node in current:
            if node not in chosen:
                peer = self.peers[node]
                peer.chosen = False
                if not peer.chooses:
                    self._outbox.send(node, Goodbye(leaving=False))
                    self._unlink(peer)
        new: list[Peer] = []
        for node in chosen:
            known = self.peers.get(node)
            if known is None:
                known = Peer(candidates[node], self._outbox.now() - ages[node])
                self._link(known)
                new.append(known)
            known.chosen = True
        return new

    def describe(self, peers: Collection[Peer]) -> Aged:
        now = self._outbox.now()
        return [peer.about for peer in peers], [now - peer.heard_ms for peer in peers]

    def _neighbors(self) -> Aged:
        """Return the candidates that a node passes on: its table, and some of its callers."""
        peers = self.peers.values()
        callers = [peer for peer in peers if not peer.chosen] if self._callers_max else []
        chosen = [peer for peer in peers if peer.chosen]
        return self.describe([*chosen, *callers[-self._callers_max :]])

    # -- profiles (Algorithms 6 and 7)

    def drop_silent(self) -> None:
        stale = self._outbox.now() - self._age_max_ms
        for peer in [p for p in self.peers.values() if p.heard_ms < stale]:
            self.lost(peer.node)

    def call_silent(self) -> None:
        """Call one of the neighbours that were lost without a word, each in its turn."""
        if self._silent:
            node = next(iter(self._silent))
            calls = self._silent.pop(node)
            if calls > 1:
                self._silent[node] = calls - 1
            self._newscast.meet([node])

    def unintroduced(self) -> list[Peer]:
        """Return the neighbours that do not know this node as it is now, and some of the others,
        each in its turn, since a message may have been lost. Called once a cycle."""
        self._cycles += 1
        return [
            peer
            for peer in self.peers.values()
            if not peer.introduced or (self._cycles + peer.node) % WHOLE_EVERY == 0
        ]

    def introduce(self, peer: Peer, proposals: tuple[Proposal, ...] = ()) -> None:
        peer.introduced = True
        self._outbox.send(peer.node, Profile(peer.chosen, self._interest.about, proposals))

    def exchange_profiles(self, news: Mapping[NodeId, tuple[Proposal, ...]]) -> None:
        """Send the heartbeats, with the proposals that are new to a neighbour."""
        quiet: tuple[list[NodeId], list[NodeId]] = ([], [])
        """Most of the time, all neighbours: those not in the table, and those in it."""
        for peer in self.peers.values():
            if proposals := news.get(peer.node):
                self._outbox.send(peer.node, Profile(peer.chosen, None, proposals))
            else:
                quiet[peer.chosen].append(peer.node)
        for chosen, nodes in zip((False, True), quiet, strict=True):
            if nodes:
                self._outbox.send_all(nodes, Profile(chosen, None, ()))

    def accept_caller(self, sender: NodeId, message: Profile) -> Peer | None:
        """Return the link with a stranger that has put this node into its table."""
        about = message.about
        if sender in self.peers or (about is not None and about.node != sender):
            return None
        if about is None or not message.chosen:
            # The sender holds a link that this node does not. It may introduce itself again.
            self._outbox.send(sender, Goodbye(leaving=False))
            return None
        peer = Peer(about, self._outbox.now())
        self._link(peer)
        peer.chooses = True
        return peer

    def on_profile(self, sender: NodeId, message: Profile) -> Peer | None:
        """Take in a neighbour's profile. Return the neighbour, if the profile was its own."""
        peer = self.peers.get(sender)
        about = message.about
        if peer is None or (about is not None and about.node != sender):
            return None
        peer.heard_ms = self._outbox.now()
        peer.chooses = message.chosen
        if about is not None and about.version > peer.said:
            if about.version >= peer.said + LIFE and peer.said >= 0:
                # It was restarted, and knows nothing of what was agreed.
                self._changed(peer, "forgotten")
                peer.introduced = False
            peer.said = about.version
            if about.interest != peer.about.interest:
                self.settled = False
                self.hood.update(peer, about)
            else:
                peer.about = about
        return peer

    def end_half_link(self, peer: Peer) -> None:
        """Drop a link that neither end has in its table. A heartbeat of this node may have
        crossed the peer's, so that the peer still takes itself to be chosen."""
        if not peer.chosen and not peer.chooses:
            self._outbox.send(peer.node, Goodbye(leaving=False))
            self._unlink(peer)

    def on_goodbye(self, sender: NodeId, message: Goodbye) -> None:
        peer = self.peers.get(sender)
        if message.leaving:
            self.lost(sender)
            self._silent.pop(sender, None)
        elif peer is not None:
            peer.chooses = peer.introduced = False
            if peer.chosen:
                self._changed(peer, "forgotten")
            else:
                self._unlink(peer)

    def _link(self, peer: Peer) -> None:
        self.hood.add(peer)
        self._silent.pop(peer.node, None)
        self._outbox.link_up(peer.node)
        self._changed(peer, "linked")

    def _unlink(self, peer: Peer) -> None:
        self.hood.remove(peer)
        self.settled = self.settled and not peer.chosen
        self._outbox.link_down(peer.node)
        self._changed(peer, "unlinked")
