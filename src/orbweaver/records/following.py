"""Follow the files of nodes that are still running, piece by piece.

A piece of a file holds whole lines, and is read without the pieces before it (`read_piece`). What
has to be known from earlier pieces is little and is kept for each node: whether it is up, since
when it has been subscribed, and what it had sent (`Lives`). Deliveries and copies, which are most
of the lines, need none of this.

After each piece the state is what `orbweaver.records.gather` would find in all that was read: a
life without an end lasts until its last sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.records.facts import (
    FILE_PREFIX,
    FILE_SUFFIX,
    Copied,
    Delivered,
    InterestChanged,
    Joined,
    Left,
    LostLines,
    Noted,
    Published,
)
from orbweaver.records.node_files import read_line
from orbweaver.records.receipts import Receipts
from orbweaver.records.recorder import Recorder, Records

MINUTE_MS = 60_000
RECEIPTS = ("deliver", "pull", "copies")
"""What a row says that a node received. Rows of all other kinds are for `Lives`."""
NEVER = 1 << 62


class FactRow(NamedTuple):
    """A fact in a form that all kinds of facts share."""

    node: int
    place: int
    """Byte of the file at which the line begins; a node's rows are in this order."""
    at_ms: int
    """Milliseconds since 1970."""
    what: str
    """join, leave, subscribe, unsubscribe, publish, deliver, pull or copies; sent: the bytes of
    messages of a type that the node has sent in this life; seen: a sign of life, and how many
    lines were read; missing: lines that the node could not write; damaged: lines that cannot be
    read."""
    name: str
    """The event, the topic or the type of message."""
    number: int
    """Copies, bytes, lines, or the hops of a delivery."""


class Interval(NamedTuple):
    """A subscription as far as it is known; without an end it lasts until the last sign of life."""

    node: int
    topic: str
    start_ms: int
    end_ms: int


def minute_of(time_ms: int) -> int:
    """Return when the minute of a moment began."""
    return time_ms - time_ms % MINUTE_MS


def node_of(path: str) -> NodeId:
    """Return the node whose file has this name."""
    text = PurePath(path).name.removeprefix(FILE_PREFIX).removesuffix(FILE_SUFFIX)
    try:
        return NodeId(int(text, 16))
    except ValueError:
        raise UsageError(
            f"{path} is no file of a node; a node calls it {FILE_PREFIX}ID{FILE_SUFFIX}, "
            "with its id in 16 hexadecimal digits"
        ) from None


def read_piece(node: NodeId, place: int, lines: Iterable[bytes]) -> Iterator[FactRow]:
    """Yield what a piece of a node's file says; the piece begins at byte `place`.

    Of the bytes that a node has sent, which are totals, the last of each minute is enough. Messages
    that carry events (purpose data) are left out.
    """
    at, read, damaged = 0, 0, 0
    sent: dict[str, int] = {}
    sent_ms = 0
    for line in lines:
        here, place = place, place + len(line)
        if line.isspace():
            continue
        try:
            fact = read_line(line)
        except (msgspec.DecodeError, ProtocolError):
            damaged += 1
            continue
        begins = isinstance(fact, Joined)
        over = isinstance(fact, Joined | Left) or minute_of(fact.at) != minute_of(sent_ms)
        if sent and over:
            yield from (FactRow(node, here, sent_ms, "sent", k, n) for k, n in sent.items())
            sent = {}
        if begins and read:
            yield FactRow(node, here, at, "seen", "", read)
            read = 0
        read += 1
        at = max(at, fact.at)
        match fact:
            case Delivered():
                what = "pull" if fact.pulled else "deliver"
                yield FactRow(node, here, at, what, fact.event, fact.hops)
            case Copied():
                for name, copies in fact.copies.items():
                    yield FactRow(node, here, at, "copies", name, copies)
            case Published():
                yield FactRow(node, here, at, "publish", fact.event, 1)
            case Noted():
                sent_ms = at
                sent |= {k: one.bytes for k, one in fact.sends.items() if one.purpose != "data"}
            case Joined():
                yield FactRow(node, here, at, "join", fact.overlay, 1)
            case Left():
                yield FactRow(node, here, at, "leave", "", 1)
            case InterestChanged(kind="subscribe" | "unsubscribe"):
                yield FactRow(node, here, at, fact.kind, fact.topic, 1)
            case LostLines():
                yield FactRow(node, here, at, "missing", "", fact.lines)
    yield from (FactRow(node, place, sent_ms, "sent", k, n) for k, n in sent.items())
    if read:
        yield FactRow(node, place, at, "seen", "", read)
    if damaged:
        yield FactRow(node, place, at, "damaged", "", damaged)


class NodeLife(msgspec.Struct):
    seen_ms: int
    """The last sign of life."""
    up: bool = False
    since: dict[str, int] = {}
    """The topics that the node subscribes to, and since when."""
    sent: dict[str, int] = {}
    """Bytes sent in this life, by type of message."""


class Lives(msgspec.Struct):
    """What is known of each node, and how the cluster went, as far as files have been read."""

    nodes: dict[int, NodeLife] = {}
    ended: list[Interval] = []
    """Subscriptions that have ended."""
    control: dict[int, int] = {}
    """Bytes sent in messages that carry no event, by minute."""
    lines: int = 0
    damaged: int = 0
    missing: int = 0

    @property
    def newest_ms(self) -> int:
        """The time of the latest fact."""
        return max((life.seen_ms for life in self.nodes.values()), default=0)

    @property
    def up(self) -> int:
        return sum(life.up for life in self.nodes.values())

    def silent(self, since_ms: int) -> int:
        """Return how many nodes are up without a sign of life since a moment."""
        return sum(life.up and life.seen_ms < since_ms for life in self.nodes.values())

    def take(self, rows: Sequence[FactRow]) -> int:
        """Take rows of the next pieces, those of each node in their order. Return the time from
        which on something is now known that was not known before."""
        changed_ms = NEVER
        known = {node: life.seen_ms for node, life in self.nodes.items()}
        touched: set[int] = set()
        for row in rows:
            life = self.nodes.setdefault(row.node, NodeLife(row.at_ms))
            at = max(row.at_ms, life.seen_ms)
            if row.node not in touched:
                touched.add(row.node)
                continues = life.up and row.what != "join"
                changed_ms = min(changed_ms, known[row.node] if continues else at)
            self._take(life, row, at)
            life.seen_ms = at
        return changed_ms

    def intervals(self, from_ms: int) -> list[Interval]:
        """Return the subscriptions that reach beyond a moment."""
        lasting = [
            Interval(node, topic, start, life.seen_ms)
            for node, life in self.nodes.items()
            for topic, start in life.since.items()
            if life.seen_ms > from_ms
        ]
        return [one for one in self.ended if one.end_ms > from_ms] + lasting

    def forget(self, before_ms: int) -> None:
        """Drop what is over since before a moment."""
        self.ended = [one for one in self.ended if one.end_ms > before_ms]
        self.control = {ms: n for ms, n in self.control.items() if ms + MINUTE_MS > before_ms}
        for node in [n for n, life in self.nodes.items() if not life.up]:
            if self.nodes[node].seen_ms < before_ms:
                del self.nodes[node]

    def _take(self, life: NodeLife, row: FactRow, at: int) -> None:
        match row.what:
            case "join":
                self._end(life, row.node, life.seen_ms)
                life.up = True
            case "leave":
                self._end(life, row.node, at)
            case "subscribe":
                life.since[row.name] = at
            case "unsubscribe" if row.name in life.since:
                self.ended.append(Interval(row.node, row.name, life.since.pop(row.name), at))
            case "sent":
                minute = minute_of(at)
                grown = row.number - life.sent.get(row.name, 0)
                self.control[minute] = self.control.get(minute, 0) + grown
                life.sent[row.name] = row.number
            case "seen":
                self.lines += row.number
            case "missing":
                self.missing += row.number
            case "damaged":
                self.damaged += row.number

    def _end(self, life: NodeLife, node: int, at: int) -> None:
        self.ended += [Interval(node, topic, start, at) for topic, start in life.since.items()]
        life.up, life.since, life.sent = False, {}, {}


def records_of(
    publications: Mapping[str, tuple[int, Event]],
    receipts: Iterable[FactRow],
    intervals: Iterable[Interval],
) -> Records:
    """Return records of some events, for the functions in `metrics`. Times count from 1970."""
    recorder = Recorder()
    matched = Receipts(recorder, publications)
    for row in receipts:
        matched.take(row.at_ms, NodeId(row.node), _fact_of(row))
    for one in intervals:
        recorder.interest(one.start_ms, NodeId(one.node), one.topic, "subscribe")
        recorder.interest(one.end_ms, NodeId(one.node), one.topic, "unsubscribe")
    return recorder.finish(0)


def _fact_of(row: FactRow) -> Delivered | Copied:
    if row.what == "copies":
        return Copied(row.at_ms, {row.name: row.number})
    return Delivered(row.at_ms, row.name, row.number, row.what == "pull")
