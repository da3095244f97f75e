"""Events: from the publisher to the home of their topic, and down its tree.

A publisher tells the home that there is an event (PUBLISHING, routed over the control ring), and
the home pulls it, so that nodes in between never carry events that they do not want. The publisher
repeats this at growing intervals as long as the event is kept: a home that took over in between
pulls what it lacks.

What a broken branch missed is pulled afterwards. Beats name the streams of which a parent has
recent events. A child pulls what it lacks, and tells the parent of what the parent lacks, so that a
new root also learns what only its children have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, StreamId
from orbweaver.core.overlay import Context
from orbweaver.gossip.cache import EventCache, Held
from orbweaver.gossip.messages import EventId, Pull
from orbweaver.gossip.streams import AGE_SLACK_MS, Stream
from orbweaver.overlays.magnet.messages import (
    Branching,
    Have,
    Multicast,
    Publish,
    Publishing,
    Recent,
    Recents,
)
from orbweaver.overlays.magnet.params import MagnetParams

HOPS_MAX = 128
"""Most hops of a PUBLISHING message."""
BACK = 512
"""How many events of one stream, back from the last, a child looks for."""
PULL_MAX = 128
"""Most events that are pulled from one peer at a time."""
TRIES = 3
"""How often an event is asked for."""
STREAMS_MAX = 1 << 17
"""How many streams are remembered. A publisher can begin any number of them."""
RECENT_MAX = 64
"""Most streams of one topic that are told of."""
WANTED_MAX = 1 << 15
"""Most events that are looked for at one time."""
FIRST_MS = 500
"""Milliseconds after which the home is told again of an event. Doubles each time."""


class Pending:
    """An event published here."""

    __slots__ = ("again_ms", "held", "hop", "taken", "wait_ms")

    def __init__(self, held: Held) -> None:
        self.held = held
        self.wait_ms = FIRST_MS
        self.again_ms = held.since + FIRST_MS
        self.hop: NodeId | None = None
        """The way by which the home was told last."""
        self.taken = False
        """A home has it."""


class Events:
    def __init__(
        self,
        context: Context,
        params: MagnetParams,
        next_hop: Callable[[int], NodeId | None],
        subscribed: Mapping[Topic, int],
    ) -> None:
        """`next_hop` routes on the control ring. `subscribed` is the live map of the subscribed
        topics and their times."""
        self._context = context
        self._me = context.me
        self._outbox = context.outbox
        self._next_hop = next_hop
        self._subscribed = subscribed
        self._keep_ms = params.keep_ms
        self._cache = EventCache(params.cache_size, params.keep_ms)
        self._epoch = 0
        self._sent: dict[Topic, int] = {}
        self._streams: dict[StreamId, Stream] = {}
        self._recent: dict[Topic, dict[StreamId, tuple[int, int, int]]] = {}
        """Topic -> its recent streams, each with the first and last event and the time of that."""
        self._pending: dict[EventId, Pending] = {}
        self._homes: dict[Topic, NodeId] = {}
        """Topic -> the home that pulled the last event from here."""
        self._wanted: dict[EventId, tuple[int, int]] = {}
        """Event that was asked for -> how often, and when last."""

    def start(self) -> None:
        self._epoch = self._outbox.now()

    # -- publishing

    def publish(self, topic: Topic, payload: bytes) -> Event:
        seq = self._sent.get(topic, 0)
        self._sent[topic] = seq + 1
        event = Event(topic, self._me, self._epoch, seq, payload, self._context.seal())
        now = self._outbox.now()
        pending = self._pending[_name(event)] = Pending(Held(event, 0, 0, now))
        home = self._homes.get(topic)
        if home is not None:
            self._outbox.send(home, Publish(event, 1, 0))
        else:
            self._tell_home(pending)
        return event

    def backlog(self) -> int:
        """Return the number of events published here a moment ago that no home has."""
        recent = self._outbox.now() - 2000
        return sum(not p.taken and p.held.since >= recent for p in self._pending.values())

    def _tell_home(self, pending: Pending) -> None:
        event = pending.held.event
        hop = pending.hop = self._next_hop(PLACE_OF_TOPIC[event.topic])
        if hop is not None:
            self._outbox.send(hop, Publishing(_name(event), 1))

    def step(self) -> tuple[list[Event], list[Event]]:
        """Once a cycle: tell homes again, and forget. Return the events published here whose home
        is this node itself, and those that no home has pulled in time."""
        now = self._outbox.now()
        own: list[Event] = []
        untaken: list[Event] = []
        for name, pending in list(self._pending.items()):
            if pending.held.since < now - self._keep_ms:
                del self._pending[name]
                continue
            hop = self._next_hop(PLACE_OF_TOPIC[name[2]])
            if hop is None and not self.seen(name):
                own.append(pending.held.event)
            elif now >= pending.again_ms or (hop != pending.hop and not pending.taken):
                pending.wait_ms *= 2
                pending.again_ms = now + pending.wait_ms
                if not pending.taken:
                    untaken.append(pending.held.event)
                self._tell_home(pending)
        old = now - self._keep_ms
        for topic, streams in list(self._recent.items()):
            for key in [key for key, (_, _, at) in streams.items() if at < old]:
                del streams[key]
            if not streams:
                del self._recent[topic]
        for name in [name for name, (_, at) in self._wanted.items() if at < old]:
            del self._wanted[name]
        return own, untaken

    def tell_through(self, event: Event, node: NodeId) -> None:
        """Let another node tell the home: the way from here may be broken."""
        self._homes.pop(event.topic, None)
        self._outbox.send(node, Publishing(_name(event), 1))

    def on_publishing(self, sender: NodeId, message: Publishing) -> None:
        name = message.event
        hop = self._next_hop(PLACE_OF_TOPIC[name[2]])
        if hop is not None:
            if message.hops < HOPS_MAX:
                self._outbox.send(hop, Publishing(name, message.hops + 1))
        elif name[0] != self._me and not self.seen(name):
            self._outbox.send(name[0], Pull(name))

    def on_pull(self, sender: NodeId, message: Pull) -> None:
        name = message.event
        pending = self._pending.get(name)
        stream = (name[0], name[1], name[2])
        now = self._outbox.now()
        held = self._cache.get(stream, name[3])
        if held is not None:
            self._outbox.send(sender, Multicast(held.event, held.hops + 1, held.age_at(now)))
        elif pending is not None:
            pending.taken = True
            self._homes[name[2]] = sender
            held = pending.held
            self._outbox.send(sender, Publish(held.event, 1, held.age_at(now)))

    # -- what comes

    def seen(self, name: EventId) -> bool:
        stream = self._streams.get((name[0], name[1], name[2]))
        return stream is not None and stream.seen(name[3])

    def take(self, message: Carrier) -> bool:
        """Take in an event: keep it, and give it to the application if it wants it. Return whether
        it is new here."""
        event = message.event
        key = event.stream
        stream = self._stream(key)
        if stream.seen(event.seq):
            return False
        stream.settle(event.seq)
        now = self._outbox.now()
        self._cache.put(Held(event, message.hops, message.age_ms, now), key)
        self._note_recent(event, now)
        self._wanted.pop(_name(event), None)
        if event.publisher == self._me:
            pending = self._pending.get(_name(event))
            if pending is not None:
                pending.taken = True
        elif self._wants(event.topic, message.age_ms):
            self._outbox.deliver(message)
        return True

    def take_own(self, event: Event) -> None:
        """Be the home of an event that was published here."""
        self.take(Multicast(event, 0, max(0, self._outbox.now() - self._since(event))))

    def pass_on(self, event: Event, peers: Sequence[NodeId]) -> None:
        """Send an event that is here to tree neighbours."""
        held = self._cache.get(event.stream, event.seq)
        if held is not None and peers:
            now = self._outbox.now()
            self._outbox.send_all(peers, Multicast(event, held.hops + 1, held.age_at(now)))

    def _since(self, event: Event) -> int:
        pending = self._pending.get(_name(event))
        return pending.held.since if pending is not None else self._outbox.now()

    # -- what was missed

    def recent(self, topic: Topic) -> Recents:
        """Return the streams of a topic of which recent events are here."""
        streams = self._recent.get(topic)
        if not streams:
            return ()
        told = list(streams.items())[-RECENT_MAX:]
        return tuple([Recent(key, first, last) for key, (first, last, _) in told])

    def compare(self, sender: NodeId, branches: Sequence[Branching]) -> None:
        """Pull from the parent what is missing here, and tell it of what it did not name."""
        left = PULL_MAX
        lacked: list[Recent] = []
        for news in branches:
            left -= self._pull(sender, news.topic, news.recent, left)
            streams = self._recent.get(news.topic)
            if streams:
                named = {one.stream: one.last for one in news.recent}
                for key, (first, last, _) in streams.items():
                    if named.get(key, -1) < last:
                        lacked.append(Recent(key, first, last))
        if lacked:
            self._outbox.send(sender, Have(tuple(lacked[-RECENT_MAX:])))

    def on_have(self, sender: NodeId, message: Have) -> None:
        left = PULL_MAX
        for one in message.recent:
            left -= self._pull(sender, one.stream[2], (one,), left)

    def _pull(self, sender: NodeId, topic: Topic, recents: Recents, most: int) -> int:
        now, pulled = self._outbox.now(), 0
        for one in recents[:RECENT_MAX]:
            if one.stream[2] != topic or pulled >= most:
                continue
            known = self._streams.get(one.stream)
            if known is not None and known.next_seq > one.last and not known.skipped:
                continue  # nearly always: all of it is here
            first = max(one.first, one.last - BACK + 1)
            stream = known or Stream()
            for seq in stream.gaps_up_to(one.last, one.last - first + 1):
                name = (*one.stream, seq)
                tries, at = self._wanted.get(name, (0, -(1 << 40)))
                if pulled >= most or tries >= TRIES or now - at < FIRST_MS:
                    continue
                self._wanted.pop(name, None)
                self._wanted[name] = (tries + 1, now)
                if len(self._wanted) > WANTED_MAX:
                    del self._wanted[next(iter(self._wanted))]
                self._outbox.send(sender, Pull(name))
                pulled += 1
        return pulled

    # -- inside

    def _wants(self, topic: Topic, age_ms: int) -> bool:
        """Return whether an event was published after the subscription to its topic."""
        since = self._subscribed.get(topic)
        return since is not None and age_ms <= self._outbox.now() - since + AGE_SLACK_MS

    def _stream(self, key: StreamId) -> Stream:
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[key] = Stream()
        return stream

    def _note_recent(self, event: Event, now: int) -> None:
        streams = self._recent.setdefault(event.topic, {})
        first, last, _ = streams.pop(event.stream, (event.seq, event.seq, now))
        first, last = min(first, event.seq), max(last, event.seq)
        streams[event.stream] = (max(first, last - BACK + 1), last, now)
        if len(streams) > 2 * RECENT_MAX:
            del streams[next(iter(streams))]


def _name(event: Event) -> EventId:
    return (event.publisher, event.epoch, event.topic, event.seq)
