"""Carry out one run, from scenario to metrics; commands, pools and clusters repeat it."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from orbweaver import __version__
from orbweaver.core.identifiers import PLACE_OF_NODE, Places
from orbweaver.core.ids import NodeId
from orbweaver.metrics.averages import plain as plain_numbers
from orbweaver.metrics.degree import degrees, histogram
from orbweaver.metrics.ring import ring_right
from orbweaver.metrics.snapshot import Snapshot, snapshot
from orbweaver.metrics.summary import overlay_metrics, summarise
from orbweaver.metrics.traffic import overhead_histogram, sent
from orbweaver.overlays.catalog import find
from orbweaver.records import Records
from orbweaver.sim.simulation import Outcome, Progress, Simulation, plainly
from orbweaver.study.course import Course
from orbweaver.study.lookups import BY_PLACE, RINGS, lookup_hops
from orbweaver.study.procedures import PROCEDURES, find_procedure
from orbweaver.study.promises import broken_claims
from orbweaver.workload.changes import joining_late, make_churn
from orbweaver.workload.links import Link
from orbweaver.workload.scenario import Scenario, StudySpec, make_workload

Job = tuple[Scenario, int]
"""A run to do: a scenario and a seed."""


class Result(msgspec.Struct, frozen=True):
    """What is kept of a run. Everything but `wall_seconds` repeats with the seed."""

    name: str
    overlay: str
    params: dict[str, Any]
    nodes: int
    topics: int
    seed: int
    digest: str
    wall_seconds: float
    events: int
    complete: bool
    metrics: dict[str, Any]
    snapshots: list[dict[str, Any]]
    degree_histogram: dict[int, int]
    states: dict[str, dict[int, int]]
    """What the nodes said of themselves at the last snapshot: value -> number of nodes."""
    fingerprint: str
    version: str
    overhead_histogram: dict[int, int] = {}
    """Traffic of no interest, in tenths of all that a node gets -> nodes."""
    course: list[dict[str, Any]] = []
    """What changed from snapshot to snapshot (`study.course`), of a simulation with several."""
    broken_claims: list[str] = []
    """What the overlay promises and the run did not keep (`study.promises`)."""
    study: StudySpec = StudySpec()

    @property
    def run_id(self) -> str:
        """The identity of the run, as `run_id` names it before it is run."""
        return f"{self.fingerprint}-{self.seed}"

    def placed(self, scenario: Scenario) -> Result:
        """Return the same result under the name and in the study of a scenario: one run may
        belong to several series."""
        return msgspec.structs.replace(self, name=scenario.name, study=scenario.study)


@dataclasses.dataclass(frozen=True)
class Run:
    scenario: Scenario
    result: Result
    outcome: Outcome
    """What a simulation recorded; empty records for a procedure."""
    labels: tuple[str, ...]
    looks: list[Snapshot]
    """The overlay at each snapshot, the last one being what the metrics are of."""


def run_id(scenario: Scenario, seed: int) -> str:
    """Return the identity of a run: its scenario and seed. It does not depend on the name of the
    scenario, on whether defaults are written out, or on the version of the code."""
    return f"{fingerprint(scenario)}-{seed}"


def fingerprint(scenario: Scenario) -> str:
    """Return a text that is the same for all scenarios that mean the same."""
    if scenario.overlay in PROCEDURES:
        return plainly(scenario, find_procedure(scenario.overlay)).fingerprint()
    return plainly(scenario, find(scenario.overlay)).fingerprint()


def run_scenario(scenario: Scenario, seed: int, progress: Progress | None = None) -> Run:
    if scenario.overlay in PROCEDURES:
        return _carry_out(scenario, seed)
    started = time.perf_counter()
    plan = planned_links(scenario, seed) if scenario.links.design else None
    simulation = Simulation(scenario, seed, find(scenario.overlay), plan)
    course = Course(simulation) if scenario.run.snapshots_ms else None
    outcome = simulation.run(course.watching(progress) if course else progress)
    reached = [time_ms for time_ms in simulation.snapshot_times() if time_ms <= outcome.end_ms]
    looks, measured = measure_records(
        outcome.records,
        reached or [outcome.end_ms],
        outcome.end_ms,
        scenario.run.young_ms,
        scenario.run.tdi,
        overlay=scenario.overlay,
        places=simulation.world.places,
    )
    result = Result(
        name=scenario.name,
        overlay=scenario.overlay,
        params=dict(simulation.scenario.params),
        nodes=simulation.workload.nodes,
        topics=len(simulation.workload.subscriptions.topics),
        seed=seed,
        wall_seconds=round(time.perf_counter() - started, 3),
        events=outcome.events,
        complete=outcome.complete,
        fingerprint=simulation.scenario.fingerprint(),
        version=__version__,
        study=scenario.study,
        course=course.over_time(outcome.records) if course else [],
        broken_claims=broken_claims(scenario, outcome, looks[-1], measured["metrics"]),
        **measured,
    )
    return Run(scenario, result, outcome, simulation.workload.subscriptions.labels, looks)


def planned_links(scenario: Scenario, seed: int) -> list[Link]:
    """Plan the links of the nodes that are up from the start, as `links.design` says."""
    # Needs the lab install, which simulations otherwise do without.
    from orbweaver.design.plan import design
    from orbweaver.design.rules import Rule

    workload = make_workload(scenario, seed)
    of_node = workload.subscriptions.of_node
    end_ms = scenario.end_ms(len(workload.subscriptions.topics))
    late = joining_late(make_churn(scenario, seed, workload, end_ms))
    up = [node for node in range(len(of_node)) if node not in late]
    rule = Rule(scenario.links.design or "lowoda", scenario.links.rho)
    plan = design([of_node[node] for node in up], rule, seed)
    return [(up[a], up[b]) for a, b in plan.links]


def _carry_out(scenario: Scenario, seed: int) -> Run:
    started = time.perf_counter()
    procedure = find_procedure(scenario.overlay)
    plain = plainly(scenario, procedure)
    workload = make_workload(scenario, seed)
    found = procedure.carry_out(plain, workload, seed)
    result = Result(
        name=scenario.name,
        overlay=scenario.overlay,
        params=dict(plain.params),
        nodes=workload.nodes,
        topics=len(workload.subscriptions.topics),
        seed=seed,
        digest="",
        wall_seconds=round(time.perf_counter() - started, 3),
        events=0,
        complete=True,
        metrics=plain_numbers(found.metrics),
        snapshots=[plain_numbers(snapshot) for snapshot in found.snapshots],
        degree_histogram=found.degree_histogram,
        states={},
        fingerprint=plain.fingerprint(),
        version=__version__,
        study=scenario.study,
    )
    outcome = Outcome(Records(), 0, 0, True)
    return Run(scenario, result, outcome, workload.subscriptions.labels, [])


def measure_records(
    records: Records,
    times: Sequence[int],
    end_ms: int,
    young_ms: int = 0,
    tdi: int = 0,
    whole_ms: int | None = None,
    overlay: str = "",
    places: Places[NodeId] = PLACE_OF_NODE,
) -> tuple[list[Snapshot], dict[str, Any]]:
    """Return the overlay at these moments, and the fields of a `Result` that follow from records,
    whichever host wrote them.

    The metrics are those of the last moment. From `whole_ms` on, nodes are being stopped.
    `overlay` is the name of the overlay, if it is known, and `places` are those of its nodes.
    """
    looks = [snapshot(records, time_ms, young_ms) for time_ms in times]
    final = looks[-1]
    hops = lookup_hops(final, places) if overlay in BY_PLACE else math.nan
    right = ring_right(final, places) if overlay in RINGS else math.nan
    return looks, {
        "digest": records.digest(),
        "metrics": summarise(
            records, final, end_ms, young_ms, times[0], tdi, whole_ms, hops, right
        ),
        "snapshots": [
            {
                "time_ms": look.time_ms,
                **plain_numbers(overlay_metrics(look, with_distances=False)),
                "subscriptions": sum(map(len, look.interests.values())),
                **{f"{purpose}_messages": n for purpose, n in _sent(records, look).items()},
            }
            for look in looks
            if len(looks) > 1
        ],
        "degree_histogram": histogram(degrees(final)),
        "states": _states(records, times[-1]),
        "overhead_histogram": overhead_histogram(records),
    }


def _sent(records: Records, look: Snapshot) -> dict[str, int]:
    """Return how many messages of each purpose were sent from the start to a snapshot."""
    return sent(records, 0, look.time_ms)


def _states(records: Records, time_ms: int) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for at_ms, state, value, nodes in records["states"].rows():
        if at_ms == time_ms:
            found.setdefault(state, {})[value] = nodes
    return found
