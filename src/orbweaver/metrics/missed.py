"""Why a node did not get an event: the last node that had it, and why it went no further."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator
from heapq import merge
from typing import Literal

from orbweaver.metrics.deliveries import NEVER, STAY_MS, Interval, subscribed
from orbweaver.metrics.trace import EventTrace, Hop
from orbweaver.records import Records

Reason = Literal[
    "published", "delivered", "down", "not subscribed", "gone", "not delivered", "lost",
    "refused", "under way", "not sent", "link down", "no link",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Stop:
    """Says where an event stopped on its way to a node."""

    node: int
    reason: Reason
    way: tuple[int, ...] = ()
    """From the last node that had the event to `node`; empty if no links lead there. The event
    stopped between the first two."""
    at_ms: int | None = None
    """When it stopped; or, of a node that was not there, when it went or came."""
    why: str = ""
    """Why a copy was lost or refused."""


Span = tuple[int, int]
"""When a link came up and went down, in milliseconds."""


class Stops:
    """Explain why nodes did not get one event."""

    def __init__(self, records: Records, trace: EventTrace) -> None:
        self._trace = trace
        self._lives = _lives(records)
        self._wanted: dict[int, list[Interval]] = {}
        for interval in subscribed(records).get(trace.topic, ()):
            self._wanted.setdefault(interval[0], []).append(interval)
        self._links = _links(records)
        self._failed: dict[int, Hop] = {}
        """Receiver -> the last copy that was meant for it and did not get there."""
        for hop in trace.hops:
            if hop.fate in ("lost", "refused", "under way"):
                self._failed[hop.receiver] = hop

    def why(self, node: int) -> Stop:
        """Return why a node did not get the event, or that it did."""
        trace = self._trace
        published = trace.published_ms
        if node == trace.publisher:
            return Stop(node, "published", at_ms=published)
        if node in trace.delivered:
            return Stop(node, "delivered", at_ms=trace.had.get(node))
        end = self._interested_until(node)
        if end is None:
            return self._not_interested(node)
        if node in trace.had:
            return Stop(node, "not delivered", at_ms=trace.had[node])
        if end <= published + STAY_MS and node not in self._failed:
            return Stop(node, "gone", at_ms=end)
        among = self._search(node, lambda peer: self._interested_until(peer) is not None)
        if among is not None:
            return among
        around = self._search(node, lambda peer: True)
        return Stop(node, "no link", around.way if around is not None else ())

    def _interested_until(self, node: int) -> int | None:
        """Return when the subscription that a node had at the publication ended, or None if it had
        none."""
        published = self._trace.published_ms
        spans = self._wanted.get(node, ())
        return next((end for _, start, end in spans if start <= published < end), None)

    def _not_interested(self, node: int) -> Stop:
        published = self._trace.published_ms
        if not self._up(node, published):
            ends = [time for life in self._lives.get(node, ()) for time in life if time < NEVER]
            return Stop(node, "down", at_ms=_nearest(ends, published))
        times = [time for _, *span in self._wanted.get(node, ()) for time in span if time < NEVER]
        return Stop(node, "not subscribed", at_ms=_nearest(times, published))

    def _up(self, node: int, time_ms: int) -> bool:
        return any(start <= time_ms < end for start, end in self._lives.get(node, ()))

    def _search(self, node: int, passes: Callable[[int], bool]) -> Stop | None:
        """Look for the nearest node that had the event, over links that were there since the
        publication and nodes that `passes` lets through."""
        towards: dict[int, tuple[int, ...]] = {node: (node,)}
        queue = deque([node])
        while queue:
            here = queue.popleft()
            if (stop := self._stop_before(here)) is not None:
                way = (stop.way[0], *towards[here])
                return dataclasses.replace(stop, node=node, way=way)
            for peer, spans in self._links.get(here, {}).items():
                linked = any(end > self._trace.published_ms for _, end in spans)
                if peer not in towards and linked and passes(peer):
                    towards[peer] = (peer, *towards[here])
                    queue.append(peer)
        return None

    def _stop_before(self, node: int) -> Stop | None:
        """Return why the event did not cross the last link to a node, or None if no neighbour had
        it."""
        failed = self._failed.get(node)
        if failed is not None and failed.sender in self._trace.had:
            way = (failed.sender, node)
            return Stop(node, failed.fate, way, failed.at_ms, failed.why)  # type: ignore[arg-type]
        holding: list[tuple[int, int]] = []
        dropped: list[tuple[int, int]] = []
        for peer, spans in self._links.get(node, {}).items():
            had = self._trace.had.get(peer)
            if had is None:
                continue
            holding += [(max(start, had), peer) for start, end in spans if end > had]
            published = self._trace.published_ms
            dropped += [(end, peer) for start, end in spans if start <= published < end <= had]
        if holding:
            at, peer = min(holding)
            return Stop(node, "not sent", (peer, node), at)
        if dropped:
            at, peer = max(dropped)
            return Stop(node, "link down", (peer, node), at)
        return None


def _nearest(times: list[int], time_ms: int) -> int | None:
    return min(times, key=lambda time: (abs(time - time_ms), time), default=None)


def _lives(records: Records) -> dict[int, list[Span]]:
    """Return when each node was up."""
    joined: dict[int, int] = {}
    lives: dict[int, list[Span]] = {}
    for time, node, kind in records["nodes"].rows():
        if kind == "join":
            joined[node] = time
        elif node in joined:
            lives.setdefault(node, []).append((joined.pop(node), time))
    for node, start in joined.items():
        lives.setdefault(node, []).append((start, NEVER))
    return lives


def _links(records: Records) -> dict[int, dict[int, list[Span]]]:
    """Return, for each node and neighbour, when both ends held the link."""
    held: dict[int, set[int]] = {}
    since: dict[tuple[int, int], int] = {}
    links: dict[int, dict[int, list[Span]]] = {}

    def end(node: int, peer: int, time: int) -> None:
        held[node].discard(peer)
        pair = (min(node, peer), max(node, peer))
        if pair in since:
            start = since.pop(pair)
            for one, other in (pair, pair[::-1]):
                links.setdefault(one, {}).setdefault(other, []).append((start, time))

    for time, _, node, peer, kind in _changes(records):
        ends = held.setdefault(node, set())
        if kind == "up":
            ends.add(peer)
            if node in held.get(peer, ()):
                since.setdefault((min(node, peer), max(node, peer)), time)
        elif kind == "down":
            end(node, peer, time)
        else:
            for one in list(ends):
                end(node, one, time)
    for a, b in list(since):
        end(a, b, NEVER)
    return links


def _changes(records: Records) -> Iterator[tuple[int, int, int, int, str]]:
    """Yield links that come up and go down, and nodes that go down, by time: (time, order, node,
    peer, kind). A crash records nothing about the links it ends."""
    links = ((t, 0, node, peer, kind) for t, node, peer, kind in records["links"].rows())
    ends = ((t, 1, node, node, kind) for t, node, kind in records["nodes"].rows() if kind != "join")
    return merge(links, ends, key=lambda change: change[:2])
