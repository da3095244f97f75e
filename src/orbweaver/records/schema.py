"""The record schema: every table, every column, once."""

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

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def _table(name: str, meaning: str, **columns: tuple[ColumnType, str]) -> TableSpec:
    return TableSpec(name, meaning, tuple(Column(n, t, m) for n, (t, m) in columns.items()))


TIME: tuple[ColumnType, str] = ("int", "milliseconds since the start of the run")
NODE: tuple[ColumnType, str] = ("int", "the node that reports")
EVENT: tuple[ColumnType, str] = ("text", "publisher-epoch-seq-topic, the name of an event")

TABLES: dict[str, TableSpec] = {
    table.name: table
    for table in (
        _table(
            "nodes",
            "nodes coming and going",
            time_ms=TIME,
            node=NODE,
            kind=("text", "join, leave or crash"),
        ),
        _table(
            "interests",
            "subscriptions coming and going; those a node joins with come before its join",
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
            "links as each end sees them; a link is there while both ends say so",
            time_ms=TIME,
            node=NODE,
            peer=("int", "the far end"),
            kind=("text", "up or down"),
        ),
        _table(
            "publications",
            "events published, with what became of them in total",
            time_ms=TIME,
            event=EVENT,
            topic=("text", "the topic"),
            node=NODE,
            copies=("int", "copies received by nodes interested in the topic"),
            relays=("int", "copies received by nodes not interested in the topic"),
            deliveries=("int", "deliveries to subscribers"),
            hops_sum=("int", "over the deliveries"),
            hops_max=("int", "over the deliveries"),
            latency_ms_sum=("int", "over the deliveries"),
            latency_ms_max=("int", "over the deliveries"),
        ),
        _table(
            "deliveries",
            "one row for each delivery (left empty where only counters are kept)",
            time_ms=TIME,
            event=EVENT,
            node=NODE,
            hops=("int", "links crossed"),
            latency_ms=("int", "time since publication"),
        ),
        _table(
            "relays",
            "one row for each copy that a node got without interest (empty with counters)",
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
            "what overlays say of themselves at a snapshot: how many nodes say what",
            time_ms=TIME,
            state=("text", "a name from the overlay's status"),
            value=("int", "its value"),
            nodes=("int", "how many nodes have it"),
        ),
        _table(
            "traffic",
            "copies of events, and notices of events, that each node received in all",
            node=NODE,
            interesting=("int", "copies on topics of its interest"),
            uninteresting=("int", "copies on other topics"),
            notices=("int", "notices on topics of its interest"),
            uninteresting_notices=("int", "notices on other topics"),
        ),
        _table(
            "drops",
            "messages that did not arrive, by reason",
            reason=("text", "loss, partition or down; of live nodes, queue or unreachable"),
            count=("int", "messages"),
        ),
    )
}
