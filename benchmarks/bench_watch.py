"""How many lines a second does a watch count, beside reading the same files without Spark?

The files are those of some nodes that each subscribe to 5 of 20 topics: 50 events a second, each
delivered to all subscribers, with 1.33 copies for a delivery. They are counted in one batch, as by
a watch that begins late, and then in several. A batch that only warms Java up comes first. Times
have the start and end of each stream, but not that of Java. Processor seconds are those of Java and
of all Python processes, which other programs on the machine disturb less than the wall clock.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

from orbweaver.core.ids import NodeId
from orbweaver.metrics.minutes import minutes
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.watch.batches import CountedBatch
from orbweaver.pipeline.watch.kept import WatchFolder
from orbweaver.pipeline.watch.run import watch
from orbweaver.records.facts import (
    Copied,
    Delivered,
    Fact,
    InterestChanged,
    Joined,
    Noted,
    Published,
    Sent,
    encode_fact,
    file_name,
)
from orbweaver.records.gather import gather

TOPICS = 20
EVENT_MS = 20
"""Milliseconds from one event to the next."""
START_MS = 1_700_000_000_000


def facts(nodes: int, lines: int) -> Iterator[tuple[int, Fact]]:
    """Yield (node, fact) by time."""
    rng = random.Random(1)
    topics = [f"t{i}" for i in range(TOPICS)]
    wanted = {node: rng.sample(topics, 5) for node in range(1, nodes + 1)}
    readers = {topic: [n for n, own in wanted.items() if topic in own] for topic in topics}
    for node, own in wanted.items():
        yield node, Joined(START_MS, NodeId(node), "spidercast")
        for topic in own:
            yield node, InterestChanged(START_MS, topic, "subscribe")
    now, number, count = START_MS, 0, 0
    while count < lines:
        now += EVENT_MS
        number += 1
        if number % (1000 // EVENT_MS) == 0:
            for node in wanted:
                sent = {"heartbeat": Sent("keepalive", number, 40 * number)}
                yield node, Noted(now, sent, received=number)
        topic = rng.choice(topics)
        publisher, *others = rng.sample(readers[topic], len(readers[topic]))
        event = f"{publisher}-7-{number}-{topic}"
        yield publisher, Published(now, event)
        for node in others:
            yield node, Copied(now, {event: rng.choice((1, 1, 2))})
            yield node, Delivered(now + rng.randrange(EVENT_MS), event, 2)
        count += 1 + 2 * len(others)


def write(folder: Path, rows: list[tuple[int, Fact]]) -> None:
    """Append facts to the files of their nodes."""
    folder.mkdir(exist_ok=True)
    of_node: dict[int, list[bytes]] = {}
    for node, fact in rows:
        of_node.setdefault(node, []).append(encode_fact(fact) + b"\n")
    for node, lines in of_node.items():
        with (folder / file_name(NodeId(node))).open("ab") as file:
            file.writelines(lines)


def clocks() -> tuple[float, float]:
    """Return the wall clock, and the processor time of this process and all below it."""
    spent = {}
    parent = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            parent[int(path.parent.name)] = int(fields[1])
            spent[int(path.parent.name)] = sum(map(int, fields[11:15]))  # with ended children
    ours = {os.getpid()}
    while more := {pid for pid, above in parent.items() if above in ours} - ours:
        ours |= more
    return time.perf_counter(), sum(spent[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--master", default=None)
    args = parser.parse_args()
    rows = list(facts(args.nodes, args.lines))
    spark = spark_session(args.master)
    told: list[CountedBatch] = []
    table = Table(title=f"{len(rows):,} lines of {args.nodes} nodes")
    for column in ("what", "batches", "s", "lines/s", "processor s", "lines/processor s"):
        table.add_column(column, justify="right" if column != "what" else "left")

    def row(what: str, batches: str, wall: float, spent: float) -> None:
        rates = (f"{len(rows) / wall:,.0f}", f"{len(rows) / spent:,.0f}")
        table.add_row(what, batches, f"{wall:.1f}", rates[0], f"{spent:.1f}", rates[1])

    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        write(place / "warm", rows[:2000])
        watch(spark, place / "warm", WatchFolder(place / "warm-out"), told.append, once=True)
        for what, parts in (("watch, all at once", 1), ("watch, in parts", args.batches)):
            records, out = place / f"records{parts}", WatchFolder(place / f"out{parts}")
            told.clear()
            size = -(-len(rows) // parts)
            wall = spent = 0.0
            for start in range(0, len(rows), size):
                write(records, rows[start : start + size])
                began = clocks()
                state = watch(spark, records, out, told.append, once=True)
                ended = clocks()
                wall, spent = wall + ended[0] - began[0], spent + ended[1] - began[1]
            assert state.lives.lines == len(rows)
            row(what, str(len(told)), wall, spent)
        began = clocks()
        found, gathered = gather(records)
        expected = minutes(found, gathered.start_ms)
        ended = clocks()
        row("gather and count, one process", "-", ended[0] - began[0], ended[1] - began[1])
        assert len(expected) == sum(one["published"] > 0 for one in out.rows())
    Console().print(table)


if __name__ == "__main__":
    main()
