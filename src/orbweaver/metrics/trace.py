"""Follow one event through the overlay, hop by hop.

Each end of a hop records what it sees (table `copies`). Here the two views are put together: a
copy that was sent is the one that arrives at its receiver with the same number of hops, the
earliest first.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from orbweaver.core.errors import UsageError
from orbweaver.metrics.deliveries import owed_nodes, subscribed
from orbweaver.records import Records

Fate = Literal["first", "duplicate", "pulled", "lost", "refused", "under way"]
"""What became of a copy. `first` is the one with which its receiver got the event; of a copy that
is `under way` nothing is recorded but that it was sent: the run ended, or the connection broke."""
ARRIVED: tuple[Fate, ...] = ("first", "duplicate", "pulled")
AT_ONCE = ("loss", "partition")
"""Losses in a simulation, which are decided when a copy is sent."""
NEVER_SENT = ("queue", "unreachable", "too large")
"""Losses of copies that never left their sender."""


@dataclasses.dataclass(frozen=True)
class Hop:
    """A hop is one copy of the event between two nodes."""

    sender: int
    receiver: int
    hops: int
    """Links that the event has crossed when this copy arrives."""
    sent_ms: int | None
    """None if the sender recorded nothing: of a pulled event, or of what the network repeated."""
    end_ms: int | None
    """When it arrived or was lost."""
    fate: Fate
    why: str = ""
    """Why it was lost or refused."""

    @property
    def at_ms(self) -> int:
        """Return when the hop was last heard of."""
        known = self.end_ms if self.end_ms is not None else self.sent_ms
        assert known is not None
        return known


@dataclasses.dataclass(frozen=True)
class EventTrace:
    event: str
    topic: str
    publisher: int
    published_ms: int
    hops: list[Hop]
    """All copies, in the order in which they ended."""
    had: dict[int, int]
    """When each node that ever had the event got it, the publisher first."""
    delivered: frozenset[int]
    owed: frozenset[int]
    """The nodes that should have got it (`metrics.deliveries`)."""

    def missed(self) -> list[int]:
        """Return the nodes to which the event is owed and was not delivered."""
        return sorted(self.owed - self.delivered)

    def count(self, fate: Fate) -> int:
        return sum(hop.fate == fate for hop in self.hops)

    def path(self, node: int) -> list[Hop]:
        """Return the hops that brought the event to a node, from the publisher on; none if it
        never got there."""
        brought = {hop.receiver: hop for hop in reversed(self.hops) if hop.fate in ARRIVED}
        path: list[Hop] = []
        while node != self.publisher and node in brought and len(path) < len(brought):
            path.insert(0, brought[node])
            node = brought[node].sender
        return path


def follow(records: Records, event: str) -> EventTrace:
    """Return the trace of an event, by its name in the records."""
    table = records["publications"]
    if event not in table["event"]:
        raise UsageError(f"no event '{event}' in these records; trace without an event lists them")
    row = table["event"].index(event)
    time, topic, publisher = (table[name][row] for name in ("time_ms", "topic", "node"))
    reached = table["copies"][row] + table["relays"][row]
    copies = records["copies"]
    if reached and not len(copies):
        raise UsageError(
            "these records do not hold the way of each copy; simulate with --copies, or run the "
            "nodes with the setting records_copies"
        )
    rows = [(t, *cells) for t, name, *cells in copies.rows() if name == event]
    hops = _hops(rows)
    had = {publisher: time}
    for i, hop in enumerate(hops):
        if hop.fate in ARRIVED:
            if hop.fate != "pulled" and hop.receiver in had:
                hops[i] = dataclasses.replace(hop, fate="duplicate")
            had.setdefault(hop.receiver, hop.at_ms)
    delivered = records["deliveries"]
    got = (n for e, n in zip(delivered["event"], delivered["node"], strict=True) if e == event)
    owed = owed_nodes(subscribed(records).get(topic, ()), time, publisher)
    return EventTrace(event, topic, publisher, time, hops, had, frozenset(got), frozenset(owed))


def missed_of_events(records: Records) -> list[tuple[str, int, int]]:
    """Return each event, to how many nodes it is owed and how many of them it missed, those that
    missed most first."""
    intervals = subscribed(records)
    got: dict[str, set[int]] = {}
    deliveries = records["deliveries"]
    for event, node in zip(deliveries["event"], deliveries["node"], strict=True):
        got.setdefault(event, set()).add(node)
    found = []
    for time, event, topic, publisher, *_ in records["publications"].rows():
        owed = owed_nodes(intervals.get(topic, ()), time, publisher)
        found.append((event, len(owed), len(owed - got.get(event, set()))))
    return sorted(found, key=lambda row: -row[2])


def _hops(rows: list[tuple[int, int, int, int, str, str]]) -> list[Hop]:
    """Put the two ends of each copy together. All that arrived count as `first` here."""
    sent: dict[tuple[int, int, int], list[int]] = {}
    for time, node, peer, hops, kind, _ in rows:
        if kind == "sent":
            sent.setdefault((node, peer, hops), []).append(time)
    found = []
    for time, node, peer, hops, kind, why in rows:
        if kind == "sent":
            continue
        sender, receiver = (node, peer) if kind == "lost" else (peer, node)
        times = sent.get((sender, receiver, hops), [])
        sent_ms: int | None = None
        if why in AT_ONCE and time in times:
            times.remove(time)
            sent_ms = time
        elif times and kind != "pulled" and why not in NEVER_SENT:
            sent_ms = times.pop(0)
        fate: Fate = "first" if kind == "received" else kind  # type: ignore[assignment]
        found.append(Hop(sender, receiver, hops, sent_ms, time, fate, why))
    found += [Hop(*way, time, None, "under way") for way, times in sent.items() for time in times]
    return sorted(found, key=lambda hop: hop.at_ms)
