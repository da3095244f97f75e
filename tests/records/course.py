"""What four nodes record in three minutes, in parts, as a watch would come by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Prune, Push
from orbweaver.records.live import LiveRecorder
from tests.records.node_records import Nodes

TOPICS = {1: ["news"], 2: ["news", "sport"], 3: ["news", "sport"], 4: ["sport"]}
EVERY_MS = 5000
"""Milliseconds from one event to the next."""


class Course:
    def __init__(self, folder: Path) -> None:
        self.nodes = Nodes(folder)
        self.at = 0
        self.count = 0
        self.up: dict[int, LiveRecorder] = {}
        self.topics = {node: list(topics) for node, topics in TOPICS.items()}
        self.missed: list[tuple[Event, str]] = []

    def parts(self) -> Iterator[None]:
        """Play part by part; after each, everything is in the files."""
        for node in TOPICS:
            self.join(node)
        self.events(12)
        yield self.flush()
        self.up.pop(3).close()  # killed
        self.unsubscribe(2, "news")
        self.events(10)
        yield self.flush()
        # Its publication comes later than what it brings about, as between two machines.
        event = self.publish(1, "news", later=True)
        yield self.flush(but=1)
        self.join(3)
        for event, _ in self.missed:
            self.up[3].delivered(event, 1, pulled=True)
        self.subscribe(2, "news")
        self.events(12)
        with self.up[4].path.open("ab") as file:
            file.write(b'{"what":"deliver","at":17')
        yield self.flush(but=4)
        self.up.pop(4).close()
        self.join(4)
        self.events(6)
        for node in list(self.up):
            self.nodes.end(self.up.pop(node))
        yield

    def join(self, node: int) -> None:
        self.up[node] = self.nodes.begin(node)
        for topic in self.topics[node]:
            self.up[node].interest(topic, "subscribe")

    def subscribe(self, node: int, topic: str) -> None:
        self.topics[node].append(topic)
        self.up[node].interest(topic, "subscribe")

    def unsubscribe(self, node: int, topic: str) -> None:
        self.topics[node].remove(topic)
        self.up[node].interest(topic, "unsubscribe")

    def events(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            self.publish(*((1, "news") if self.count % 3 else (4, "sport")))
            self.pass_time(EVERY_MS)

    def publish(self, publisher: int, topic: str, later: bool = False) -> Event:
        event = Event(topic, NodeId(publisher), 70, self.count)
        if later:
            event = Event(topic, NodeId(publisher), 71, self.count)
        self.up[publisher].published(event)
        for node, topics in self.topics.items():
            if node == publisher or topic not in topics:
                continue
            if node not in self.up:
                self.missed.append((event, topic))
                continue
            self.pass_time(7 * node)
            for _ in range(1 + (self.count + node) % 2):
                self.up[node].carried(Push(event, 2, 0), interested=True)
            if (self.count + node) % 7:
                self.up[node].delivered(event, 2)
        return event

    def pass_time(self, ms: int) -> None:
        self.at += ms
        self.nodes.at(self.at)
        for node, recorder in self.up.items():
            recorder.sent(Push(Event("news", NodeId(1), 70, 0), 1, 0), 100)
            recorder.sent(Prune("news"), 10 * node)
            recorder.note({}, {})

    def flush(self, but: int = 0) -> None:
        for node, recorder in self.up.items():
            if node != but:
                recorder.flush()
