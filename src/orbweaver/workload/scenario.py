"""A scenario is a frozen, validated value that says everything about a run except its seed."""

from __future__ import annotations

import dataclasses
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from orbweaver.core.errors import UsageError
from orbweaver.core.params import differing
from orbweaver.core.seeds import derive
from orbweaver.workload.dialect import Reading
from orbweaver.workload.popularity import is_correlated
from orbweaver.workload.subscriptions import (
    SubscriptionModel,
    Subscriptions,
    correlated,
    load_subscriptions,
    make_model,
    synthesise,
)
from orbweaver.workload.tables import content_hash, table_in

Share = Annotated[float, Meta(ge=0, le=1)]
YEAR_MS = 366 * 24 * 3_600_000
"""Longest time that a scenario may name, in milliseconds."""
Milliseconds = Annotated[int, Meta(ge=0, le=YEAR_MS)]
Delay = Annotated[float, Meta(ge=0, le=YEAR_MS)]


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the parts of a scenario."""


class WorkloadSpec(Spec, frozen=True):
    nodes: Annotated[int, Meta(ge=1, le=100_000_000)] = 1000
    topics: Annotated[int, Meta(ge=1, le=10_000_000)] = 100
    subscriptions_per_node: Annotated[
        str, Meta(pattern=r"^(\d+(:\d+)?|powerlaw:\d+:\d+:\d+(\.\d+)?)$")
    ] = "10"
    """S; or MIN:MAX to draw S uniformly for each node; or powerlaw:MIN:MAX:A to draw S with a
    probability proportional to S^-A (OMen 6.1)."""
    popularity: str = "zipf:0.5"
    """The law that says how likely each topic is to be chosen, or which topics together."""
    file: str = ""
    """A table node,topic in place of the model, or a folder with a table named subscriptions."""
    columns: str = ""
    """Which two columns of the table are node and topic, as names or numbers: user,group or 1,3."""
    header: Literal["auto", "yes", "no"] = "auto"
    """Whether the table begins with the names of its columns; auto finds it out."""

    def reading(self) -> Reading:
        return Reading(self.columns, self.header)

    def sizes(self) -> tuple[int, int, float]:
        """Return MIN, MAX and A, which is 0 for a uniform draw."""
        low, _, rest = self.subscriptions_per_node.removeprefix("powerlaw:").partition(":")
        high, _, exponent = rest.partition(":")
        return int(low), int(high or low), float(exponent or 0)


class LatencySpec(Spec, frozen=True):
    model: Literal["constant", "uniform", "matrix", "coordinates"] = "constant"
    ms: Delay = 1
    """constant: one-way delay."""
    low_ms: Delay = 1
    """uniform: shortest one-way delay of a message."""
    high_ms: Delay = 10
    """uniform: longest one-way delay of a message."""
    file: str = ""
    """matrix: a square of numbers, or what `orbweaver ingest latency-matrix` wrote, for which
    `unit` and `round_trip` do not count: it holds one-way delays in ms. coordinates: a table
    node,x,y or node,x,y,z, or what `orbweaver ingest coordinates` wrote."""
    unit: Literal["s", "ms", "us"] = "ms"
    """The unit of the numbers in the file."""
    round_trip: bool = True
    """matrix: the numbers are round trips; half of each is the one-way delay."""


class PartitionSpec(Spec, frozen=True):
    start_ms: Milliseconds
    end_ms: Milliseconds
    share: Share = 0.5
    """Share of the nodes, drawn at random, that is cut off from the rest."""


class FaultSpec(Spec, frozen=True):
    loss: Share = 0.0
    """Share of the messages that are lost."""
    duplicate: Share = 0.0
    """Share of the messages that arrive twice."""
    reorder: Share = 0.0
    """Share of the messages that are held back by up to `reorder_ms`."""
    reorder_ms: Milliseconds = 100
    slow_share: Share = 0.0
    """Share of the nodes that take `slow_ms` to handle each message."""
    slow_ms: Milliseconds = 200
    partitions: tuple[PartitionSpec, ...] = ()


class ChurnSpec(Spec, frozen=True):
    model: Literal["none", "exponential", "weibull", "file", "neighbors"] = "none"
    on_ms: Annotated[float, Meta(gt=0, le=YEAR_MS)] = 300_000
    """Mean time up."""
    off_ms: Annotated[float, Meta(gt=0, le=YEAR_MS)] = 75_000
    """Mean time down."""
    shape: Annotated[float, Meta(gt=0.05, le=20)] = 0.5
    """weibull: shape of the times up; below 1 is heavy-tailed."""
    down: Literal["leave", "crash"] = "leave"
    """How nodes go down: `leave` in good order, or `crash`. file: how nodes go down that leave
    according to the file."""
    new_interest: bool = False
    """Whether a node comes back with a newly drawn interest (SpiderCast 3.8)."""
    start_ms: Milliseconds = 0
    """exponential, weibull: when churn begins. file: when time 0 of the file is."""
    file: str = ""
    """A table time,node,kind."""
    nodes: Literal["by name", "in order"] = "by name"
    """file: `by name` if the file names the nodes of the workload. `in order` if it names other
    nodes, such as the machines of a cluster: the first one in the file plays the workload's
    first node and so on, and nodes beyond the workload's last one are left out."""
    speed: Annotated[float, Meta(gt=0, le=1e9)] = 1
    """file: how many times faster than in the file churn happens."""
    skip_ms: Milliseconds = 0
    """file, in order: how much of the file is left out; a node that is up at this time of the
    file is up from the start."""
    every_ms: Milliseconds = 0
    """file: time from one change to the next, in place of the times of the file, which then only
    give the order (OMen's churn rounds); 0 keeps the times. neighbors: time from one group to the
    next."""
    together: Annotated[int, Meta(ge=1)] = 2
    """neighbors: size of a group of nodes, connected by links among themselves, that go down at
    the same moment. They come back together half of `every_ms` later (OMen 3.3)."""
    crowd: Annotated[int, Meta(ge=0)] = 0
    """Size of a flash crowd: how many nodes, the last ones, join at once. These nodes have no
    other churn."""
    crowd_ms: Milliseconds = 0
    """When the flash crowd joins."""
    outage: Share = 0.0
    """Share of the nodes, drawn at random, that crash together. These nodes have no other churn."""
    outage_ms: Milliseconds = 0
    """When the outage begins."""
    outage_end_ms: Milliseconds = 0
    """When the nodes of the outage come back, all at once."""


class LinksSpec(Spec, frozen=True):
    file: str = ""
    """A table a,b of links. The contacts of a joining node are its neighbours in the table that are
    up, instead of random nodes. The overlay static keeps exactly these links."""
    design: Literal["", "gm", "lowoda", "minmaxoda"] = ""
    """In place of a table: plan the links of the nodes that are up from the start, by this
    algorithm (docs/design.md). Nodes that join later are told of random nodes."""
    rho: Annotated[float, Meta(ge=1)] = 3.0
    """lowoda: how many times better a link must be to raise the maximum degree."""


class InterestChange(Spec, frozen=True):
    time_ms: Milliseconds
    node: Annotated[int, Meta(ge=0)]
    topic: str
    kind: Literal["subscribe", "unsubscribe"]


class PublishSpec(Spec, frozen=True):
    per_topic: Annotated[int, Meta(ge=0, le=1_000_000)] = 3
    """Number of events on each topic, published in as many rounds over all topics."""
    every_ms: Annotated[int, Meta(ge=1)] = 10
    """Time from one publication to the next."""
    payload_bytes: Annotated[int, Meta(ge=0, le=1 << 20)] = 100
    by: Literal["subscriber", "anyone", "publisher"] = "subscriber"
    """Which nodes may publish. With "publisher", one subscriber of each topic is drawn once and
    known to the overlay; if possible it is one that churn spares. With the other two, the publisher
    is drawn anew for each event."""
    events: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    """Number of events on topics drawn by their rates, in place of rounds over all topics."""
    rates: str = "uniform"
    """The law of publication rates over the topics: uniform or zipf:A (Vitis IV-D)."""


class RunSpec(Spec, frozen=True):
    warmup_ms: Milliseconds = 10_000
    """Time for the overlay to form before the first publication."""
    drain_ms: Milliseconds = 5_000
    """Time after the last publication; what has not arrived by then counts as lost."""
    duration_ms: Milliseconds = 0
    """Length of the whole run; 0 means warm-up, publications and drain."""
    snapshots_ms: tuple[Milliseconds, ...] = ()
    """Times at which metrics of the overlay are taken, besides the end of the warm-up."""
    young_ms: Milliseconds = 0
    """Nodes that joined this recently are left out of snapshots, and are owed no events yet
    (SpiderCast 3.8: 2 s; Vitis IV-F: 10 s)."""
    contacts: Annotated[int, Meta(ge=0)] = 5
    """How many nodes that are up a joining node is told of."""
    events_max: Annotated[int, Meta(ge=1)] = 2_000_000_000
    """Number of messages and timers after which a run is cut short."""
    time_max_ms: Annotated[int, Meta(ge=1)] = 30 * 24 * 3_600_000
    """Simulated time after which a run is cut short."""
    records: Literal["rows", "counters", "copies"] = "rows"
    """Whether each delivery and each relayed copy gets a row, or only counters, for large runs;
    `copies` adds the rows of the table `copies`, for `orbweaver trace`."""
    measure_bytes: bool = True
    """Whether every message is encoded, to know its size; runs are faster without."""
    tdi: Annotated[int, Meta(ge=0)] = 0
    """d of tdi(d), the similarity of interests; 0 leaves the metric out."""


class StudySpec(Spec, frozen=True):
    """The place of a run in a study. It says nothing about the run itself: the same run may have
    several places."""

    paper: str = ""
    """The paper whose evaluation the run is part of."""
    scale: str = ""
    """The scale of the evaluation."""
    series: str = ""
    """The series of the run; runs of one series differ in one variable. [default: the name of
    the scenario]"""
    x: float | None = None
    """The value of the variable in which runs of the series differ. [default: the number of
    nodes]"""


class Scenario(Spec, frozen=True):
    overlay: str
    name: str = ""
    params: dict[str, Any] = {}
    workload: WorkloadSpec = WorkloadSpec()
    latency: LatencySpec = LatencySpec()
    faults: FaultSpec = FaultSpec()
    churn: ChurnSpec = ChurnSpec()
    links: LinksSpec = LinksSpec()
    interests: tuple[InterestChange, ...] = ()
    publish: PublishSpec = PublishSpec()
    run: RunSpec = RunSpec()
    study: StudySpec = StudySpec()

    def fingerprint(self) -> str:
        """Return a hash that identifies a run except for its seed.

        Neither the scenario's name, nor its place in a study, nor the paths of its files count.
        """
        replace = msgspec.structs.replace
        delays = "coordinates" if self.latency.model == "coordinates" else "latency"
        bare = replace(
            self,
            name="",
            study=StudySpec(),
            workload=replace(
                self.workload, file=_content_hash(self.workload.file, "subscriptions")
            ),
            latency=replace(self.latency, file=_content_hash(self.latency.file, delays)),
            churn=replace(self.churn, file=_content_hash(self.churn.file, "churn")),
            links=replace(self.links, file=_content_hash(self.links.file, "links")),
        )
        # 5 and 5.0 are the same delay, however it was typed. A setting left at its default
        # does not count, so that a setting can be added without a new hash for every run.
        canonical = msgspec.convert(msgspec.to_builtins(bare), Scenario)
        parts = {
            name: differing(part) if isinstance(part, Spec) else part
            for name, part in differing(canonical).items()
        }
        data = msgspec.json.encode(parts, order="deterministic")
        return blake2b(data, digest_size=16).hexdigest()

    def course(self) -> str:
        """Return a hash of what decides the course of a run. When, how closely and for how long
        a run is observed does not change what happens in it."""
        plain = RunSpec(warmup_ms=self.run.warmup_ms, contacts=self.run.contacts)
        return msgspec.structs.replace(self, run=plain).fingerprint()

    def surroundings(self) -> str:
        """Return a hash of the course without the overlay and its links, so that two overlays
        under comparison meet the same churn, the same delays and the same publications."""
        bare = msgspec.structs.replace(self, overlay="", params={}, links=LinksSpec())
        return bare.course()

    def publish_end_ms(self, topics: int) -> int:
        events = self.publish.events or self.publish.per_topic * topics
        return self.run.warmup_ms + events * self.publish.every_ms

    def end_ms(self, topics: int) -> int:
        return self.run.duration_ms or self.publish_end_ms(topics) + self.run.drain_ms


@dataclasses.dataclass(frozen=True)
class Workload:
    """The subscriptions of a scenario, and the model to draw new ones from, if there is one."""

    subscriptions: Subscriptions
    model: SubscriptionModel | None

    @property
    def nodes(self) -> int:
        return len(self.subscriptions.of_node)


def make_workload(scenario: Scenario, seed: int) -> Workload:
    """Make the workload of a scenario. It is seeded by the scenario's workload alone, and so is
    the same for every overlay."""
    spec = scenario.workload
    if spec.file:
        table = table_in(Path(spec.file), "subscriptions")
        return Workload(load_subscriptions(table, spec.reading()), None)
    low, high, exponent = spec.sizes()
    if not 1 <= low <= high:
        raise UsageError(
            f"subscriptions per node '{spec.subscriptions_per_node}' should be a number from 1, "
            "or a range such as 5:20 or powerlaw:10:90:2"
        )
    if is_correlated(spec.popularity):
        return Workload(
            correlated(spec.popularity, spec.nodes, spec.topics, spec.subscriptions_per_node, seed),
            None,
        )
    model = make_model(spec.topics, spec.popularity, low, high, exponent)
    law = f"{spec.topics} {spec.subscriptions_per_node} {spec.popularity}"
    return Workload(synthesise(model, spec.nodes, "workload", law, seed), model)


def node_seed(course: str, seed: int, node: int, life: int) -> int:
    """Return the seed of one life of a node; each life has its own."""
    return derive("node", course, seed, node, life)


def _content_hash(name: str, table: str) -> str:
    """Return a hash of the content of a table of a scenario, or nothing without a table."""
    return content_hash(table_in(Path(name), table)) if name else ""
