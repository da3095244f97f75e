"""Gather the files of all nodes of a cluster into one set of tables.

The facts of all nodes are merged by time and given to the same recorder that a simulation
calls, so that a live cluster has the same tables, and the same functions compute every metric.
Times count from the first fact of all. Times of different nodes are compared, so the nodes
have to be on one machine, or on machines whose clocks agree: a latency is the receiver's time
less the publisher's.
"""

from __future__ import annotations

import dataclasses
from heapq import merge
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.records.facts import (
    AnyFact,
    InterestChanged,
    Joined,
    Left,
    Linked,
    LostLines,
    Noted,
    Published,
    Sent,
)
from orbweaver.records.node_files import Survey, find_files, lines, survey
from orbweaver.records.receipts import Receipts
from orbweaver.records.recorder import Recorder, Records

EVERY_MS = 1000
"""Milliseconds from one row of sends and states to the next, unless the caller says otherwise."""
MOMENTS_MAX = 1_000_000
"""Most moments at which sends and states are recorded; more of them mean that a clock was wrong."""


class Gathered(msgspec.Struct, frozen=True):
    """What gathering found, besides the records."""

    overlay: str
    params: dict[str, Any]
    nodes: int
    lives: int
    crashes: int
    """How many lives have no `leave`: the node was killed, or was still running when the files
    were gathered. Such a life ends with its last sign of life."""
    start_ms: int
    """Milliseconds since 1970 from which times in the tables count."""
    end_ms: int
    """Time of the last fact, in the time of the tables."""
    damaged: int
    """How many lines cannot be read, since a killed node had not finished writing them."""
    missing: int
    """How many lines nodes could not write."""
    unknown_events: int
    """How many events some node had a copy of, while no file has their publication; deliveries
    and copies of these events are left out."""
    pulled: int
    """How many deliveries came from a neighbour's window."""
    backwards: int
    """How many deliveries precede the publication, by clocks that do not agree; their latency
    counts as 0."""


def gather(
    folder: Path, every_ms: int = EVERY_MS, start_ms: int | None = None
) -> tuple[Records, Gathered]:
    """Gather all files below a folder.

    Sends and states get rows every `every_ms`. `start_ms` is when the run began, if the caller
    knows it; otherwise the run began with the first fact.
    """
    files = find_files(folder)
    found = survey(files)
    start_ms = check_survey(folder, found, every_ms, start_ms)
    cluster = ClusterState(found, start_ms, every_ms)
    for at, node, fact in merge(*(lines(path) for path in files), key=lambda line: line[0]):
        if at > found.end_ms:
            break  # written since the first reading
        cluster.take(at, node, fact)
    records = cluster.finish()
    overlay, params = next(iter(found.overlays.items()), ("", {}))
    return records, Gathered(
        overlay, params, len(cluster.nodes), cluster.lives, cluster.crashes, start_ms,
        found.end_ms - start_ms, found.damaged, cluster.missing, len(cluster.receipts.unknown),
        cluster.receipts.pulled, cluster.receipts.backwards,
    )  # fmt: skip


def check_survey(
    folder: Path, found: Survey, every_ms: int = EVERY_MS, start_ms: int | None = None
) -> int:
    """Return when the run began, or raise a `UsageError` if the files cannot be gathered."""
    if found.start_ms is None:
        raise UsageError(
            f"the {found.files} files hold no 'join', so no node has begun to run; start the nodes "
            "first"
        )
    if len(found.overlays) > 1:
        raise UsageError(
            f"{folder} has nodes of several overlays, {', '.join(found.overlays)}; gather each "
            "cluster by itself"
        )
    if start_ms is None:
        start_ms = found.start_ms
    if (found.end_ms - start_ms) // every_ms > MOMENTS_MAX:
        days = (found.end_ms - start_ms) / 86_400_000
        raise UsageError(
            f"the records of {folder} span {days:.0f} days; gather each cluster by itself"
        )
    return start_ms


@dataclasses.dataclass
class _Life:
    """The state of a node while it is up."""

    interest: dict[Topic, None] = dataclasses.field(default_factory=dict)
    sends: dict[str, Sent] = dataclasses.field(default_factory=dict)
    notices: tuple[int, int] = (0, 0)
    received: int = 0
    drops: dict[str, int] = dataclasses.field(default_factory=dict)
    status: dict[str, int] = dataclasses.field(default_factory=dict)


class ClusterState:
    """The state of some nodes, or of all, updated fact by fact."""

    def __init__(self, found: Survey, start_ms: int, every_ms: int) -> None:
        self._start_ms = start_ms
        self._end_ms = found.end_ms - start_ms
        self._every_ms = every_ms
        self._next_ms = every_ms
        self._recorder = Recorder(copies=True)
        self._up: dict[NodeId, _Life] = {}
        self._sends: dict[str, tuple[str, int, int]] = {}
        self.nodes: dict[NodeId, None] = {}
        self.lives = self.crashes = self.missing = 0
        self.receipts = Receipts(self._recorder, found.publications, start_ms)

    def take(self, at: int, node: NodeId, fact: AnyFact | None) -> None:
        now = at - self._start_ms
        while self._next_ms < now:
            self._tell(self._next_ms)
            self._next_ms += self._every_ms
        if isinstance(fact, Joined):
            if node in self._up:
                raise UsageError(
                    f"node {node:016x} joins while it is up; each file should be there only once"
                )
            self._up[node] = _Life()
            self.nodes[node] = None
            self.lives += 1
            self._recorder.node(now, node, "join")
        elif isinstance(fact, Left):
            self._end(now, node, "leave")
        elif fact is None:
            self.crashes += 1
            self._end(now, node, "crash")
        elif isinstance(fact, InterestChanged):
            self._want(now, node, fact)
        elif isinstance(fact, Linked):
            self._recorder.link(now, node, fact.peer, fact.kind)
        elif isinstance(fact, Noted):
            self._note(node, fact)
        elif isinstance(fact, LostLines):
            self.missing += fact.lines
        elif not isinstance(fact, Published):
            self.receipts.take(now, node, fact)

    def finish(self) -> Records:
        while self._next_ms < self._end_ms:  # where other nodes have the last fact
            self._tell(self._next_ms)
            self._next_ms += self._every_ms
        self._tell(self._end_ms)
        return self._recorder.finish(self._end_ms)

    # -- inside

    def _want(self, now: int, node: NodeId, fact: InterestChanged) -> None:
        self._recorder.interest(now, node, fact.topic, fact.kind)
        if fact.kind == "unsubscribe":
            self._up[node].interest.pop(fact.topic, None)
        else:
            self._up[node].interest[fact.topic] = None

    def _note(self, node: NodeId, fact: Noted) -> None:
        """Add the growth of the counts, which belong to one life, to the totals."""
        life = self._up[node]
        for kind, sent in fact.sends.items():
            before = life.sends.get(kind, Sent(sent.purpose, 0, 0))
            _, count, size = self._sends.get(kind, (sent.purpose, 0, 0))
            count += sent.count - before.count
            self._sends[kind] = (sent.purpose, count, size + sent.bytes - before.bytes)
            self._recorder.load(node, sent.count - before.count, 0, sent.bytes - before.bytes)
            life.sends[kind] = sent
        if fact.notices is not None:
            for interested, new, old in zip((True, False), fact.notices, life.notices, strict=True):
                self._recorder.noticed(node, interested, new - old)
            life.notices = fact.notices
        if fact.received is not None:
            self._recorder.load(node, 0, fact.received - life.received, 0)
            life.received = fact.received
        drops = self._recorder.drops
        for reason, count in fact.drops.items():
            drops[reason] = drops.get(reason, 0) + count - life.drops.get(reason, 0)
            life.drops[reason] = count
        life.status |= fact.status

    def _end(self, now: int, node: NodeId, kind: str) -> None:
        self._recorder.node(now, node, kind)
        for topic in self._up.pop(node).interest:
            self._recorder.interest(now, node, topic, "unsubscribe")

    def _tell(self, now: int) -> None:
        """Record sends and states as they are known by `now`, from the last note of each node."""
        sends = self._recorder.records["sends"]
        for kind, (purpose, count, size) in sorted(self._sends.items()):
            sends.append(now, kind, purpose, count, size)
        self._recorder.states(now, (life.status for life in self._up.values()))
