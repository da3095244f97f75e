"""Keep the window in a file as well, so that a node that was down goes on where it stopped.

The log in memory does all the work; the durable log writes its changes to the file, several times
a second. Each flush is one transaction: after a kill, the file has the whole state of the last
flush. Events after the last flush are neither kept nor known as seen, so a node that was killed
may get them again; a node that closed its log does not. An application that must not deliver
twice even after a kill flushes before it delivers.

Changes are not noted one by one: the queues of the log are in the order of arrival, and the new
entries are those at the ends whose numbers are above the number of the last flush.

Times are wall-clock milliseconds, since they have to be valid after a restart.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Seal, StreamId, run_of
from orbweaver.net.events.database import explained, open_database, transaction
from orbweaver.net.events.window import EVENT_COST, Entry, EventLog, KnownStream

# The types of rows that are read back are checked, since a damaged file may hold anything.
_EventRow = tuple[int, str, int, int, int, int, bytes | None, bytes]
_StreamRow = tuple[str, int, int, int, int, bytes]

_PRUNE = 1000
"""How many forgotten streams are deleted at a time, since deleting takes a scan."""

_encode_edges = msgspec.msgpack.Encoder().encode
_decode_edges = msgspec.msgpack.Decoder(list[int]).decode


class DurableLog(EventLog):
    """An event log that is also in a file."""

    def __init__(
        self,
        path: Path,
        now: int,
        *,
        bytes_to_seal: Callable[[bytes], Seal] | None = None,
        **limits: Any,
    ) -> None:
        """Open the log in the file `path`. `limits` are the arguments of `EventLog`. Seals are kept
        if both `seal_to_bytes` and `bytes_to_seal` are given."""
        super().__init__(**limits)
        self._path = path
        self._bytes_to_seal = bytes_to_seal
        self._written = 0
        """The number of the last flush: entries up to it are in the file, unless they have left the
        window."""
        self._gone: list[tuple[int, bytes | None]] = []
        """(number, name of the seal) of events in the file that have left the window since."""
        self._seals: Counter[bytes] = Counter()
        """How many events in the file are under each seal in the file."""
        self._pruned = 0
        self._database = open_database(path)
        try:
            with explained(path):
                self._load(now)
        except BaseException:
            self._database.close()
            raise

    # -- writing

    @property
    def unwritten(self) -> int:
        return self._number - self._written

    def flush(self) -> None:
        """Write all changes to the file. Raise a `UsageError` if writing fails: nothing is lost,
        and the next call tries again."""
        streams = self._changed_streams()
        entries = self._new_entries()
        if not (streams or entries or self._gone):
            return
        rows = [row for entry in entries for row in self._event_rows(entry)]
        uses: Counter[bytes] = Counter(filter(None, (name for *_, name, _ in rows)))
        uses.subtract(name for _, name in self._gone if name)
        prune = self._forgotten - self._pruned >= _PRUNE

        with explained(self._path), transaction(self._database):
            run = self._database.executemany
            run("DELETE FROM events WHERE number = ?", [(number,) for number, _ in self._gone])
            run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            run("INSERT OR REPLACE INTO streams VALUES (?, ?, ?, ?, ?, ?)", streams)
            run("INSERT OR REPLACE INTO seals VALUES (?, ?)", self._new_seals(entries, uses))
            useless = [(name,) for name in uses if self._seals[name] + uses[name] == 0]
            run("DELETE FROM seals WHERE name = ?", useless)
            if prune:
                oldest = next(iter(self._streams.values())).number if self._streams else 1 << 62
                run("DELETE FROM streams WHERE number < ?", [(oldest,)])

        self._written = self._number
        self._gone.clear()
        for name, count in uses.items():
            self._seals[name] += count
            if not self._seals[name]:
                del self._seals[name]
        if prune:
            self._pruned = self._forgotten

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._database.close()

    def _changed_streams(self) -> list[tuple[Any, ...]]:
        rows = []
        for (publisher, epoch, topic), known in reversed(self._streams.items()):
            if known.number <= self._written:
                break
            edges = _encode_edges(known.edges.tolist())
            rows.append((topic, publisher, epoch, known.number, known.last_ms, edges))
        return rows

    def _new_entries(self) -> list[Entry]:
        entries = []
        for entry in reversed(self._order):
            if entry[0] <= self._written:
                break
            if entry[0] in entry[4].entries:
                entries.append(entry)
        return entries

    def _drop(self, entry: Entry) -> None:
        number, _, event, more, *_ = entry
        if number <= self._written:
            name = self._seal_name(event)
            self._gone += [(at, name) for at in range(number, number + 1 + len(more))]
        super()._drop(entry)

    def _seal_name(self, event: Event) -> bytes | None:
        """Return the name of an event's seal, or None if seals are not kept."""
        if event.seal is None or self._bytes_to_seal is None or self._seal_to_bytes is None:
            return None
        return event.seal.name

    def _event_rows(self, entry: Entry) -> list[tuple[Any, ...]]:
        number, published, first, more, *_ = entry
        name = self._seal_name(first)
        return [
            (at, e.topic, e.publisher, e.epoch, e.seq, published, name, e.payload)
            for at, e in enumerate(run_of(first, more), number)
        ]

    def _new_seals(
        self, entries: Iterable[Entry], uses: Counter[bytes]
    ) -> list[tuple[bytes, bytes]]:
        if self._seal_to_bytes is None:
            return []
        seals = {name: e[2].seal for e in entries if (name := self._seal_name(e[2]))}
        return [
            (name, self._seal_to_bytes(seal))
            for name, seal in seals.items()
            if seal is not None and name not in self._seals and uses[name] > 0
        ]

    # -- reading

    def _load(self, now: int) -> None:
        execute = self._database.execute
        for row in execute("SELECT * FROM streams ORDER BY number"):
            topic, publisher, epoch, number, last_ms, data = msgspec.convert(row, _StreamRow)
            known = self._recall((NodeId(publisher), epoch, topic), number, min(last_ms, now))
            known.edges = _edges(data)
        seals = self._load_seals()
        for row in execute("SELECT * FROM events ORDER BY number"):
            number, topic, publisher, epoch, seq, published, name, payload = msgspec.convert(
                row, _EventRow
            )
            seal = None
            if name is not None and self._bytes_to_seal is not None:
                if name not in seals:
                    raise ValueError(f"event {number} has no seal")
                seal = seals[name]
                self._seals[name] += 1
            event = Event(topic, NodeId(publisher), epoch, seq, payload, seal)
            published = min(published, now)
            known = self._recall(event.stream, number, published)
            known.settle(seq)
            self._written = number
            size, holder = EVENT_COST + len(payload), (None, event.publisher)
            self._keep((number, published, event, (), known.window, size, holder))
        self._written = self._number
        self.expire(now)

    def _recall(self, key: StreamId, number: int, last_ms: int) -> KnownStream:
        known = self._streams.get(key) or self._remember(key, 0)
        self._number = max(self._number, number)
        known.number = max(known.number, number)
        known.last_ms = max(known.last_ms, last_ms)
        known.sealed_ms = known.last_ms  # an estimate, since the file does not have it
        return known

    def _load_seals(self) -> dict[bytes, Seal]:
        if self._bytes_to_seal is None:
            return {}
        rows = self._database.execute("SELECT name, data FROM seals").fetchall()
        return {name: self._bytes_to_seal(data) for name, data in rows}

    # -- what else survives

    def remember_subscription(self, topic: Topic, since_ms: int) -> None:
        self._change(("INSERT OR REPLACE INTO subscriptions VALUES (?, ?)", [(topic, since_ms)]))

    def forget_subscription(self, topic: Topic) -> None:
        self._change(("DELETE FROM subscriptions WHERE topic = ?", [(topic,)]))

    def subscriptions(self) -> dict[Topic, int]:
        with explained(self._path):
            rows = self._database.execute("SELECT topic, since FROM subscriptions").fetchall()
            return dict(msgspec.convert(rows, list[tuple[Topic, int]]))

    def remember_peers(self, peers: Sequence[tuple[NodeId, bytes]]) -> None:
        self._change(
            ("DELETE FROM peers", [()]),
            ("INSERT INTO peers (node, card) VALUES (?, ?)", peers),
        )

    def peers(self) -> list[tuple[NodeId, bytes]]:
        """Return the remembered peers and their cards, in the order in which they were given."""
        with explained(self._path):
            rows = self._database.execute("SELECT node, card FROM peers ORDER BY number").fetchall()
            return msgspec.convert(rows, list[tuple[NodeId, bytes]])

    def _change(self, *changes: tuple[str, Sequence[tuple[Any, ...]]]) -> None:
        with explained(self._path), transaction(self._database):
            for statement, rows in changes:
                self._database.executemany(statement, rows)


def _edges(data: bytes) -> array[int]:
    edges = _decode_edges(data)
    if len(edges) % 2 == 0 or edges != sorted(set(edges)):
        raise ValueError(
            f"the edges {edges} of a stream should be an odd number of growing numbers"
        )
    return array("q", edges)
