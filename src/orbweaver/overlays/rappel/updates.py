"""Updates of feeds: pushed down the trees, pulled where they are missing (section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.core.overlay import Context
from orbweaver.gossip.cache import Held
from orbweaver.gossip.streams import AGE_SLACK_MS
from orbweaver.overlays.rappel.messages import EventName, FeedPull, Update
from orbweaver.overlays.rappel.neighbors import TRIES
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.trees import FeedTree


class Updates:
    """What one node publishes, passes on and pulls, in all its trees."""

    def __init__(
        self,
        context: Context,
        params: RappelParams,
        subscribed: Mapping[Topic, int],
        trees: Mapping[Topic, FeedTree],
    ) -> None:
        self._context = context
        self._cache = params.cache
        self._pull_gaps = params.pull_gaps
        self._again_ms = params.timeout_ms // TRIES
        self._subscribed = subscribed
        self._trees = trees
        self._next_seq: dict[Topic, int] = {}

    def publish(self, tree: FeedTree, epoch: int, payload: bytes) -> Event:
        seq = self._next_seq.get(tree.topic, 0)
        self._next_seq[tree.topic] = seq + 1
        event = Event(tree.topic, self._context.me, epoch, seq, payload, self._context.seal())
        tree.news(event.stream, seq)
        self._push(tree, Held(event, 0, 0, self._context.outbox.now()), None)
        return event

    def _push(self, tree: FeedTree, held: Held, source: NodeId | None) -> None:
        tree.put(held)
        peers = [peer for peer in tree.neighbors() if peer != source]
        age_ms = held.age_at(self._context.outbox.now())
        self._context.outbox.send_all(peers, Update(held.event, held.hops + 1, age_ms))

    def on_update(self, sender: NodeId, message: Update) -> bool:
        """Deliver and pass on an update that is new. Return whether it was."""
        event = message.event
        tree = self._trees.get(event.topic)
        if tree is None or not tree.news(event.stream, event.seq):
            return False
        now = self._context.outbox.now()
        since = self._subscribed.get(event.topic)
        if (
            since is not None
            and event.publisher != self._context.me
            and message.age_ms <= now - since + AGE_SLACK_MS
        ):
            self._context.outbox.deliver(message)
        self._push(tree, Held(event, message.hops, message.age_ms, now), sender)
        if self._pull_gaps and tree.touches(sender):
            self.pull(sender, tree.gaps(event.stream, event.seq))
        return True

    def have(self, trees: Sequence[FeedTree]) -> tuple[EventName, ...]:
        """Return the names of the updates in the caches of these feeds."""
        if len(trees) == 1:  # as nearly always
            return trees[0].names
        return tuple(chain.from_iterable([tree.names for tree in trees]))

    def pull(self, peer: NodeId, names: Sequence[EventName]) -> None:
        """Pull the updates that are missing here, of those that a parent or child has."""
        if not names:
            return
        now = self._context.outbox.now()
        by_topic: dict[Topic, list[EventName]] = {}
        for name in names:
            tree = self._trees.get(name[2])
            if tree is not None and name not in tree.cache:  # nearly all names are there
                by_topic.setdefault(name[2], []).append(name)
        wanted: list[EventName] = []
        for topic, of_topic in by_topic.items():
            tree = self._trees[topic]
            if tree.touches(peer):
                wanted += tree.lacking(of_topic[-self._cache :], now, self._again_ms)
        if wanted:
            self._context.outbox.send(peer, FeedPull(tuple(wanted)))

    def on_feed_pull(self, sender: NodeId, message: FeedPull) -> None:
        now = self._context.outbox.now()
        for name in dict.fromkeys(message.names):
            tree = self._trees.get(name[2])
            if tree is None or not tree.touches(sender):
                continue
            held = tree.give(sender, name)
            if held is not None:
                update = Update(held.event, held.hops + 1, held.age_at(now))
                self._context.outbox.send(sender, update)
