"""One node's side of Magnet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below, pick
from orbweaver.core.topics import NOTHING, Interest
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import News, NewsReply, Pull, Relay, Unrelay
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.rates import SeenRates, make_rates
from orbweaver.gossip.relays import Relays
from orbweaver.gossip.similarity import overlap, weighted
from orbweaver.overlays.magnet.control import ControlFingers
from orbweaver.overlays.magnet.events import Events
from orbweaver.overlays.magnet.fingers import Fingers
from orbweaver.overlays.magnet.identifier import (
    Grants,
    Turns,
    bits_in_use,
    most_similar,
    place_apart,
)
from orbweaver.overlays.magnet.membership import Membership, hash_of
from orbweaver.overlays.magnet.messages import (
    MESSAGES,
    Acquire,
    Acquired,
    Ask,
    Beat,
    Find,
    Found,
    Grow,
    Have,
    JoinTree,
    LeaveTree,
    Multicast,
    Ping,
    Publish,
    Publishing,
    Report,
    RingDescriptor,
    Sample,
    Told,
    Unlink,
    View,
    Walk,
    Walked,
)
from orbweaver.overlays.magnet.params import MagnetParams
from orbweaver.overlays.magnet.table import Table
from orbweaver.overlays.magnet.trees import Trees

RATE_MAX = 1e6
"""Largest rate of publication that another node is believed to have observed, relative to a topic
of which nothing is known."""

LOOK_EVERY = 4
"""Cycles after which a node that waits for its turn looks whether most nodes have had theirs."""


class Magnet(Overlay):
    name: ClassVar[str] = "magnet"
    summary: ClassVar[str] = "trees on a ring where nodes of similar interests stand together"
    paper: ClassVar[str] = "Magnet, DEBS 2010"
    Params = MagnetParams
    params: MagnetParams
    messages = (News[RingDescriptor], NewsReply[RingDescriptor], Relay, Unrelay, Pull, *MESSAGES)
    TIMER = "cycle"
    CLUSTERED: ClassVar[bool] = True
    """Places are acquired by interest. The strawman keeps the hash."""

    def __init__(self, context: Context, params: MagnetParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.sub = NOTHING
        """p.sub. Publishing does not count: it needs no place in the tree."""
        self.rates = make_rates(params.rates, context.topics)
        self.place = context.places[context.me]
        self.placed = not self.CLUSTERED
        self.about = RingDescriptor(context.me, NOTHING, 0, self.place)
        self.newscast = Newscast(context, self, params.view_size)
        self.table = Table(context, params, self, self.place, self.newscast, self.on_link)
        self.fingers = Fingers(context, params, self.table, self.newscast, self.likeness)
        self.control_fingers = ControlFingers(context, params, self.table)
        control = self.table.control.router.next_hop
        self.relays = Relays(context, control, params.relay_ms)
        self.membership = Membership(context, params, self.relays)
        self.events = Events(context, params, control, self.interest.subscribed)
        self.trees = Trees(context, params, self.table, self.members, self.events.recent)
        self.running = False
        # Algorithm 1
        self.sampling = False
        """This node takes part in the samples of its topics."""
        self.turns = Turns(params)
        self.settled = self.placed
        """This node and most others have their places: fingers and trees are worth making."""
        self.asked: NodeId | None = None
        """The node that was asked for a place."""
        self.asked_ms = 0
        self.looks = 0
        """Cycles in which it was not this node's turn."""
        self.excluded: dict[NodeId, None] = {}
        """Nodes that did not answer, or had no place to give."""
        self.changes = 0
        """Changes of interest since the last move."""
        self.moved_ms = 0
        self.moves = 0
        self.grants = Grants()

    @classmethod
    def claims(cls, params: MagnetParams) -> Claims:
        return Claims(
            noiseless=False,
            topic_connected=False,
            total_delivery=True,
            degree_bound="ring_size * 4 + fingers + control_fingers links of its own; those of "
            "others to it are not bounded",
        )

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.running = True
        self.interest.start(self.context.outbox.now())
        self.describe()
        self.fingers.moved(self.place)
        self.events.start()
        self.moved_ms = self.context.outbox.now()
        self.trees.start()
        self.trees.want(self.interest.subscribed)
        self.newscast.meet(contacts)
        self.table.meet(contacts)
        self.context.outbox.set_timer(self.TIMER, 1 + below(self.context.rng, self.params.cycle_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.newscast.meet(contacts)
        self.table.meet(contacts)

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
        event = self.events.publish(check_topic(topic), payload)
        if self.trees.is_home(topic):
            self.be_home_of(event)
        return event

    def wake(self, timer: Timer) -> None:
        """Run one cycle."""
        self.context.outbox.set_timer(self.TIMER, self.params.cycle_ms)
        if not self.table.is_at_rest():
            self.newscast.step()
        self.table.step()
        self.take_part()
        self.relays.step()
        self.membership.step()
        self.acquire_identifier()
        self.fingers.step(self.settled)
        self.control_fingers.step()
        self.trees.step(self.settled and self.fingers.drawn and self.are_rings_quiet())
        self.publish_again()
        if isinstance(self.rates, SeenRates):
            self.rates.step()

    def lost(self, peer: NodeId) -> None:
        self.table.lost(peer)

    def backlog(self) -> int:
        return self.events.backlog()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        return dict.fromkeys(self.trees.peers(topic))

    def links(self) -> Collection[NodeId]:
        return self.table.peers.keys()

    def status(self) -> dict[str, int]:
        table = sum(peer.chosen for peer in self.table.peers.values())
        skewed = self.table.skewed
        subscribed, branches = self.interest.subscribed, self.trees.branches
        nearest = skewed.places[skewed.successors[0]] if skewed.successors else self.place
        return {
            "table": table,
            "in_links": len(self.table.peers) - table,
            "relay_of": sum(topic not in subscribed for topic in branches),
            "home_of": sum(branch.rooted for branch in branches.values()),
            "detached": sum(not self.trees.is_on(topic) for topic in subscribed),
            "depth": max((b.depth for t, b in branches.items() if t in subscribed), default=0),
            "placed": int(self.placed),
            "moves": self.moves,
            "id_bits": bits_in_use(self.place, nearest),
        }

    # -- what is told of this node

    def describe(self) -> None:
        """Renew what other nodes are told of this one."""
        told = self.interest.about
        self.sub = self.context.topics.interest(self.interest.subscribed)
        interest = self.sub if self.params.biased else NOTHING
        self.about = RingDescriptor(self.context.me, interest, told.version, self.place)

    def sample(self) -> Sample:
        """Return what the membership service tells of this node."""
        topics = self.sub
        hashes: tuple[int, ...] = ()
        if self.params.hashed:
            hashes = tuple(sorted(map(hash_of, topics.topics)))
        rates: tuple[tuple[Topic, float], ...] = ()
        if isinstance(self.rates, SeenRates):
            rates = tuple([(t, self.rates[t]) for t in topics.topics if t in self.rates])
        return Sample(
            self.context.me, NOTHING if hashes else topics, hashes, rates,
            self.place, self.placed, self.interest.about.version,
        )  # fmt: skip

    def interest_changed(self) -> None:
        if not self.running:
            return
        self.changes += 1
        self.interest.renew()
        self.describe()
        if self.params.biased:
            self.table.changed_interest()
        if self.sampling:
            self.membership.subscribe(list(self.interest.subscribed), self.sample())
        self.trees.want(self.interest.subscribed)

    def take_part(self) -> None:
        """Join the control trees once the control ring has closed around this node: before,
        requests would end anywhere."""
        if self.sampling:
            return
        if self.table.is_quiet(skewed=False) and self.control_fingers.looked_up:
            self.sampling = True
            self.turns.begin(self.context.outbox.now(), self.context.rng)
            self.membership.subscribe(list(self.interest.subscribed), self.sample())

    def are_rings_quiet(self) -> bool:
        return self.table.is_quiet(skewed=False) and self.table.is_quiet(skewed=True)

    def on_link(self, peer: NodeId, linked: bool) -> None:
        """Called when a link comes or goes."""
        if linked:
            # Another shortcut is no reason to build control trees anew. A nearer home is, and a
            # home is next to whoever was the home before.
            if peer in self.table.control.nodes:
                self.relays.reroute()
                self.trees.reroute()
        else:
            self.relays.lost(peer)
            self.trees.lost(peer)

    # -- identifiers (Algorithm 1)

    def acquire_identifier(self) -> None:
        """Take a place on the skewed ring: once at first, and again after enough changes of
        interest, at most so often."""
        if not self.CLUSTERED:
            return
        now, params = self.context.outbox.now(), self.params
        if not self.settled:
            self.settled = self.placed and self.are_turns_over(now)
        if self.asked is not None:
            if now - self.asked_ms < 2 * params.cycle_ms:
                return
            self.excluded[self.asked] = None  # it failed; start again without it
            self.asked = None
        elif self.placed:
            apart = place_apart(self.table.skewed, self.context.me)
            if apart is not None:
                self.move_to(apart)
            if self.changes < params.rejoin_changes or now - self.moved_ms < params.rejoin_ms:
                return
            self.excluded = {}
        if not self.placed and not self.excluded and not self.is_my_turn(now):
            return
        view = self.membership.view()
        candidates = [one for one in view.values() if one.placed]
        best = most_similar(candidates, self.similarity, self.context.rng, self.excluded)
        if best is not None:
            self.asked, self.asked_ms = best.node, now
            self.context.outbox.send(best.node, Acquire())
        elif self.placed:
            self.changes = 0  # stay
        else:
            self.move_to(self.context.places[self.context.me])

    def is_my_turn(self, now: int) -> bool:
        """Return whether a node without an identifier is to acquire one now. One that comes later,
        when most nodes have their place, need not wait."""
        if not self.sampling:
            return False
        if now >= self.turns.mine_ms(self.control_fingers.nodes()):
            return True
        self.looks += 1
        return self.looks % LOOK_EVERY == 0 and self.membership.share_placed() > 0.5

    def are_turns_over(self, now: int) -> bool:
        """Return whether all nodes that started with this one have had their turn, or whether
        nearly all nodes have their place."""
        last_ms = self.turns.last_ms(self.control_fingers.nodes())
        return now >= last_ms or self.membership.share_placed() > 0.9

    def on_acquire(self, sender: NodeId, message: Acquire) -> None:
        """Give the sender the place halfway to this node's successor (line 3)."""
        place = self.grants.give(self.table.skewed, sender, self.context.outbox.now())
        self.context.outbox.send(sender, Acquired(place))

    def on_acquired(self, sender: NodeId, message: Acquired) -> None:
        if sender != self.asked:
            return
        self.asked = None
        if message.place is None:
            self.excluded[sender] = None
            return
        self.move_to(message.place)
        self.table.ask(sender, skewed=True)

    def move_to(self, place: int) -> None:
        """Join the skewed ring at a place. On the control ring the node stays where it is."""
        self.changes, self.moved_ms = 0, self.context.outbox.now()
        self.excluded = {}
        self.placed = True
        moved = place != self.place
        self.place = place
        self.interest.renew()
        self.describe()
        if self.sampling:
            self.membership.tell(self.sample())
        if moved:
            self.moves += 1
            self.table.moved(place)
            self.fingers.moved(place)
            self.trees.moved()

    def similarity(self, sample: Sample) -> float:
        """Return sim(p.sub, q.sub) (Sec. 2.1)."""
        mine = self.interest.subscribed
        if sample.hashes:
            theirs = set(sample.hashes)
            both = sum(hash_of(topic) in theirs for topic in mine)
            return both / (len(mine) + len(theirs) - both)
        told = {topic: rate for topic, rate in sample.rates if 0 <= rate <= RATE_MAX}
        return self.likeness(sample.interest, told)

    def likeness(self, other: Interest, told: dict[Topic, float] | None = None) -> float:
        mine = self.sub
        if self.rates is None:
            return overlap(mine, other)
        rates = self.rates
        if told:
            # What the other has seen of topics that this node knows nothing of.
            rates = {t: told.get(t, rates[t]) if t not in rates else rates[t]
                     for t in (*mine.topics, *other.topics)}  # fmt: skip
        return weighted(mine, other, self.context.topics, rates)

    def members(self, topic: Topic) -> list[NodeId]:
        """Return the known subscribers of a topic (S of Algorithm 2)."""
        return [one.node for one in self.membership.view_of(topic)]

    # -- handlers

    def on_told(self, sender: NodeId, message: Told) -> None:
        self.table.on_told(sender, message)
        if message.about.node == sender:
            self.fingers.on_told(message.about)

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        if sender in self.table.peers:
            self.relays.on_relay(sender, message)
        else:
            self.context.outbox.send(sender, Unlink(leaving=False))

    def on_beat(self, sender: NodeId, message: Beat) -> None:
        self.events.compare(sender, self.trees.on_beat(sender, message))

    def on_publish(self, sender: NodeId, message: Publish) -> None:
        """An event from its publisher. If this is the home no more, the home is told."""
        event = message.event
        if self.trees.is_home(event.topic):
            self.trees.become_root(event.topic)
            self.on_event(sender, message)
        else:
            self.events.on_publishing(sender, Publishing(event.id, 1))

    def on_event(self, sender: NodeId, message: Carrier) -> None:
        """Pass an event on: down to the children, and one that a child brought also up."""
        if self.events.take(message):
            event = message.event
            if isinstance(self.rates, SeenRates):
                self.rates.saw(event.topic)
            peers = [peer for peer in self.trees.peers(event.topic) if peer != sender]
            self.events.pass_on(event, peers)

    def publish_again(self) -> None:
        """See to the events published here that are not on their way down the tree."""
        own, untaken = self.events.step()
        for event in own:
            self.be_home_of(event)
        for event in untaken:
            hop = self.table.control.router.next_hop(PLACE_OF_TOPIC[event.topic])
            if hop is not None:
                self.table.suspect(hop)
            through = [*self.members(event.topic), *self.table.peers]
            if through:
                self.events.tell_through(event, pick(self.context.rng, through))

    def be_home_of(self, event: Event) -> None:
        """Take an event that was published here, where the home of its topic is too."""
        self.trees.become_root(event.topic)
        self.events.take_own(event)
        self.events.pass_on(event, self.trees.peers(event.topic))


Magnet.ON = {
    News: lambda node, sender, message: node.newscast.on_news(sender, message),
    NewsReply: lambda node, sender, message: node.newscast.on_news_reply(sender, message),
    Ping: lambda node, sender, message: node.table.on_ping(sender, message),
    Unlink: lambda node, sender, message: node.table.on_unlink(sender, message),
    Ask: lambda node, sender, message: node.table.on_ask(sender, message),
    Told: Magnet.on_told,
    Walk: lambda node, sender, message: node.fingers.on_walk(sender, message),
    Walked: lambda node, sender, message: node.fingers.on_walked(sender, message),
    Find: lambda node, sender, message: node.control_fingers.on_find(sender, message),
    Found: lambda node, sender, message: node.control_fingers.on_found(sender, message),
    Relay: Magnet.on_relay,
    Unrelay: lambda node, sender, message: node.relays.on_unrelay(sender, message),
    Report: lambda node, sender, message: node.membership.on_report(sender, message),
    View: lambda node, sender, message: node.membership.on_view(sender, message),
    Acquire: Magnet.on_acquire,
    Acquired: Magnet.on_acquired,
    JoinTree: lambda node, sender, message: node.trees.on_join_tree(sender, message),
    Grow: lambda node, sender, message: node.trees.on_grow(sender, message),
    Beat: Magnet.on_beat,
    Have: lambda node, sender, message: node.events.on_have(sender, message),
    LeaveTree: lambda node, sender, message: node.trees.on_leave_tree(sender, message),
    Publishing: lambda node, sender, message: node.events.on_publishing(sender, message),
    Publish: Magnet.on_publish,
    Pull: lambda node, sender, message: node.events.on_pull(sender, message),
    Multicast: Magnet.on_event,
}
