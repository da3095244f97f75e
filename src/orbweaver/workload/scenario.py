"""A scenario: a frozen, validated value that says everything about a run but its seed."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from orbweaver.core.errors import UsageError, nearest
from orbweaver.core.ids import check_topic
from orbweaver.core.params import differing
from orbweaver.core.seeds import derive
from orbweaver.workload.dialect import Reading
from orbweaver.workload.subscriptions import (
    SubscriptionModel,
    Subscriptions,
    load_subscriptions,
    make_model,
    synthesise,
)
from orbweaver.workload.tables import content_hash, table_in

Share = Annotated[float, Meta(ge=0, le=1)]
YEAR_MS = 366 * 24 * 3_600_000
Milliseconds = Annotated[int, Meta(ge=0, le=YEAR_MS)]
Delay = Annotated[float, Meta(ge=0, le=YEAR_MS)]


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the parts of a scenario."""


class WorkloadSpec(Spec, frozen=True):
    nodes: Annotated[int, Meta(ge=1, le=100_000_000)] = 1000
    topics: Annotated[int, Meta(ge=1, le=10_000_000)] = 100
    subscriptions_per_node: Annotated[str, Meta(pattern=r"^\d+(:\d+)?$")] = "10"
    """S, or MIN:MAX to draw S uniformly for each node."""
    popularity: str = "zipf:0.5"
    """A law: how likely each topic is to be chosen."""
    file: str = ""
    """Instead of the model: a table node,topic, or a folder with one named subscriptions."""
    columns: str = ""
    """Which two columns of the table are node and topic, as names or numbers: user,group or 1,3."""
    header: Literal["auto", "yes", "no"] = "auto"
    """Whether the table begins with the names of its columns; auto finds out."""

    def reading(self) -> Reading:
        return Reading(self.columns, self.header)

    def sizes(self) -> tuple[int, int]:
        low, _, high = self.subscriptions_per_node.partition(":")
        return int(low), int(high or low)


class LatencySpec(Spec, frozen=True):
    model: Literal["constant", "uniform", "matrix", "coordinates"] = "constant"
    ms: Delay = 1
    """constant: one-way delay."""
    low_ms: Delay = 1
    """uniform: the shortest one-way delay of a message,"""
    high_ms: Delay = 10
    """and the longest."""
    file: str = ""
    """matrix: a square of numbers, or what `orbweaver ingest latency-matrix` wrote, which is one
    way and in ms whatever is said below. coordinates: a table node,x,y or node,x,y,z, or what
    `orbweaver ingest coordinates` wrote."""
    unit: Literal["s", "ms", "us"] = "ms"
    round_trip: bool = True
    """matrix: the numbers are round trips, so one way is half."""


class PartitionSpec(Spec, frozen=True):
    start_ms: Milliseconds
    end_ms: Milliseconds
    share: Share = 0.5
    """Share of the nodes, drawn at random, that is cut off from the others."""


class FaultSpec(Spec, frozen=True):
    loss: Share = 0.0
    """Share of the messages that are lost."""
    duplicate: Share = 0.0
    """Share of the messages that come twice."""
    reorder: Share = 0.0
    """Share of the messages that are held back by up to `reorder_ms`."""
    reorder_ms: Milliseconds = 100
    slow_share: Share = 0.0
    """Share of the nodes that take `slow_ms` to handle each message."""
    slow_ms: Milliseconds = 200
    partitions: tuple[PartitionSpec, ...] = ()


class ChurnSpec(Spec, frozen=True):
    model: Literal["none", "exponential", "weibull", "file"] = "none"
    on_ms: Annotated[float, Meta(gt=0, le=YEAR_MS)] = 300_000
    """Mean time up."""
    off_ms: Annotated[float, Meta(gt=0, le=YEAR_MS)] = 75_000
    """Mean time down."""
    shape: Annotated[float, Meta(gt=0.05, le=20)] = 0.5
    """weibull: shape of the times up; below 1 is heavy-tailed."""
    down: Literal["leave", "crash"] = "leave"
    """Whether nodes say that they go. file: those of which it says that they leave."""
    new_interest: bool = False
    """A node comes back with a newly drawn interest (SpiderCast 3.8)."""
    start_ms: Milliseconds = 0
    """on/off models: when it begins. file: when its time 0 is."""
    file: str = ""
    """A table time,node,kind."""
    nodes: Literal["by name", "in order"] = "by name"
    """file: its nodes are those of the workload, or other ones (the machines of a cluster,
    say), the first of which plays the workload's first node and so on; those for whom there
    is no node are left out."""
    speed: Annotated[float, Meta(gt=0, le=1e9)] = 1
    """file: how many times faster than it happened."""
    skip_ms: Milliseconds = 0
    """file, in order: how much of it is left out; who is up by then is up from the start."""
    crowd: Annotated[int, Meta(ge=0)] = 0
    """A flash crowd: so many of the last nodes, instead of anything else, join at once."""
    crowd_ms: Milliseconds = 0
    """When."""


class InterestChange(Spec, frozen=True):
    time_ms: Milliseconds
    node: Annotated[int, Meta(ge=0)]
    topic: str
    kind: Literal["subscribe", "unsubscribe"]


class PublishSpec(Spec, frozen=True):
    per_topic: Annotated[int, Meta(ge=0, le=1_000_000)] = 3
    """Events on each topic, in as many rounds over all topics."""
    every_ms: Annotated[int, Meta(ge=1)] = 10
    """From one publication to the next."""
    payload_bytes: Annotated[int, Meta(ge=0, le=1 << 20)] = 100
    by: Literal["subscriber", "anyone"] = "subscriber"
    """Who publishes, drawn anew for each event."""
    events: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    """Instead of rounds over all topics: so many events, on topics drawn by their rates."""
    rates: str = "uniform"
    """Of publication, by topic: uniform or zipf:A (Vitis IV-D)."""


class RunSpec(Spec, frozen=True):
    warmup_ms: Milliseconds = 10_000
    """Time for the overlay to form before the first publication."""
    drain_ms: Milliseconds = 5_000
    """Time after the last publication; what has not arrived by then counts as lost."""
    duration_ms: Milliseconds = 0
    """The whole run; 0 means warm-up, publications and drain."""
    snapshots_ms: tuple[Milliseconds, ...] = ()
    """When metrics of the overlay are taken, besides the end of the warm-up."""
    young_ms: Milliseconds = 0
    """Nodes that joined this recently are left out of snapshots, and are owed no events yet
    (SpiderCast 3.8: 2 s; Vitis IV-F: 10 s)."""
    contacts: Annotated[int, Meta(ge=0)] = 5
    """Nodes that a joining node is told of."""
    events_max: Annotated[int, Meta(ge=1)] = 2_000_000_000
    """Messages and timers after which a run is cut short."""
    time_max_ms: Annotated[int, Meta(ge=1)] = 30 * 24 * 3_600_000
    """Simulated time after which it is."""
    records: Literal["rows", "counters"] = "rows"
    """A row for each delivery and copy, or counts of them, for large runs."""
    measure_bytes: bool = True
    """Encode every message to know its size; without, runs are faster."""
    tdi: Annotated[int, Meta(ge=0)] = 0
    """d of tdi(d), the likeness of interests; 0 leaves it out."""


class StudySpec(Spec, frozen=True):
    """Where a run stands in a study. It says nothing about the run itself: the same run may
    stand in several places."""

    paper: str = ""
    """Whose evaluation it is part of."""
    scale: str = ""
    """How large that evaluation is."""
    series: str = ""
    """Runs of one series differ in one variable. Without one, the name of the scenario."""
    x: float | None = None
    """The value of that variable. [default: the number of nodes]"""


class Scenario(Spec, frozen=True):
    overlay: str
    name: str = ""
    params: dict[str, Any] = {}
    workload: WorkloadSpec = WorkloadSpec()
    latency: LatencySpec = LatencySpec()
    faults: FaultSpec = FaultSpec()
    churn: ChurnSpec = ChurnSpec()
    interests: tuple[InterestChange, ...] = ()
    publish: PublishSpec = PublishSpec()
    run: RunSpec = RunSpec()
    study: StudySpec = StudySpec()

    def fingerprint(self) -> str:
        """Return what names the run but for its seed: not how the scenario is called, where it
        stands in a study, nor where its files lie."""
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
        )
        # 5 and 5.0 are the same delay, whoever typed it; and what is left at its default
        # does not count, so that a setting can be added without renaming every run.
        canonical = msgspec.convert(msgspec.to_builtins(bare), Scenario)
        parts = {
            name: differing(part) if isinstance(part, Spec) else part
            for name, part in differing(canonical).items()
        }
        data = msgspec.json.encode(parts, order="deterministic")
        return blake2b(data, digest_size=16).hexdigest()

    def course(self) -> str:
        """Names what decides the course of a run: looking at it more or less closely, or
        for longer, does not change what happens."""
        plain = RunSpec(warmup_ms=self.run.warmup_ms, contacts=self.run.contacts)
        return msgspec.structs.replace(self, run=plain).fingerprint()

    def surroundings(self) -> str:
        """Names that without the overlay, so that two overlays under comparison meet the
        same churn, the same delays and the same publications."""
        return msgspec.structs.replace(self, overlay="", params={}).course()

    def publish_end_ms(self, topics: int) -> int:
        events = self.publish.events or self.publish.per_topic * topics
        return self.run.warmup_ms + events * self.publish.every_ms

    def end_ms(self, topics: int) -> int:
        return self.run.duration_ms or self.publish_end_ms(topics) + self.run.drain_ms


@dataclasses.dataclass(frozen=True)
class Workload:
    """The subscriptions of a scenario, and a way to draw new ones where it has a model."""

    subscriptions: Subscriptions
    model: SubscriptionModel | None

    @property
    def nodes(self) -> int:
        return len(self.subscriptions.of_node)


def make_workload(scenario: Scenario, seed: int) -> Workload:
    """The same for every overlay: seeded by the workload alone."""
    spec = scenario.workload
    if spec.file:
        table = table_in(Path(spec.file), "subscriptions")
        return Workload(load_subscriptions(table, spec.reading()), None)
    low, high = spec.sizes()
    if not 1 <= low <= high:
        raise UsageError(f"subscriptions per node '{spec.subscriptions_per_node}' is not a range")
    model = make_model(spec.topics, spec.popularity, low, high)
    law = f"{spec.topics} {spec.subscriptions_per_node} {spec.popularity}"
    return Workload(synthesise(model, spec.nodes, "workload", law, seed), model)


def node_seed(course: str, seed: int, node: int, life: int) -> int:
    """Each life of a node has its own chance."""
    return derive("node", course, seed, node, life)


def load_scenario(path: Path, overlay: str | None = None) -> Scenario:
    """Read a TOML file; files it names are taken relative to it. `overlay` is for a file
    that names none."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    for part in ("workload", "latency", "churn"):
        section = raw.get(part)
        if isinstance(section, dict) and isinstance(section.get("file"), str) and section["file"]:
            section["file"] = str(path.parent / section["file"])
    workload = raw.get("workload")
    if isinstance(workload, dict) and isinstance(workload.get("subscriptions_per_node"), int):
        workload["subscriptions_per_node"] = str(workload["subscriptions_per_node"])
    if overlay is not None:
        raw.setdefault("overlay", overlay)
    return build_scenario(raw, str(path))


def build_scenario(raw: dict[str, Any], source: str) -> Scenario:
    """A scenario from plain values, with mistakes told in the words of `source`."""
    try:
        made = msgspec.convert(raw, Scenario)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {_explain(str(error))}") from None
    wrong = next(_contradictions(made), None)
    if wrong is not None:
        raise UsageError(f"{source}: {wrong}")
    for change in made.interests:
        check_topic(change.topic)
    return made


def _contradictions(scenario: Scenario) -> Iterator[str]:
    """Settings that would be left aside without a word."""
    churn, latency, publish = scenario.churn, scenario.latency, scenario.publish
    of_table = ("file", "columns", "header")
    told = differing(scenario.workload)
    model = [name for name in told if name not in of_table]
    if scenario.workload.file and model:
        yield f"a table of subscriptions has its own nodes and topics: leave out {model[0]}"
    about = [name for name in told if name in of_table[1:]]
    if about and not scenario.workload.file:
        yield f"{about[0]} is about a table of subscriptions: name one with file"
    if churn.file and churn.model != "file":
        yield f"[churn] has a file, but the model is '{churn.model}'; say model = \"file\""
    if churn.model == "file" and not churn.file:
        yield "[churn] of the model 'file' needs a file"
    if churn.new_interest and scenario.workload.file:
        yield "[churn] new_interest needs a model to draw interests from, not a table of them"
    tabled = latency.model in ("matrix", "coordinates")
    if latency.file and not tabled:
        yield f"[latency] has a file, but the model is '{latency.model}'"
    if tabled and not latency.file:
        yield f"[latency] of the model '{latency.model}' needs a file"
    if publish.rates != "uniform" and not publish.events:
        yield "[publish] rates are for a number of events: say how many with events"
    for one in scenario.faults.partitions:
        if one.end_ms <= one.start_ms:
            yield f"a partition from {one.start_ms} to {one.end_ms} ms would not happen"


def _explain(error: str) -> str:
    what, _, where = error.partition(" - at `$")
    place = where.strip(".`")
    unknown = re.match(r"Object contains unknown field `(.*)`", what)
    if unknown:
        known = _fields_at(place)
        owner = f" in [{place}]" if place else ""
        return f"unknown setting '{unknown[1]}'{owner}: {nearest(unknown[1], known)}"
    what = what[0].lower() + what[1:]
    return f"'{place}': {what}" if place else what


def _fields_at(place: str) -> list[str]:
    spec: Any = Scenario
    for step in filter(None, re.sub(r"\[.*?\]", "", place).split(".")):
        kinds = {f.name: f.type for f in msgspec.structs.fields(spec)}
        spec = kinds.get(step, Scenario)
        spec = next((a for a in getattr(spec, "__args__", ()) if isinstance(a, type)), spec)
    return [field.name for field in msgspec.structs.fields(spec)]


def _content_hash(name: str, table: str) -> str:
    """Names a table of a scenario by what is in its file or files."""
    return content_hash(table_in(Path(name), table)) if name else ""
