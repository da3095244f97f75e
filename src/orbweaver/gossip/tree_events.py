"""A node of a tree keeps recent events, and looks for those that it lacks.

Trees lose events where a branch breaks. So tree neighbours tell each other from which streams they
have recent events, and pull the events that they lack. This part numbers what is published here,
keeps what comes, and decides what to pull. Its owner sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier, Event, EventId, StreamId
from orbweaver.core.overlay import Context
from orbweaver.gossip.cache import EventCache, Held
from orbweaver.gossip.messages import Recent
from orbweaver.gossip.streams import Stream, after_subscription

BACK = 512
"""How many events of one stream, back from the last, are looked for."""
PULL_MAX = 128
"""Most events that are pulled because of one message."""
PULL_AGAIN_MS = 500
"""Milliseconds after which an event may be pulled again."""
PULLS_MAX = 4
"""How often an event is pulled."""
STREAMS_MAX = 1 << 17
"""How many streams are remembered. A publisher can begin any number of them."""
RECENT_MAX = 64
"""Most streams of one topic that are told of."""
WANTED_MAX = 1 << 15
"""Most events that are looked for at one time."""


class TreeEvents:
    def __init__(
        self, context: Context, subscribed: Mapping[Topic, int], cache_size: int, keep_ms: int
    ) -> None:
        """`subscribed` is the live map of the subscribed topics and their times."""
        self._context = context
        self._outbox = context.outbox
        self._subscribed = subscribed
        self._keep_ms = keep_ms
        self._cache = EventCache(cache_size, keep_ms)
        self._epoch = 0
        self._sent: dict[Topic, int] = {}
        self._streams: dict[StreamId, Stream] = {}
        self._recent: dict[Topic, dict[StreamId, tuple[int, int, int]]] = {}
        """Topic -> its recent streams, each with the first and last event and the time of that."""
        self._wanted: dict[EventId, tuple[int, int]] = {}
        """Event that was pulled -> how often, and when last."""

    def start(self) -> None:
        self._epoch = self._outbox.now()

    def number(self, topic: Topic, payload: bytes) -> Held:
        """Make the next event of this node on a topic."""
        seq = self._sent.get(topic, 0)
        self._sent[topic] = seq + 1
        me, seal = self._context.me, self._context.seal()
        return Held(Event(topic, me, self._epoch, seq, payload, seal), 0, 0, self._outbox.now())

    # -- what is here

    def take(self, message: Carrier) -> bool:
        """Keep an event, and give it to the application if it wants it. Return whether it is new
        here."""
        event = message.event
        key = event.stream
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[key] = Stream()
        elif stream.seen(event.seq):
            return False
        stream.settle(event.seq)
        now = self._outbox.now()
        self._cache.put(Held(event, message.hops, message.age_ms, now), key)
        self._note(event, now)
        self._wanted.pop(event.id, None)
        since = self._subscribed.get(event.topic)
        if event.publisher != self._context.me and after_subscription(since, message.age_ms, now):
            self._outbox.deliver(message)
        return True

    def seen(self, name: EventId) -> bool:
        stream = self._streams.get(name[:3])
        return stream is not None and stream.seen(name[3])

    def get(self, name: EventId) -> Held | None:
        """Return an event to pass on, if it is still kept."""
        return self._cache.get(name[:3], name[3])

    def of_topic(self, topic: Topic) -> list[Held]:
        """Return the recent events of a topic."""
        found = []
        for stream, (first, last, _) in self._recent.get(topic, {}).items():
            for seq in range(first, last + 1):
                held = self._cache.get(stream, seq)
                if held is not None:
                    found.append(held)
        return found

    def topics(self, within_ms: int) -> list[Topic]:
        """Return the topics with events of the last `within_ms`."""
        since = self._outbox.now() - within_ms
        return [
            topic
            for topic, streams in self._recent.items()
            if any(at >= since for _, _, at in streams.values())
        ]

    def forget(self) -> None:
        """Forget what is older than `keep_ms`."""
        old = self._outbox.now() - self._keep_ms
        for topic, streams in list(self._recent.items()):
            for key in [key for key, (_, _, at) in streams.items() if at < old]:
                del streams[key]
            if not streams:
                del self._recent[topic]
        for name in [name for name, (_, at) in self._wanted.items() if at < old]:
            del self._wanted[name]

    # -- what is told, and what is missing

    def told(self, topic: Topic) -> tuple[Recent, ...]:
        """Return what a tree neighbour is told of the recent events of a topic."""
        streams = self._recent.get(topic)
        if not streams:
            return ()
        told = list(streams.items())[-RECENT_MAX:]
        return tuple([Recent(key, first, last) for key, (first, last, _) in told])

    def unnamed(self, topic: Topic, told: Iterable[Recent]) -> list[Recent]:
        """Return the recent events of a topic that a neighbour does not tell of."""
        streams = self._recent.get(topic)
        if not streams:
            return []
        named = {one.stream: one.last for one in told}
        return [
            Recent(key, first, last)
            for key, (first, last, _) in streams.items()
            if named.get(key, -1) < last
        ]

    def lacking(self, told: Iterable[Recent], most: int = PULL_MAX) -> list[EventId]:
        """Return which of the events that a neighbour tells of have to be pulled now."""
        names: list[EventId] = []
        for one in told:
            if len(names) >= most:
                break
            known = self._streams.get(one.stream)
            if known is not None and known.next_seq > one.last and not known.skipped:
                continue  # nearly always: all of it is here
            first = max(one.first, one.last - BACK + 1)
            gaps = (known or Stream()).gaps_up_to(one.last, one.last - first + 1)
            names += self._to_pull(one.stream, gaps, most - len(names))
        return names

    def gaps_before(self, event: Event) -> list[EventId]:
        """Return the events that were due before this one and have not come. What was published
        before the first event seen of a stream is not looked for."""
        streams = self._recent.get(event.topic, {})
        first = streams[event.stream][0] if event.stream in streams else event.seq
        window = min(BACK, event.seq - first)
        if window <= 0:
            return []
        gaps = self._streams[event.stream].gaps_up_to(event.seq - 1, window)
        return self._to_pull(event.stream, gaps, PULL_MAX)

    def _to_pull(self, stream: StreamId, gaps: Sequence[int], most: int) -> list[EventId]:
        now = self._outbox.now()
        names: list[EventId] = []
        for seq in gaps:
            name = (*stream, seq)
            pulls, at = self._wanted.get(name, (0, -PULL_AGAIN_MS))
            if len(names) >= most:
                break
            if pulls >= PULLS_MAX or now - at < PULL_AGAIN_MS:
                continue
            self._wanted.pop(name, None)
            self._wanted[name] = (pulls + 1, now)
            if len(self._wanted) > WANTED_MAX:
                del self._wanted[next(iter(self._wanted))]
            names.append(name)
        return names

    def _note(self, event: Event, now: int) -> None:
        streams = self._recent.setdefault(event.topic, {})
        first, last, _ = streams.pop(event.stream, (event.seq, event.seq, now))
        first, last = min(first, event.seq), max(last, event.seq)
        streams[event.stream] = (max(first, last - BACK + 1), last, now)
        if len(streams) > 2 * RECENT_MAX:
            del streams[next(iter(streams))]
