"""Records in memory: rows kept as columns, and counters for what would be too many rows."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message
from orbweaver.records.schema import TABLES, TableSpec


class RecordTable:
    """A table keeps its rows as columns, with 8 bytes for each cell."""

    def __init__(self, spec: TableSpec) -> None:
        self.spec = spec
        self.columns: dict[str, Any] = {
            c.name: array("q") if c.type == "int" else [] for c in spec.columns
        }
        self._appends = tuple(column.append for column in self.columns.values())

    def append(self, *cells: Any) -> None:
        for append, cell in zip(self._appends, cells, strict=True):
            append(cell)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns.values(), strict=True)

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]


class Records:
    """All tables of one run."""

    def __init__(self) -> None:
        self.tables: dict[str, RecordTable] = {
            name: RecordTable(spec) for name, spec in TABLES.items()
        }

    def __getitem__(self, table: str) -> RecordTable:
        return self.tables[table]

    def digest(self) -> str:
        """Return a hash of all values. Equal records have equal digests in any process, since
        nothing that depends on the process is hashed."""
        hasher = blake2b(digest_size=16)
        for name, table in self.tables.items():
            if table.spec.optional and not len(table):
                continue
            hasher.update(f"{name} {len(table)}\n".encode())
            for column in table.columns.values():
                if isinstance(column, array):
                    hasher.update(",".join(map(str, column)).encode())
                else:
                    hasher.update("\x1f".join(column).encode())
                hasher.update(b"\n")
        return hasher.hexdigest()


def event_name(event: Event) -> str:
    """Return the name of an event in the records."""
    return f"{event.publisher}-{event.epoch}-{event.seq}-{event.topic}"


class _Tally:
    """Counters of the copies and deliveries of one event."""

    __slots__ = ("copies", "deliveries", "hops_max", "hops_sum", "latency_max", "latency_sum",
                 "name", "node", "published_at", "relays", "topic")  # fmt: skip

    def __init__(self, name: str, topic: Topic, node: NodeId, published_at: int) -> None:
        self.name = name
        self.topic = topic
        self.node = node
        self.published_at = published_at
        self.copies = self.relays = self.deliveries = 0
        self.hops_sum = self.hops_max = self.latency_sum = self.latency_max = 0


class Recorder:
    """Collect what hosts report; `finish` returns the records."""

    def __init__(self, rows: bool = True, copies: bool = False) -> None:
        """Start with empty records. If `rows` is False, deliveries and relays get only counters.
        `copies` asks for the table of that name."""
        self.records = Records()
        self.count: defaultdict[type[Message], int] = defaultdict(int)
        """Messages sent, by type. The attribute is public, since hosts count on their fastest
        path."""
        self.bytes: defaultdict[type[Message], int] = defaultdict(int)
        self.drops: dict[str, int] = {}
        self._rows = rows
        self.copies = copies
        """Whether `copy` is to be called. The attribute is public, since hosts ask on their fastest
        path."""
        self._tallies: dict[tuple[NodeId, int, Topic, int], _Tally] = {}
        self._traffic: dict[NodeId, list[int]] = {}
        self._loads: dict[NodeId, tuple[int, int, int]] = {}

    def node(self, now: int, node: NodeId, kind: str) -> None:
        self.records["nodes"].append(now, node, kind)

    def interest(self, now: int, node: NodeId, topic: Topic, kind: str) -> None:
        self.records["interests"].append(now, node, topic, kind)

    def link(self, now: int, node: NodeId, peer: NodeId, kind: str) -> None:
        self.records["links"].append(now, node, peer, kind)

    def published(self, now: int, event: Event) -> None:
        key = (event.publisher, event.epoch, event.topic, event.seq)
        tally = _Tally(event_name(event), event.topic, event.publisher, now)
        self._tallies[key] = tally

    def delivered(self, now: int, node: NodeId, event: Event, hops: int) -> None:
        tally = self._tallies[(event.publisher, event.epoch, event.topic, event.seq)]
        latency = now - tally.published_at
        tally.deliveries += 1
        tally.hops_sum += hops
        tally.latency_sum += latency
        tally.hops_max = max(tally.hops_max, hops)
        tally.latency_max = max(tally.latency_max, latency)
        if self._rows:
            self.records["deliveries"].append(now, tally.name, node, hops, latency)

    def carried(self, now: int, node: NodeId, message: Carrier, interested: bool) -> None:
        """Note that a copy of an event has arrived."""
        event = message.event
        tally = self._tallies[(event.publisher, event.epoch, event.topic, event.seq)]
        traffic = self._traffic_of(node)
        if interested:
            tally.copies += 1
            traffic[0] += 1
            return
        tally.relays += 1
        traffic[1] += 1
        if self._rows:
            self.records["relays"].append(now, tally.name, node, message.hops)

    def copy(
        self, now: int, node: NodeId, peer: NodeId, message: Carrier, kind: str, why: str = ""
    ) -> None:
        """Note what `node` sees of a copy of an event between it and `peer`."""
        event = message.event
        # A publisher sends copies before its host has the event.
        tally = self._tallies.get((event.publisher, event.epoch, event.topic, event.seq))
        name = tally.name if tally is not None else event_name(event)
        self.records["copies"].append(now, name, node, peer, message.hops, kind, why)

    def noticed(self, node: NodeId, interested: bool, notices: int = 1) -> None:
        """Note that messages have arrived that only say that an event exists."""
        self._traffic_of(node)[2 if interested else 3] += notices

    def _traffic_of(self, node: NodeId) -> list[int]:
        traffic = self._traffic.get(node)
        if traffic is None:
            traffic = self._traffic[node] = [0, 0, 0, 0]
        return traffic

    def load(self, node: NodeId, sent: int, received: int, bytes_sent: int) -> None:
        """Note that a node has sent and received more messages, of any type."""
        before = self._loads.get(node, (0, 0, 0))
        self._loads[node] = (before[0] + sent, before[1] + received, before[2] + bytes_sent)

    def dropped(self, reason: str) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + 1

    def snapshot_sends(self, now: int) -> None:
        sends = self.records["sends"]
        if len(sends) and sends["time_ms"][-1] == now:
            return
        for kind in sorted(self.count, key=wire_name):
            count = self.count[kind]
            sends.append(now, wire_name(kind), kind.purpose, count, self.bytes.get(kind, 0))

    def states(self, now: int, statuses: Iterable[Mapping[str, int]]) -> None:
        """Record the statuses of all nodes that are up."""
        counts = Counter(item for status in statuses for item in status.items())
        for (name, value), nodes in sorted(counts.items()):
            self.records["states"].append(now, name, value, nodes)

    def finish(self, now: int) -> Records:
        self.snapshot_sends(now)
        publications = self.records["publications"]
        for t in self._tallies.values():
            publications.append(
                t.published_at, t.name, t.topic, t.node, t.copies, t.relays, t.deliveries,
                t.hops_sum, t.hops_max, t.latency_sum, t.latency_max,
            )  # fmt: skip
        for node, counts in sorted(self._traffic.items()):
            self.records["traffic"].append(node, *counts)
        for node, load in sorted(self._loads.items()):
            self.records["loads"].append(node, *load)
        for reason, count in sorted(self.drops.items()):
            self.records["drops"].append(reason, count)
        return self.records


def wire_name(kind: type[Message]) -> str:
    return str(kind.__struct_config__.tag)
