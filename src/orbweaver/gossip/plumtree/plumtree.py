"""Plumtree for all topics of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message, StreamId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.cache import EventCache, Held
from orbweaver.gossip.plumtree.grafting import Grafting
from orbweaver.gossip.plumtree.lazy import LazyPush
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Prune, Push, PushRun, push
from orbweaver.gossip.plumtree.tree import Tree
from orbweaver.gossip.streams import AGE_SLACK_MS, Stream


class Plumtree:
    messages = (Push, PushRun, IHave, Graft, Gone, Prune)
    TIMER_GRAFT = "graft"

    CACHE_SIZE = Grafting.PAST
    """How many events are kept for each topic, so that they can be pulled."""
    YOUNG_MS = 5000
    """Events that are no older than this many milliseconds are kept in any number."""
    RELAY_AGE_MS = 10_000
    """Events no older than this many milliseconds are pulled even by nodes that only pass them
    on: while an overlay forms, the way to a subscriber may lead over a node that came later."""
    STREAMS_MAX = 1 << 17
    """How many streams are remembered. A publisher can begin any number of them."""

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
        """The trees of the topics that this node subscribes to or publishes on."""
        self._lazy = LazyPush(context, peers, self._streams, self._cache)
        self._grafting = Grafting(context, peers, self._streams)

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
        self._grafting.forget_topic(topic)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        return self.publish_run(topic, (payload,)).event

    def publish_run(self, topic: Topic, payloads: Sequence[bytes]) -> Push:
        """Publish events that follow each other, in one message."""
        seq = self._next_seq.get(topic, 0)
        self._next_seq[topic] = end = seq + len(payloads)
        first, *more = payloads
        event = Event(topic, self._me, self._epoch, seq, first, self._context.seal())
        key = (self._me, self._epoch, topic)
        stream = self._streams.get(key) or self._new_stream(key)
        stream.next_seq = end
        run = push(event, 0, 0, tuple(more))
        self._spread(run, key, None)
        return run

    def reach(self, topic: Topic) -> int:
        """Return how many neighbours are interested in a topic."""
        bit = self._topic_mask(topic)
        return sum(1 for interest in self._peers.values() if interest.mask & bit)

    def peer_up(self, peer: NodeId, interest: Interest) -> None:
        """Called for a new neighbour, and again when its interest changed."""
        for topic, tree in self._trees.items():
            if not interest.mask & self._topic_mask(topic):
                self._lose(topic, tree, peer)
        self._lazy.greet(peer, interest)

    def peer_down(self, peer: NodeId) -> None:
        for topic, tree in self._trees.items():
            self._lose(topic, tree, peer)
        self._lazy.forget(peer)

    # -- messages

    def receive(self, sender: NodeId, message: Message) -> None:
        """Take any of `messages`, for an overlay without an entry of its own for each."""
        self.ON[type(message)](self, sender, message)

    def on_push(self, sender: NodeId, message: Push) -> None:
        """Take an event, or a run whose events are all new or all copies. Whatever there is to
        decide is decided once for all of them."""
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
        last, asked, waited_ms = seq + message.count - 1, False, 0
        if self._grafting.missing.events:
            came = [self._grafting.came(key, one, sender) for one in range(seq, last + 1)]
            asked = any(came)
            if asked and tree is not None:
                tree.follow(sender)  # the feeder so far has failed
        stream.settle_run(seq, message.count)
        if self._grafting.awaited.streams:
            waited_ms = self._grafting.reached(key, seq, last, sender, asked)
        if tree is not None and tree.take_new(sender, self._peers):
            self._outbox.send(sender, Graft(key, (), 0))
        self._deliver(message)
        self._spread(message, key, sender)
        if stream.next_seq <= seq and self._cares(topic):
            stream.skip_below(seq - Grafting.PULL_MAX)
            if self._note(key, seq - 1, sender, waited_ms):
                self._arm()

    def on_run(self, sender: NodeId, message: PushRun) -> None:
        """Take a run as one if it lies behind all that has come of its stream, as it nearly always
        does, or if all of it has come before. Otherwise take its new parts and the others each as
        one, so that it goes on in few messages."""
        seq = message.event.seq
        stream = self._streams.get(message.event.stream)
        if stream is None or seq > stream.highest() or stream.seen_all(seq, message.count):
            self.on_push(sender, message)
            return
        for _, numbers in groupby(range(seq, seq + message.count), stream.seen):
            first, *others = numbers
            self.on_push(sender, message.part(first, 1 + len(others)))

    def _on_copy(self, sender: NodeId, message: Push) -> None:
        event = message.event
        tree = self._tree(event.topic)
        if tree is None or sender not in self._peers:
            return
        key = event.stream
        if self._grafting.awaited.streams and sender not in tree.pruned:
            self._grafting.awaited.pushed(key, event.seq + message.count - 1, sender)
        held = self._cache.get(key, event.seq)
        nearer = held is not None and message.hops < held.hops
        if tree.take_copy(sender, nearer, event.publisher == self._me, self._peers):
            self._outbox.send(sender, Prune(event.topic))

    def on_ihave(self, sender: NodeId, message: IHave) -> None:
        noted = False
        for newest in message.streams:
            stream = self._streams.get(newest.stream)
            if (tree := self._trees.get(newest.stream[2])) is not None:
                tree.take_ihave(sender)
            if stream is not None and newest.seq < stream.next_seq:
                continue  # nearly always: all of it is here
            topic = newest.stream[2]
            if self._cares(topic) and newest.age_ms <= self._age_ms_max(topic):
                noted = self._note(newest.stream, newest.seq, sender) or noted
        if noted:
            self._arm()

    def on_graft(self, sender: NodeId, message: Graft) -> None:
        now = self._outbox.now()
        if (tree := self._trees.get(message.stream[2])) is not None:
            tree.take_graft(sender)
            # Without numbers, it says that the sender itself gets nothing.
            if not message.seqs and tree.starve(sender):
                self._ask_for_pushes(message.stream[2], sender)
        below = 0
        numbers = dict.fromkeys(message.seqs[: Grafting.GRAFTED_MAX])
        for held, first, count in self._cache.parts(message.stream, numbers):
            age_ms = held.age_at(now)
            if age_ms <= message.age_ms_max:
                event, more = held.part(first, count)
                self._outbox.send(sender, push(event, held.hops + 1, age_ms, more))
            else:
                below = max(below, first + count)
        if below:
            self._outbox.send(sender, Gone(message.stream, below))

    def on_prune(self, sender: NodeId, message: Prune) -> None:
        topic = message.topic
        tree = self._tree(topic)
        if tree is None or sender not in self._peers:
            return
        if sender not in tree.lazy_push_peers:
            # What was pushed over the link before may have been lost.
            for stream, held in self._cache.newest(topic).items():
                self._lazy.soon(sender, stream, held.last_seq)
        tree.take_prune(sender)

    def on_gone(self, sender: NodeId, message: Gone) -> None:
        self._grafting.on_gone(sender, message)

    # -- timers

    def wake(self, timer: str) -> None:
        if timer == self.TIMER_GRAFT:
            self._graft()
        elif timer == LazyPush.TIMER_ANNOUNCE:
            self._lazy.announce()
        elif timer == LazyPush.TIMER_SUMMARY:
            self._grafting.missing.be_impatient()
            self._lazy.summarise()

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

    def _note(self, key: StreamId, seq: int, holder: NodeId, late_ms: int = 0) -> bool:
        """Note that `holder` has the events of a stream up to `seq`, as another neighbour may have
        announced `late_ms` ago. Return whether any of them is news; then call `_arm`."""
        if key[0] == self._me:
            return False
        # Events come by themselves only if a neighbour pushes. What the feeder has and has not
        # pushed before it said so will not come from it, because links keep the order.
        tree = self._tree(key[2])
        late = self._grafting.missing.is_patient
        if tree is not None and tree.is_skipped(holder, self._peers, late):
            return self._grafting.note(key, seq, holder)
        return self._grafting.wait_for(key, seq, holder, late_ms)

    def _arm(self) -> None:
        due_ms = self._grafting.due_in_ms()
        if due_ms is not None:
            self._outbox.set_timer(self.TIMER_GRAFT, due_ms)

    def _graft(self) -> None:
        """Pull what has not come."""
        for (holder, stream), seqs in self._grafting.overdue().items():
            tree = self._tree(stream[2])
            if tree is not None:
                tree.graft(holder)
            age_ms_max, most = self._age_ms_max(stream[2]), Grafting.GRAFTED_MAX
            for at in range(0, len(seqs), most):
                graft = Graft(stream, tuple(seqs[at : at + most]), age_ms_max)
                self._outbox.send(holder, graft)
        self._arm()

    def _new_stream(self, key: StreamId) -> Stream:
        if len(self._streams) >= self.STREAMS_MAX:
            del self._streams[next(iter(self._streams))]
        stream = self._streams[key] = Stream()
        return stream

    def _deliver(self, message: Push) -> None:
        """Deliver what was published since the node has subscribed."""
        since = self._subscribed_at.get(message.event.topic)
        if since is not None and message.age_ms <= self._outbox.now() - since + AGE_SLACK_MS:
            self._outbox.deliver(message)

    def _spread(self, message: Push, stream: StreamId, source: NodeId | None) -> None:
        """Keep an event or a run, and pass it on."""
        event, hops, age_ms, more = message.event, message.hops, message.age_ms, message.more
        held = Held(event, hops, age_ms, self._outbox.now(), more)
        self._cache.put(held, stream)
        publisher, _, topic = stream
        bit = self._topic_mask(topic)
        tree = self._trees.get(topic)
        lazy = tree.lazy_push_peers if tree is not None else ()
        passed_on: Push | None = None
        for peer, interest in self._peers.items():
            if peer in (source, publisher) or not interest.mask & bit:
                continue
            if peer in lazy:
                self._lazy.soon(peer, stream, held.last_seq)
            else:
                passed_on = passed_on or push(event, hops + 1, age_ms, more)
                self._outbox.send(peer, passed_on)
        self._lazy.after(stream)

    def _tree(self, topic: Topic) -> Tree | None:
        tree = self._trees.get(topic)
        if tree is None and self._cares(topic):
            tree = self._trees[topic] = Tree()
        return tree

    def _cares(self, topic: Topic) -> bool:
        """Return whether the node subscribes to a topic or publishes on it."""
        return topic in self._subscribed_at or topic in self._next_seq

    def _age_ms_max(self, topic: Topic) -> int:
        """Return how old an event may be to be worth pulling, in milliseconds."""
        since = self._subscribed_at.get(topic)
        if since is None:
            return self.RELAY_AGE_MS
        subscribed_ms = self._outbox.now() - since + AGE_SLACK_MS
        return max(subscribed_ms, self.RELAY_AGE_MS)

    ON: ClassVar[dict[type[Message], Callable[[Plumtree, NodeId, Any], None]]] = {
        Push: on_push,
        PushRun: on_run,
        IHave: on_ihave,
        Graft: on_graft,
        Gone: on_gone,
        Prune: on_prune,
    }
