"""Tells the way of one event, and why it did not reach a node, in sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orbweaver.metrics.missed import Stop
from orbweaver.metrics.trace import ARRIVED, EventTrace, Fate, Hop

Name = Callable[[int], str]
"""How a node is called."""

HOP_COLUMNS = ("ms after", "from", "to", "hops", "on the way, ms", "what became of it")

LOST = {
    "loss": "the network lost the copy from {last} to {to}",
    "partition": "a partition cut {to} off from {last}",
    "down": "{to} was down when the copy from {last} arrived",
    "queue": "the queue of {last} for {to} was full, and dropped the copy",
    "unreachable": "{last} could not reach {to}, and gave up the copy for it",
    "too large": "{to} does not accept a payload of this size from {last}",
}
"""Why a copy was lost, as a sentence."""


def lead(trace: EventTrace, name: Name) -> str:
    """Return how far the event came."""
    got = len(trace.owed & trace.delivered)
    arrived = sum(hop.fate in ARRIVED for hop in trace.hops)
    text = (
        f"Node {name(trace.publisher)} published the event on topic {trace.topic} at "
        f"{trace.published_ms:,} ms. It was delivered to {got:,} of the {len(trace.owed):,} nodes "
        f"to which it is owed. {arrived:,} copies arrived"
    )
    last = max((trace.had[node] for node in trace.delivered if node in trace.had), default=None)
    if last is not None:
        text += f", the last one that was needed after {last - trace.published_ms:,} ms"
    others: tuple[Fate, ...] = ("duplicate", "pulled", "lost", "refused", "under way")
    counts = {fate: trace.count(fate) for fate in others}
    told = ", ".join(f"{number:,} {fate}" for fate, number in counts.items() if number)
    return f"{text}; {told}." if told else f"{text}."


def hop_rows(trace: EventTrace, hops: Sequence[Hop], name: Name) -> list[list[str]]:
    """Return a row for each hop, with the columns `HOP_COLUMNS`."""
    rows = []
    for hop in hops:
        took = ""
        if hop.sent_ms is not None and hop.end_ms is not None and hop.fate in ARRIVED:
            took = f"{hop.end_ms - hop.sent_ms:,}"
        what = f"{hop.fate}: {hop.why}" if hop.why else hop.fate
        after = f"{hop.at_ms - trace.published_ms:,}"
        rows.append([after, name(hop.sender), name(hop.receiver), str(hop.hops), took, what])
    return rows


def tell(stop: Stop, trace: EventTrace, name: Name) -> str:
    """Return a sentence that says why a node got the event or did not."""
    node = name(stop.node)
    if stop.way and stop.reason != "no link":
        told = _cause(stop, trace, name)
        if len(stop.way) == 2:
            return f"{node}: {told}."
        way = " - ".join(map(name, stop.way))
        return f"{node}: no neighbour of it had the event. The nearest way is {way}; {told}."
    return f"{node}: {_state(stop, trace, name)}."


def _cause(stop: Stop, trace: EventTrace, name: Name) -> str:
    """Return why the event did not get from the last node to the next."""
    last, to = name(stop.way[0]), name(stop.way[1])
    when = _when(stop, trace)
    if stop.reason == "lost":
        return f"{LOST[stop.why].format(last=last, to=to)}, {when}"
    if stop.reason == "refused":
        return f"the gate of {to} refused the copy from {last}, {when}: {stop.why}"
    if stop.reason == "under way":
        return f"{last} sent {to} a copy, {when}, and nothing says that it arrived"
    if stop.reason == "link down":
        return f"the link between {last} and {to} went down, {when}, before {last} had the event"
    assert stop.reason == "not sent", stop.reason
    had = trace.had[stop.way[0]]
    if stop.at_ms is not None and stop.at_ms > had:
        return (
            f"{last} had it, and was linked with {to} only later, {when}; it sent no copy over "
            "the new link"
        )
    return f"{last} had it, {when}, and was linked with {to}, but sent it no copy"


def _state(stop: Stop, trace: EventTrace, name: Name) -> str:
    """Return what was with a node for which no way counts."""
    when = _when(stop, trace)
    before = stop.at_ms is not None and stop.at_ms <= trace.published_ms
    if stop.reason == "published":
        return "it published the event"
    if stop.reason == "delivered":
        return f"the event was delivered, {when}" if when else "the event was delivered"
    if stop.reason == "not delivered":
        return f"a copy arrived, {when}, but the overlay did not deliver it"
    if stop.reason == "gone":
        return f"it unsubscribed or went down, {when}"
    if stop.reason == "no link":
        if not stop.way:
            return "no chain of links leads to it from a node that had the event"
        way = " - ".join(map(name, stop.way))
        return (
            "no chain of links among subscribers leads to it from a node that had the event; the "
            f"nearest way is {way}"
        )
    if stop.reason == "down":
        told = ("it had gone down" if before else "it came up only") if when else "it was never up"
    else:
        assert stop.reason == "not subscribed", stop.reason
        told = "it had unsubscribed" if before else "it subscribed only"
        told = told if when else "it never subscribed to the topic"
    return f"{told} {when}".rstrip()


def _when(stop: Stop, trace: EventTrace) -> str:
    if stop.at_ms is None:
        return ""
    after = stop.at_ms - trace.published_ms
    return f"{abs(after):,} ms {'after' if after >= 0 else 'before'} the publication"
