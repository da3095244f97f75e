"""Dissemination over a topic-connected overlay: push along a tree, announce the rest.

The idea of Plumtree (Leitao et al., 2007), once for each topic. Among the links whose two
ends share a topic, each end marks some as *lazy*. An event is pushed at once over links
that are not lazy, and only announced over the lazy ones. Who gets a copy of what it has asks
for no more of them (PRUNE), and the other end makes its link lazy; an announced event that
does not come makes the announcer's link eager again and pulls the event (GRAFT). What remains
eager is a spanning tree of the topic's subscribers, found by the first events and mended when
links go; `gossip.trees` says where that is not as in Plumtree.

Events of one (publisher, epoch, topic) are numbered, so that any later sign of a stream
shows what is missing of it. After a burst the newest numbers are announced once more over
all links, so that the last event is not lost in silence; and to a new link, so that what
was published before the overlay formed is not lost either. No clocks are compared: an
event carries its age, and a node is given nothing older than its own subscription.

Events are signed where it matters, but what is said about them is not. So an announcement
makes a node ask and settles nothing, and what is remembered of what peers say is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message, Purpose, StreamId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.announcing import Announce, Announcer
from orbweaver.gossip.cache import EventCache, Held
from orbweaver.gossip.pulling import Gone, Graft, Pulling
from orbweaver.gossip.streams import AGE_SLACK_MS, Stream
from orbweaver.gossip.trees import Tree


class Push(Carrier, frozen=True, gc=False, tag="push"):
    """An event over an eager link, or in answer to a GRAFT."""


class Prune(Message, frozen=True, gc=False, tag="prune"):
    purpose: ClassVar[Purpose] = "repair"
    topic: Topic


class Dissemination:
    messages = (Push, Announce, Graft, Gone, Prune)

    CACHE_SIZE = Pulling.PAST
    """Events kept for each topic: what can still be pulled."""
    YOUNG_MS = 5000
    """Those that are no older are kept too, however many."""
    RELAY_AGE_MS = 10_000
    """Events this young are pulled even by those who want them only to pass them on: while
    an overlay forms, the way to a subscriber may lead over a node that came later."""
    STREAMS_MAX = 1 << 17
    """Streams remembered; whoever has a key can begin as many as it likes."""

    def __init__(self, context: Context, peers: Mapping[NodeId, Interest]) -> None:
        """`peers` is the live map of neighbours and their interests."""
        self._context = context
        self._outbox = context.outbox
        self._me = context.me
        self._topic_mask = context.topics.mask
        self._peers = peers
        self._subscribed_at: dict[Topic, int] = {}
        self._epoch = 0
        self._next_seq: dict[Topic, int] = {}
        self._streams: dict[StreamId, Stream] = {}
        self._cache = EventCache(self.CACHE_SIZE, self.YOUNG_MS)
        self._trees: dict[Topic, Tree] = {}
        """Of the topics we care for."""
        self._announcer = Announcer(context, peers, self._streams, self._cache)
        self._pulling = Pulling(context, peers, self._streams, self._tree, self._age_ms_max)

    # -- what the overlay asks for

    def start(self) -> None:
        self._epoch = self._outbox.now()

    def subscribe(self, topic: Topic) -> None:
        self._subscribed_at.setdefault(topic, self._outbox.now())

    def unsubscribe(self, topic: Topic) -> None:
        """Forget the topic, but not which of its events were seen: a later subscription
        must not be given them again."""
        self._subscribed_at.pop(topic, None)
        self._cache.drop_topic(topic)
        self._trees.pop(topic, None)
        self._pulling.wanted.give_up_topic(topic)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        seq = self._next_seq.get(topic, 0)
        self._next_seq[topic] = seq + 1
        event = Event(topic, self._me, self._epoch, seq, payload)
        key = (self._me, self._epoch, topic)
        stream = self._streams.get(key) or self._new_stream(key)
        stream.settle(seq)
        self._spread([Held(event, 0, 0, self._outbox.now())], key, None)
        return event

    def peer_up(self, peer: NodeId, interest: Interest) -> None:
        """Called for a new neighbour, and again when its interest changed."""
        for topic, tree in self._trees.items():
            if not interest.mask & self._topic_mask(topic):
                self._lose(topic, tree, peer)
        self._announcer.greet(peer, interest)

    def peer_down(self, peer: NodeId) -> None:
        for topic, tree in self._trees.items():
            self._lose(topic, tree, peer)
        self._announcer.forget(peer)

    # -- messages: `handlers` has a function for each

    def receive(self, sender: NodeId, message: Message) -> None:
        """Any of `messages`, for an overlay that does not take over `handlers`."""
        self.handlers[type(message)](self, sender, message)

    def on_push(self, sender: NodeId, message: Push) -> None:
        event = message.event
        topic, seq = event.topic, event.seq
        key = (event.publisher, event.epoch, topic)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._new_stream(key)
            stream.skip_below(seq - self.CACHE_SIZE)
        # Nearly always it is the next one.
        if (seq != stream.next_seq and stream.seen(seq)) or event.publisher == self._me:
            self._on_copy(sender, message)
            return
        tree = self._tree(topic)
        if (
            self._pulling.wanted.events
            and self._pulling.came(key, seq, sender)
            and tree is not None
        ):
            tree.feeder = sender  # whoever was has failed
        stream.settle(seq)
        if tree is not None and tree.take_new(sender, self._peers):
            self._outbox.send(sender, Graft(key, (), 0))
        now = self._outbox.now()
        since = self._subscribed_at.get(topic)
        # Not what was published before the subscription.
        if since is not None and message.age_ms <= now - since + AGE_SLACK_MS:
            self._outbox.deliver(message)
        self._spread([Held(event, message.hops, message.age_ms, now)], key, sender)
        if stream.next_seq <= seq and self._cares(topic):
            stream.skip_below(seq - Pulling.PULL_MAX)
            if self._pulling.note(key, seq - 1, sender):
                self._pulling.arm()

    def on_pushes(self, sender: NodeId, messages: Sequence[Push]) -> None:
        """The same for several, in order. When events follow each other fast they nearly
        always are the next of their stream, from whom they have come before; then there is
        nothing to find out, and all of them are taken together."""
        at = 0
        while at < len(messages):
            event = messages[at].event
            key = (event.publisher, event.epoch, event.topic)
            stream = self._streams.get(key)
            tree = self._trees.get(event.topic)
            end = at + 1
            if (
                stream is not None
                and stream.next_seq == event.seq
                and not (stream.ahead or self._pulling.wanted.events)
                and tree is not None
                and tree.feeder == sender
                and sender not in tree.pruned
                and event.publisher != self._me
            ):
                end = _end_of_run(messages, at)
            if end - at > 1:
                self._on_run(sender, messages[at:end], key)
            else:
                self.on_push(sender, messages[at])
            at = end

    def _on_run(self, sender: NodeId, run: Sequence[Push], key: StreamId) -> None:
        self._streams[key].next_seq += len(run)
        self._trees[key[2]].rival = None
        now = self._outbox.now()
        since = self._subscribed_at.get(key[2])
        if since is not None:
            oldest = now - since + AGE_SLACK_MS
            for message in run:
                if message.age_ms <= oldest:
                    self._outbox.deliver(message)
        self._spread([Held(m.event, m.hops, m.age_ms, now) for m in run], key, sender)

    def _on_copy(self, sender: NodeId, message: Push) -> None:
        event = message.event
        tree = self._tree(event.topic)
        if tree is None or sender not in self._peers:
            return
        held = self._cache.get(event.stream, event.seq)
        nearer = held is not None and message.hops < held.hops
        if tree.take_copy(sender, nearer, event.publisher == self._me, self._peers):
            self._outbox.send(sender, Prune(event.topic))

    def on_announce(self, sender: NodeId, message: Announce) -> None:
        noted = False
        for sign in message.signs:
            stream = self._streams.get(sign.stream)
            if stream is not None and sign.seq < stream.next_seq:
                continue  # nearly always: all of it is here
            topic = sign.stream[2]
            if self._cares(topic) and sign.age_ms <= self._age_ms_max(topic):
                noted = self._pulling.note(sign.stream, sign.seq, sender) or noted
        if noted:
            self._pulling.arm()

    def on_graft(self, sender: NodeId, message: Graft) -> None:
        now = self._outbox.now()
        if (tree := self._trees.get(message.stream[2])) is not None:
            tree.take_graft(sender)
            # Without numbers, it says that the sender itself gets nothing.
            if not message.seqs and tree.starve(sender):
                self._ask_for_pushes(message.stream[2], sender)
        below = 0
        for seq in dict.fromkeys(message.seqs[: Pulling.GRAFTED_MAX]):
            held = self._cache.get(message.stream, seq)
            if held is None:
                continue  # somebody else may still keep it
            age_ms = held.age_at(now)
            if age_ms <= message.age_ms_max:
                self._outbox.send(sender, Push(held.event, held.hops + 1, age_ms))
            else:
                below = max(below, seq + 1)
        if below:
            self._outbox.send(sender, Gone(message.stream, below))

    def on_prune(self, sender: NodeId, message: Prune) -> None:
        topic = message.topic
        tree = self._tree(topic)
        if tree is None or sender not in self._peers:
            return
        if sender not in tree.lazy:
            # What was pushed over the link before may have been lost.
            for stream, held in self._cache.newest(topic).items():
                self._announcer.soon(sender, stream, held.event.seq)
        tree.take_prune(sender)

    # -- timers

    def wake(self, timer: str) -> None:
        if timer == Pulling.TIMER:
            self._pulling.graft()
        elif timer == Announcer.TIMER_ANNOUNCE:
            self._announcer.announce()
        elif timer == Announcer.TIMER_SUMMARY:
            self._pulling.wanted.be_impatient()
            self._announcer.summarise()

    # -- inside

    def _lose(self, topic: Topic, tree: Tree, peer: NodeId) -> None:
        """Take a peer out of the tree of a topic."""
        if tree.lose(peer):
            self._ask_for_pushes(topic, peer)

    def _ask_for_pushes(self, topic: Topic, lost: NodeId) -> None:
        """Ask all neighbours but the lost feeder. A neighbour that is fed by this very node gets
        nothing either, and asks its own neighbours."""
        bit = self._topic_mask(topic)
        # Without numbers, only the topic of the stream counts.
        graft = Graft((self._me, self._epoch, topic), (), 0)
        for peer, interest in self._peers.items():
            if peer != lost and interest.mask & bit:
                self._outbox.send(peer, graft)

    def _new_stream(self, key: StreamId) -> Stream:
        if len(self._streams) >= self.STREAMS_MAX:
            del self._streams[next(iter(self._streams))]
        stream = self._streams[key] = Stream()
        return stream

    def _spread(self, run: Sequence[Held], stream: StreamId, source: NodeId | None) -> None:
        """Events of one stream, which follow each other."""
        self._cache.put(run, stream)
        publisher, _, topic = stream
        bit = self._topic_mask(topic)
        tree = self._trees.get(topic)
        lazy = tree.lazy if tree is not None else ()
        pushes: list[Push] = []
        for peer, interest in self._peers.items():
            if peer in (source, publisher) or not interest.mask & bit:
                continue
            if peer in lazy:
                self._announcer.soon(peer, stream, run[-1].event.seq)
            else:
                pushes = pushes or [Push(held.event, held.hops + 1, held.age_ms) for held in run]
                for push in pushes:
                    self._outbox.send(peer, push)
        self._announcer.after(stream)

    def _tree(self, topic: Topic) -> Tree | None:
        tree = self._trees.get(topic)
        if tree is None and self._cares(topic):
            tree = self._trees[topic] = Tree()
        return tree

    def _cares(self, topic: Topic) -> bool:
        """Subscribed to, or published on."""
        return topic in self._subscribed_at or topic in self._next_seq

    def _age_ms_max(self, topic: Topic) -> int:
        """How old an event may be to be worth pulling."""
        since = self._subscribed_at.get(topic)
        if since is None:
            return self.RELAY_AGE_MS
        subscribed_ms = self._outbox.now() - since + AGE_SLACK_MS
        return max(subscribed_ms, self.RELAY_AGE_MS)

    handlers: ClassVar[dict[type[Message], Callable[[Dissemination, NodeId, Any], None]]] = {
        Push: on_push,
        Announce: on_announce,
        Graft: on_graft,
        Gone: lambda node, *m: node._pulling.on_gone(*m),
        Prune: on_prune,
    }


def _end_of_run(messages: Sequence[Push], at: int) -> int:
    """Up to where events of the same stream follow each other without a gap."""
    first = messages[at].event
    topic, publisher, epoch, seq = first.topic, first.publisher, first.epoch, first.seq
    for end in range(at + 1, len(messages)):
        event = messages[end].event
        seq += 1
        if (
            event.seq != seq
            or event.topic != topic
            or event.publisher != publisher
            or event.epoch != epoch
        ):
            return end
    return len(messages)
