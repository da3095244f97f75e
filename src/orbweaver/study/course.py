"""The course of a simulated run: what changes from snapshot to snapshot.

Most of it is told by records. What only the nodes of a simulation know, such as which links mean
friendship, is asked of the nodes themselves, by a function of the paper that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Overlay
from orbweaver.metrics.averages import plain
from orbweaver.metrics.delays import Delay, delay_metrics, delays
from orbweaver.metrics.traffic import sent_by_kind
from orbweaver.records import Records
from orbweaver.sim.simulation import Progress, Simulation

Ask = Callable[[Sequence[Overlay]], dict[str, Any]]
"""Takes the overlay objects of all nodes that are up, and returns numbers by name."""

ASKED = {
    "rappel": "orbweaver.study.rappel.nodes:Nodes",
    "orbweaver.study.omen.alone:OMenAlone": "orbweaver.study.omen.alone:Views",
}
"""Overlay -> what makes the function that asks its nodes, as module:name. It is made anew for each
run, so that it may compare with the snapshot before."""

COUNTED = {"omen": ("omen-enlist", "omen-report", "omen-probe")}
"""Overlay -> types of messages that are counted by themselves, by their names on the wire."""


class Course:
    """Watch a simulation at its snapshots."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._counted = COUNTED.get(simulation.scenario.overlay, ())
        self._times = frozenset(simulation.snapshot_times())
        self._ask: Ask = _make(simulation.scenario.overlay)
        self._asked: dict[int, dict[str, Any]] = {}

    def watching(self, progress: Progress | None) -> Progress:
        """Return what a simulation is to call at its stops: it asks the nodes at snapshots, and
        calls `progress` as well."""

        def stopped(now: int, end: int) -> None:
            if now in self._times:
                up = [node.overlay for node in self._simulation.world.nodes]
                self._asked[now] = plain(self._ask([one for one in up if one is not None]))
            if progress is not None:
                progress(now, end)

        return stopped

    def over_time(self, records: Records) -> list[dict[str, Any]]:
        """Return, for each snapshot, what the nodes said, the messages of some types so far, and
        the delays of the events that were published since the snapshot before."""
        world = self._simulation.world
        found = delays(records, self._simulation.scenario.run.young_ms)
        course, since = [], 0
        for time_ms, said in self._asked.items():
            of_part: list[Delay] = [one for one in found if since <= one.published_ms < time_ms]
            numbers = plain(
                delay_metrics(of_part, lambda a, b: world.exact_ms(NodeId(a), NodeId(b)))
            )
            if self._counted:
                counts = sent_by_kind(records, 0, time_ms)
                said |= {kind: counts.get(kind, 0) for kind in self._counted}
            course.append({"time_ms": time_ms, **numbers, **said})
            since = time_ms
        return course


def _make(overlay: str) -> Ask:
    module, _, name = ASKED.get(overlay, "").partition(":")
    made: Ask = getattr(import_module(module), name)() if module else lambda overlays: {}
    return made
