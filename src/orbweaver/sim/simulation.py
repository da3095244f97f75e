"""One run: a scenario and a seed in, records out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Codec, Message
from orbweaver.core.overlay import Context, Overlay
from orbweaver.core.params import build
from orbweaver.core.seeds import generator
from orbweaver.core.topics import TopicTable
from orbweaver.records import Recorder, Records
from orbweaver.sim.engine import Engine
from orbweaver.sim.faults import Faults, any_faults
from orbweaver.sim.latency import make_latency
from orbweaver.sim.node import SimNode
from orbweaver.sim.oracle import Oracle
from orbweaver.workload.churn import Change, load_churn, on_off
from orbweaver.workload.scenario import Scenario, Workload, make_workload, node_seed

Progress = Callable[[int, int], None]
"""Called now and then with (time simulated, time to simulate)."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    records: Records
    end_ms: int
    events: int
    complete: bool
    """False when a limit stopped the run before its end."""


def simulate(
    scenario: Scenario, seed: int, overlay: type[Overlay], progress: Progress | None = None
) -> Outcome:
    """Run to the end, or to a limit."""
    return Simulation(scenario, seed, overlay).run(progress)


class Simulation:
    def __init__(self, scenario: Scenario, seed: int, overlay: type[Overlay]) -> None:
        self.scenario = scenario
        self.engine = Engine()
        self.recorder = Recorder(rows=scenario.run.records == "rows")
        self._overlay = overlay
        self._params = build(overlay.Params, scenario.params, f"overlay '{overlay.name}'")
        self._fingerprint = scenario.fingerprint()
        self._surroundings = scenario.surroundings()
        self._seed = seed
        self.workload: Workload = make_workload(scenario, seed)
        self.topics = TopicTable(self.workload.subscriptions.topics)
        self._oracle = Oracle(self.workload.nodes, self.topics)
        self._end_ms = scenario.end_ms(len(self.topics))
        self._latency = make_latency(
            scenario.latency, self.workload.subscriptions.labels, self._chance("latency")
        )
        self._faults: Faults | None = None
        if any_faults(scenario.faults):
            self._faults = Faults(scenario.faults, self.workload.nodes, self._chance("faults"))
        codec = Codec(overlay.messages, self.topics)
        self._encode = codec.encode if scenario.run.measure_bytes else None
        self.nodes = [SimNode(self, NodeId(i)) for i in range(self.workload.nodes)]
        self._contact_chance = self._chance("contacts")
        self._interest_chance = self._chance("new interests")
        self._publish_chance = self._chance("publish")

    def run(self, progress: Progress | None = None) -> Outcome:
        self._begin()
        complete = True
        snapshots = frozenset(self.snapshot_times())
        events_max = self.scenario.run.events_max
        for stop in self._stops():
            complete = self.engine.run(stop, events_max)
            if stop in snapshots:
                self.recorder.snapshot_sends(stop)
            if progress is not None:
                progress(self.engine.now, self._end_ms)
            if not complete:
                break
        records = self.recorder.finish(self.engine.now)
        return Outcome(records, self.engine.now, self.engine.events, complete)

    def transmit(self, sender: NodeId, to: NodeId, message: Message) -> None:
        """Put a message on its way."""
        if self._encode is not None:
            sizes = self.recorder.bytes
            kind = type(message)
            sizes[kind] = sizes.get(kind, 0) + len(self._encode(message))
        delay = self._latency(sender, to)
        if self._faults is None:
            self.engine.schedule(delay, self.nodes[to].receive_here, sender, message)
            return
        fate = self._faults.fate(self.engine.now, sender, to, delay)
        if isinstance(fate, str):
            self.recorder.dropped(fate)
            return
        for copy in fate:
            self.engine.schedule(copy, self.nodes[to].receive_here, sender, message)

    # -- what the scenario makes happen

    def _begin(self) -> None:
        changes = self._churn()
        first: dict[int, str] = {}
        for _, number, kind in changes:
            first.setdefault(number, kind)
        # A node whose first change is to join is not there before.
        present = [n for n in self.nodes if first.get(n.me) != "join"]
        for node, topics in zip(self.nodes, self.workload.subscriptions.of_node, strict=True):
            node.wanted = dict.fromkeys(topics)
        self._oracle.load((n.me, self.topics.interest(n.wanted)) for n in present)
        for node in present:
            self._come_up(node)
        for node in present:
            self._join(node)
        for time, number, kind in changes:
            self._at(time, self._change, self.nodes[number], kind)
        for change in self.scenario.interests:
            if change.node >= len(self.nodes):
                raise UsageError(f"interests: there is no node {change.node}")
            node = self.nodes[change.node]
            self._at(change.time_ms, self._change_interest, node, (change.topic, change.kind))
        self._schedule_publications()

    def _at(self, time: int, action: Callable[[Any, Any], None], a: Any, b: Any) -> None:
        if time <= self._end_ms:
            self.engine.schedule(time - self.engine.now, action, a, b)

    def _come_up(self, node: SimNode) -> None:
        """Make the overlay object of a new life and subscribe it."""
        node.life += 1
        seed = node_seed(self._fingerprint, self._seed, node.me, node.life)
        context = Context(node.me, node, Random(seed), self.topics, self._oracle)
        overlay = self._overlay(context, self._params)
        node.begin(overlay)
        for topic in node.wanted:
            self.recorder.interest(self.engine.now, node.me, topic, "subscribe")
            overlay.subscribe(topic)

    def _join(self, node: SimNode) -> None:
        self.recorder.node(self.engine.now, node.me, "join")
        assert node.overlay is not None
        node.overlay.start(self._contacts(node.me))

    def _contacts(self, me: NodeId) -> list[NodeId]:
        contacts: list[NodeId] = []
        for _ in range(self.scenario.run.contacts):
            contact = self._oracle.any_peer([me, *contacts], self._contact_chance)
            if contact is not None:
                contacts.append(contact)
        return contacts

    def _change(self, node: SimNode, kind: str) -> None:
        """A line of the churn table. What is so already stays so."""
        if kind == "join":
            if node.overlay is None:
                model = self.workload.model
                if self.scenario.churn.new_interest and model is not None:
                    node.wanted = dict.fromkeys(model.draw(self._interest_chance))
                self._oracle.put(node.me, self.topics.interest(node.wanted))
                self._come_up(node)
                self._join(node)
        elif node.overlay is not None:
            if kind == "leave":
                node.overlay.stop()
            self._oracle.remove(node.me)
            self.recorder.node(self.engine.now, node.me, kind)
            for topic in node.interest:
                self.recorder.interest(self.engine.now, node.me, topic, "unsubscribe")
            node.end()

    def _change_interest(self, node: SimNode, change: tuple[Topic, str]) -> None:
        topic, kind = change
        known = topic in node.wanted
        if (kind == "subscribe") == known:
            return
        if kind == "subscribe":
            node.wanted[topic] = None
        else:
            del node.wanted[topic]
        if node.overlay is None:
            return
        self.recorder.interest(self.engine.now, node.me, topic, kind)
        if kind == "subscribe":
            node.interest[topic] = None
            node.overlay.subscribe(topic)
        else:
            node.interest.pop(topic, None)
            node.overlay.unsubscribe(topic)
        self._oracle.put(node.me, self.topics.interest(node.interest))

    def _schedule_publications(self) -> None:
        spec = self.scenario.publish
        time = self.scenario.run.warmup_ms
        for _ in range(spec.per_topic):
            for topic in self.workload.subscriptions.topics:
                self._at(time, self._publish, topic, None)
                time += spec.every_ms

    def _publish(self, topic: Topic, _: None) -> None:
        node = self._publisher(topic)
        if node is None or node.overlay is None:
            return
        if topic not in node.interest:
            node.interest[topic] = None
            self._oracle.put(node.me, self.topics.interest(node.interest))
            self.recorder.interest(self.engine.now, node.me, topic, "publish")
        size = self.scenario.publish.payload_bytes
        event = node.overlay.publish(topic, bytes(size))
        self.recorder.published(self.engine.now, event)

    def _publisher(self, topic: Topic) -> SimNode | None:
        chance = self._publish_chance
        if self.scenario.publish.by == "anyone":
            found = self._oracle.any_peer((), chance)
        else:
            found = self._oracle.any_match(self.topics.bit(topic), (), chance)
        return None if found is None else self.nodes[found]

    def _churn(self) -> list[Change]:
        spec = self.scenario.churn
        if spec.model == "none":
            return []
        if spec.model == "file":
            labels = self.workload.subscriptions.labels
            numbers = {label: number for number, label in enumerate(labels)}
            return load_churn(Path(spec.file), numbers)
        shape = spec.shape if spec.model == "weibull" else None
        changes: list[Change] = []
        for node in range(self.workload.nodes):
            rng = self._chance(f"churn {node}")
            changes.extend(
                on_off(rng, node, spec.start_ms, self._end_ms, spec.on_ms, spec.off_ms,
                       shape, spec.down)
            )  # fmt: skip
        changes.sort()
        return changes

    # -- where the run pauses

    def snapshot_times(self) -> list[int]:
        """The end of the warm-up, and what else the scenario asks for, in order."""
        run = self.scenario.run
        times = {min(run.warmup_ms, self._end_ms), *run.snapshots_ms}
        return sorted(time for time in times if time <= self._end_ms)

    def _stops(self) -> list[int]:
        """Snapshots, the end, and often enough in between to show progress."""
        ticks = set(range(0, self._end_ms, max(1, self._end_ms // 100)))
        return sorted({*ticks, *self.snapshot_times(), self._end_ms})

    def _chance(self, what: str) -> Random:
        return generator("surroundings", self._surroundings, self._seed, what)
