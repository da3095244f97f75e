"""The schema of records lists every table and every column once."""

from __future__ import annotations

import dataclasses
from typing import Literal

ColumnType = Literal["int", "text"]


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    type: ColumnType
    meaning: str


@dataclasses.dataclass(frozen=True)
class TableSpec:
    name: str
    meaning: str
    columns: tuple[Column, ...]
    optional: bool = False
    """Whether the table has rows only where they were asked for. An empty one does not count in a
    digest, and records of earlier versions lack it."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def _table(
    name: str, meaning: str, *, optional: bool = False, **columns: tuple[ColumnType, str]
) -> TableSpec:
    described = tuple(Column(n, t, m) for n, (t, m) in columns.items())
    return TableSpec(name, meaning, described, optional)


TIME: tuple[ColumnType, str] = ("int", "milliseconds since the start of the run")
NODE: tuple[ColumnType, str] = ("int", "the node that reports")
EVENT: tuple[ColumnType, str] = ("text", "publisher-epoch-seq-topic, the name of an event")

TABLES: dict[str, TableSpec] = {
    table.name: table
    for table in (
        _table(
            "nodes",
            "when nodes come and go",
            time_ms=TIME,
            node=NODE,
            kind=("text", "join, leave or crash"),
        ),
        _table(
            "interests",
            "when subscriptions begin and end; a joining node's subscriptions come before its join",
            time_ms=TIME,
            node=NODE,
            topic=("text", "the topic"),
            kind=(
                "text",
                "subscribe, unsubscribe, or publish: the first publication of a "
                "node that is not subscribed, which counts as interest",
            ),
        ),
        _table(
            "links",
            "links as each end sees them; a link exists while both ends have it",
            time_ms=TIME,
            node=NODE,
            peer=("int", "the far end"),
            kind=("text", "up or down"),
        ),
        _table(
            "publications",
            "events published, with totals of their copies and deliveries",
            time_ms=TIME,
            event=EVENT,
            topic=("text", "the topic"),
            node=NODE,
            copies=("int", "copies received by nodes interested in the topic"),
            relays=("int", "copies received by nodes not interested in the topic"),
            deliveries=("int", "deliveries to subscribers"),
            hops_sum=("int", "links crossed, summed over the deliveries"),
            hops_max=("int", "links crossed, largest of the deliveries"),
            latency_ms_sum=("int", "time since publication, summed over the deliveries"),
            latency_ms_max=("int", "time since publication, largest of the deliveries"),
        ),
        _table(
            "deliveries",
            "one row for each delivery (empty if only counters are kept)",
            time_ms=TIME,
            event=EVENT,
            node=NODE,
            hops=("int", "links crossed"),
            latency_ms=("int", "time since publication"),
        ),
        _table(
            "relays",
            "one row for each copy that a node received without interest in its topic (empty if "
            "only counters are kept)",
            time_ms=TIME,
            event=EVENT,
            node=NODE,
            hops=("int", "links crossed"),
        ),
        _table(
            "sends",
            "messages sent up to a moment: one row for each kind and snapshot",
            time_ms=TIME,
            kind=("text", "the message's wire name"),
            purpose=("text", "build, keepalive, membership, repair or data"),
            count=("int", "messages"),
            bytes=("int", "encoded size, without transport headers; 0 when not measured"),
        ),
        _table(
            "states",
            "the status that overlays report at a snapshot: how many nodes report each value",
            time_ms=TIME,
            state=("text", "a name from the overlay's status"),
            value=("int", "its value"),
            nodes=("int", "how many nodes report it"),
        ),
        _table(
            "traffic",
            "copies of events, and notices of events, that each node received in the whole run",
            node=NODE,
            interesting=("int", "copies on topics of the node's interest"),
            uninteresting=("int", "copies on other topics"),
            notices=("int", "notices on topics of the node's interest"),
            uninteresting_notices=("int", "notices on other topics"),
        ),
        _table(
            "loads",
            "messages that each node sent and received in the whole run",
            node=NODE,
            sent=("int", "messages sent, also those that did not arrive"),
            received=("int", "messages received"),
            bytes_sent=("int", "encoded size of the messages sent; 0 when not measured"),
        ),
        _table(
            "drops",
            "messages that did not arrive, by reason",
            reason=("text", "loss, partition or down; for live nodes, queue or unreachable"),
            count=("int", "messages"),
        ),
        _table(
            "copies",
            "each copy of an event on its way from node to node, as its two ends see it (empty "
            "unless asked for: `simulate --copies`, or the setting `records_copies` of a node)",
            optional=True,
            time_ms=TIME,
            event=EVENT,
            node=NODE,
            peer=("int", "the far end"),
            hops=("int", "links crossed on arrival"),
            kind=(
                "text",
                "sent or lost: the node's copy to the peer; received, refused by the gate, or "
                "pulled out of the peer's window: the peer's copy to the node",
            ),
            why=(
                "text",
                "why it was lost: loss, partition or down; for live nodes, queue, unreachable or "
                "too large. Why it was refused, as the gate says. Else empty",
            ),
        ),
    )
}
