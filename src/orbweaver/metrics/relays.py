"""Relays are nodes that receive an event on a topic outside their interest.

A node is a relay of an event if a copy of the event reached it while it neither subscribed to the
topic nor had published on it. A notice, which only says that an event exists, does not count. Each
node counts once for an event, however many copies reach it. The home of a topic is a relay like
any other node. A publisher never is, because publishing on a topic counts as interest.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

from orbweaver.metrics.deliveries import subscribed
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.records import Records

TOP = 10
"""The most popular topics are one in `TOP` of all topics, rounded up."""


@dataclasses.dataclass(frozen=True)
class TopicRelays:
    """Counts the events on one topic, and the nodes that received them."""

    topic: str
    subscribers: int
    events: int
    relays: int
    """Relays of each event, summed over the events."""
    deliveries: int


def relays_of_events(records: Records) -> dict[str, int] | None:
    """Return the number of relays of each event, or None if only counters of copies were kept and
    some event had a relay."""
    pairs = {(event, node) for _, event, node, _ in records["relays"].rows()}
    if not pairs and any(records["publications"]["relays"]):
        return None
    found = Counter(event for event, _ in pairs)
    return {event: found[event] for event in records["publications"]["event"]}


def relays_per_event(records: Records) -> float:
    """Return the number of relays of an event, mean over events, or nan if it is not known."""
    found = relays_of_events(records)
    return sum(found.values()) / len(found) if found else math.nan


def relays_by_rank(records: Records, overlay: Snapshot) -> list[TopicRelays]:
    """Return the relays of each topic, beginning with the topic that has the most subscribers at
    the snapshot. Topics with equally many are in the order of their names. The list is empty if
    the relays are not known."""
    of_event = relays_of_events(records)
    if of_event is None:
        return []
    at_ms = overlay.time_ms
    subscribers = {
        topic: sum(start <= at_ms < end for _, start, end in intervals)
        for topic, intervals in subscribed(records).items()
    }
    events: Counter[str] = Counter()
    relays: Counter[str] = Counter()
    deliveries: Counter[str] = Counter()
    table = records["publications"]
    columns = table["event"], table["topic"], table["deliveries"]
    for event, topic, delivered in zip(*columns, strict=True):
        events[topic] += 1
        relays[topic] += of_event[event]
        deliveries[topic] += delivered
    order = sorted({*subscribers, *events}, key=lambda topic: (-subscribers.get(topic, 0), topic))
    return [
        TopicRelays(
            topic, subscribers.get(topic, 0), events[topic], relays[topic], deliveries[topic]
        )
        for topic in order
    ]


def top_topics_share(ranked: list[TopicRelays]) -> float:
    """Return the share of relays among all nodes that received events on the most popular topics,
    or nan if none did (Magnet, Fig. 5: messages by way of uninterested peers over all messages)."""
    top = ranked[: math.ceil(len(ranked) / TOP)]
    relays = sum(one.relays for one in top)
    received = relays + sum(one.deliveries for one in top)
    return relays / received if received else math.nan
