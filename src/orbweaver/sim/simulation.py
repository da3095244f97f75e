"""Run one simulation: it takes a scenario and a seed, and gives records."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, Protocol

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.core.identifiers import places_of_run
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import Params, build, differing
from orbweaver.core.seeds import generator, pick
from orbweaver.core.topics import TopicTable
from orbweaver.records import Recorder, Records
from orbweaver.sim.collector import calm_collector
from orbweaver.sim.faults import Faults, any_faults
from orbweaver.sim.latency import make_latencies
from orbweaver.sim.node import SimNode
from orbweaver.sim.world import World
from orbweaver.workload.changes import joining_late, make_churn
from orbweaver.workload.links import Link, read_links
from orbweaver.workload.popularity import weights
from orbweaver.workload.scenario import LinksSpec, Scenario, Workload, make_workload, node_seed
from orbweaver.workload.tables import table_in

Progress = Callable[[int, int], None]
"""A function called from time to time with (simulated time so far, time to simulate), in
milliseconds."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    records: Records
    end_ms: int
    events: int
    complete: bool
    """False if the limit on events or on time stopped the run before its end."""


def simulate(
    scenario: Scenario, seed: int, overlay: type[Overlay], progress: Progress | None = None
) -> Outcome:
    """Run a scenario to its end, or to one of its limits."""
    return Simulation(scenario, seed, overlay).run(progress)


class Named(Protocol):
    """Anything that a scenario may name to be run, with its parameters: an overlay class, most
    often."""

    @property
    def name(self) -> str: ...

    @property
    def Params(self) -> type[Params]: ...


def plainly(scenario: Scenario, overlay: Named) -> Scenario:
    """Return the scenario with only the parameters that differ from the overlay's defaults,
    however they were typed. Results are named by the fingerprint of the scenario in this form."""
    params = differing(build_params(scenario, overlay))
    return msgspec.structs.replace(scenario, params=params)


def build_params(scenario: Scenario, overlay: Named) -> Params:
    return build(overlay.Params, scenario.params, f"overlay '{overlay.name}'")


def planned_contacts(
    spec: LinksSpec, labels: Sequence[str], plan: Sequence[Link] | None
) -> list[list[NodeId]] | None:
    """Return the neighbours of each node in the plan or in the table of links, or None if the
    scenario has neither."""
    if spec.design:
        if plan is None:
            raise UsageError(
                f"links.design '{spec.design}' is planned by study.run.run_scenario; give a "
                "Simulation the plan"
            )
        links: Iterable[Link] = plan
    elif spec.file:
        links = _links_of_table(table_in(Path(spec.file), "links"), labels)
    else:
        return None
    contacts: list[list[NodeId]] = [[] for _ in labels]
    for a, b in links:
        contacts[a].append(NodeId(b))
        contacts[b].append(NodeId(a))
    return contacts


def _links_of_table(table: Path, labels: Sequence[str]) -> Sequence[Link]:
    found = read_links(table, labels)
    if found.strangers:
        raise UsageError(
            f"{table}: '{found.strangers[0]}' is none of the {len(labels):,} nodes of the workload "
            f"({len(found.strangers):,} such names); use links that were made for these nodes"
        )
    return found.links


class Simulation:
    """Play a scenario in a world."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        overlay: type[Overlay],
        plan: Sequence[Link] | None = None,
    ) -> None:
        """Make the world of a scenario. `plan` are the links that its `links.design` asks for."""
        self.scenario = scenario = plainly(scenario, overlay)
        params = build_params(scenario, overlay)
        self._seed = seed
        self._surroundings = scenario.surroundings()
        self.workload: Workload = make_workload(scenario, seed)
        topics = TopicTable(self.workload.subscriptions.topics)
        wanted_ms = scenario.end_ms(len(topics))
        self._end_ms = min(wanted_ms, scenario.run.time_max_ms)
        self._cut_short = wanted_ms > self._end_ms
        labels = self.workload.subscriptions.labels
        faults: Faults | None = None
        if any_faults(scenario.faults):
            faults = Faults(scenario.faults, self.workload.nodes, self._chance("faults"))
        course = scenario.course()
        latency, exact_ms = make_latencies(scenario.latency, labels, self._chance("latency"))
        self._changes = make_churn(scenario, seed, self.workload, self._end_ms)
        self._publishers = self._draw_publishers()
        self.world = World(
            self.workload.nodes,
            overlay,
            params,
            topics=topics,
            latency=latency,
            recorder=Recorder(
                rows=scenario.run.records != "counters", copies=scenario.run.records == "copies"
            ),
            node_seed=lambda node, life: node_seed(course, seed, node, life),
            contacts=scenario.run.contacts,
            contact_chance=self._chance("contacts"),
            planned_contacts=planned_contacts(scenario.links, labels, plan),
            faults=faults,
            measure_bytes=scenario.run.measure_bytes,
            places=places_of_run(seed),
            exact_ms=exact_ms,
            publisher_of=self._publishers.get,
        )
        self._interest_chance = self._chance("new interests")
        self._publish_chance = self._chance("publish")
        self._group_chance = self._chance("groups")

    def run(self, progress: Progress | None = None) -> Outcome:
        engine, recorder = self.world.engine, self.world.recorder
        complete = True
        snapshots = frozenset(self.snapshot_times())
        with calm_collector():
            self._begin()
            for stop in self._stops():
                complete = engine.run(stop, self.scenario.run.events_max)
                if stop in snapshots and complete:
                    recorder.snapshot_sends(stop)
                    up = (node.overlay for node in self.world.nodes)
                    recorder.states(stop, (overlay.status() for overlay in up if overlay))
                if progress is not None:
                    progress(engine.now, self._end_ms)
                if not complete:
                    break
        complete = complete and not self._cut_short
        return Outcome(self.world.finish(), engine.now, engine.events, complete)

    def snapshot_times(self) -> list[int]:
        """Return, in order, the end of the warm-up and the scenario's further snapshot times."""
        run = self.scenario.run
        times = {min(run.warmup_ms, self._end_ms), *run.snapshots_ms}
        return sorted(time for time in times if time <= self._end_ms)

    # -- the events of the scenario

    def _begin(self) -> None:
        nodes = self.world.nodes
        late = joining_late(self._changes)
        for node, topics in zip(nodes, self.workload.subscriptions.of_node, strict=True):
            node.wanted = dict.fromkeys(topics)
        # A node whose first change is to join is down until then.
        self.world.join_all(n for n in nodes if n.me not in late)
        if self.scenario.links.design:
            self.world.planned_contacts = None
        for time, number, kind in self._changes:
            self._at(time, self._change, nodes[number], kind)
        for change in self.scenario.interests:
            if change.node >= len(nodes):
                raise UsageError(
                    f"interests: there is no node {change.node}; the last one is {len(nodes) - 1}"
                )
            act = self.world.subscribe if change.kind == "subscribe" else self.world.unsubscribe
            self._at(change.time_ms, act, nodes[change.node], change.topic)
        self._schedule_groups()
        self._schedule_publications()

    def _at(self, time: int, action: Callable[[Any, Any], Any], a: Any, b: Any) -> None:
        if time <= self._end_ms:
            self.world.engine.schedule(time, action, a, b)

    def _change(self, node: SimNode, kind: str) -> None:
        """Apply a line of the churn table. A node already in the wanted state stays in it."""
        if kind == "leave":
            self.world.leave(node)
        elif kind == "crash":
            self.world.crash(node)
        elif node.overlay is None:
            model = self.workload.model
            if self.scenario.churn.new_interest and model is not None:
                node.wanted = dict.fromkeys(model.draw(self._interest_chance))
            self.world.join(node)

    def _schedule_publications(self) -> None:
        spec = self.scenario.publish
        time = self.scenario.run.warmup_ms
        payload = bytes(spec.payload_bytes)
        for topic in self._published_topics():
            self._at(time, self._publish, topic, payload)
            time += spec.every_ms

    def _published_topics(self) -> Iterable[Topic]:
        spec, topics = self.scenario.publish, self.workload.subscriptions.topics
        if not spec.events:
            return topics * spec.per_topic
        cumulative = list(accumulate(weights(spec.rates, len(topics), "rates")))
        rng = self._chance("published topics")
        draws = (rng.random() * cumulative[-1] for _ in range(spec.events))
        return [topics[min(bisect_right(cumulative, x), len(topics) - 1)] for x in draws]

    def _draw_publishers(self) -> dict[Topic, NodeId]:
        """Return the publisher of each feed `feed@NODE` where NODE is the name of a node, and draw
        one for each other topic among its subscribers, if the scenario says so. Where some of them
        are up for the whole run, it is one of these."""
        subscriptions = self.workload.subscriptions
        by_name = {label: NodeId(n) for n, label in enumerate(subscriptions.labels)}
        ends = {topic: topic.rpartition("@")[2] for topic in subscriptions.topics if "@" in topic}
        named = {topic: by_name[end] for topic, end in ends.items() if end in by_name}
        if self.scenario.publish.by != "publisher":
            return named
        subscribers: dict[Topic, list[NodeId]] = {}
        for number, topics in enumerate(self.workload.subscriptions.of_node):
            for topic in topics:
                subscribers.setdefault(topic, []).append(NodeId(number))
        rng = self._chance("publishers")
        changing = {node for time, node, _ in self._changes if time <= self._end_ms}
        changing |= joining_late(self._changes)
        found = {}
        for topic in self.workload.subscriptions.topics:
            if topic in named:
                found[topic] = named[topic]
            elif topic in subscribers:
                staying = [node for node in subscribers[topic] if node not in changing]
                found[topic] = pick(rng, staying or subscribers[topic])
        return found

    def _publish(self, topic: Topic, payload: bytes) -> None:
        """Publish at a node that may publish on the topic, if one of them is up."""
        if topic in self._publishers:
            self.world.publish(self.world.nodes[self._publishers[topic]], topic, payload)
            return
        oracle = self.world.oracle
        if self.scenario.publish.by == "anyone":
            found = oracle.any_peer((), self._publish_chance)
        else:
            wanted = self.world.topics.bit(topic)
            found = oracle.any_match(wanted, (), self._publish_chance)
        if found is not None:
            self.world.publish(self.world.nodes[found], topic, payload)

    def _schedule_groups(self) -> None:
        """Schedule groups of linked nodes that go down together and come back together."""
        spec = self.scenario.churn
        if spec.model == "neighbors":
            for time in range(spec.start_ms, self._end_ms, spec.every_ms):
                self._at(time, self._group_down, spec.together, time + spec.every_ms // 2)

    def _group_down(self, size: int, back_ms: int) -> None:
        """Take down a node, a neighbour of it, a neighbour of either and so on, and schedule their
        return. A group that has no further neighbours is continued elsewhere."""
        engine, rng = self.world.engine, self._group_chance
        left = {node.me: node for node in self.world.nodes if node.overlay is not None}
        near: set[NodeId] = set()
        group: list[SimNode] = []
        while left and len(group) < size:
            node = left.pop(pick(rng, sorted(near.intersection(left)) or list(left)))
            near.update(node.overlay.links() if node.overlay is not None else ())
            group.append(node)
        for node in group:
            self._change(node, self.scenario.churn.down)
            engine.schedule(back_ms - engine.now, self._change, node, "join")

    def _stops(self) -> list[int]:
        """Return when the engine stops: at snapshots, at the end, and after every hundredth of the
        run, to show progress."""
        ticks = range(0, self._end_ms, max(1, self._end_ms // 100))
        return sorted({*ticks, *self.snapshot_times(), self._end_ms})

    def _chance(self, what: str) -> Random:
        return generator("surroundings", self._surroundings, self._seed, what)
