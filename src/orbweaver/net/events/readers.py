"""The readers of one node: its subscriptions by topic, and since when each topic has one.

The overlay subscribes to a topic while the topic has at least one reader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier
from orbweaver.net.events.ordering import Ordered
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.events.window import EventLog
from orbweaver.net.settings import Settings

ORDER_MS = 5000
"""How long an ordered subscription waits for late events, at least, in milliseconds."""
FIRST_MS = 500
"""How long the first event of a stream waits for lower ones, in milliseconds."""
EVENTS_MIN = 1000
"""How many events of one publisher on one topic may wait, at least. Where windows hold more
events, as many may wait: once a window is full of later events, missing ones are gone."""


class Readers:
    def __init__(
        self, first: Callable[[Topic], None], last: Callable[[Topic], None],
        missed: Callable[[int], None], settings: Settings,
    ) -> None:  # fmt: skip
        """Start without readers. `first` is called with a topic that gets its first reader, `last`
        with a topic that loses its last one, and `missed` with how many events a reader lost."""
        self._settings = settings
        self._first = first
        self._last = last
        self._missed = missed
        self._readers: dict[Topic, list[Subscription]] = {}
        self.since: dict[Topic, int] = {}
        """Topic -> since when events on it are owed to this node."""

    def add(
        self, topic: Topic, since: int, now: int, log: EventLog, *, ordered: bool, buffer: int
    ) -> Subscription:
        if topic not in self._readers:
            # After a restart, events missed since the first subscription are still owed.
            since = min(since, log.subscriptions().get(topic, since))
        shared = topic in self._readers
        order = None
        if ordered:
            order = _order(log, topic, self._settings, past=since < now, shared=shared)
        subscription = Subscription(topic, buffer, order, self._remove, self._missed)
        if not shared:
            log.remember_subscription(topic, since)  # first: the disk may be full
        self._readers.setdefault(topic, []).append(subscription)
        self.since[topic] = min(since, self.since.get(topic, since))
        if not shared:
            self._first(topic)
        return subscription

    def offer(self, messages: Sequence[Carrier], now: int) -> None:
        """Give events of one topic to its readers."""
        for subscription in self._readers.get(messages[0].event.topic, ()):
            subscription.offer(messages, now)

    def expire(self, now: int) -> None:
        """Give out events that have waited too long for earlier ones."""
        for topic in list(self._readers):
            for subscription in self._readers.get(topic, ()):
                subscription.expire(now)

    def end(self) -> None:
        """End all subscriptions, because the node stops."""
        for known in list(self._readers.values()):
            for subscription in known:
                subscription.end()

    def counts(self) -> dict[Topic, int]:
        return {topic: len(known) for topic, known in self._readers.items()}

    def _remove(self, subscription: Subscription) -> None:
        topic = subscription.topic
        known = self._readers[topic]
        known.remove(subscription)
        if not known:
            del self._readers[topic]
            del self.since[topic]
            self._last(topic)


def _order(log: EventLog, topic: Topic, settings: Settings, past: bool, shared: bool) -> Ordered:
    """Make the order of a new subscription, and tell it what the log knows of each stream.

    Events from windows come later than events published now. So a subscription that asks for
    the past waits for the first event of a stream as long as for any gap.
    """
    order = Ordered(
        wait_ms=ORDER_MS,
        first_ms=ORDER_MS if past else FIRST_MS,
        events_max=max(EVENTS_MIN, settings.window_events),
        window_ms=round(1000 * settings.window_s) if settings.window_events else 0,
    )
    if past and shared:
        return order  # events that other readers have had are offered again to this one
    for stream, edges in log.positions(topic).items():
        if past:
            # Events seen before are not offered again. A stream that was not seen from its
            # beginning may have begun long ago.
            runs = zip(edges[1::2], edges[2::2], strict=True)
            order.expect(stream, edges[0] or None, runs)
        else:
            # Events missing before the last one seen are owed to no reader here.
            order.expect(stream, edges[-1])
    return order
