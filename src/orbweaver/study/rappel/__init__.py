"""Rappel's evaluation (Computer Networks 2009, section 6)."""

from __future__ import annotations

from orbweaver.study.paper import Paper
from orbweaver.study.rappel.experiments import EXPERIMENTS
from orbweaver.study.rappel.figures import FIGURES
from orbweaver.study.rappel.notes import NOTES
from orbweaver.study.rappel.scales import SCALES, TRACES
from orbweaver.study.rappel.verdicts import CLAIMS

COLUMNS = {
    "hit_ratio": ("hit ratio", 4),
    "traffic_overhead": ("overhead", 3),
    "delay_ms_p50": ("median ms", 0),
    "delay_ms_p95": ("95 % ms", 0),
    "delay_ms_max": ("most ms", 0),
    "delay_hops_mean": ("hops", 2),
    "relays_per_event": ("relays", 1),
    "load_per_second_p50": ("messages/s", 2),
    "load_per_second_each": ("for each feed", 3),
    "load_correlation": ("load by interest", 2),
    "degree_mean": ("degree", 2),
    "degree_max": ("max degree", 0),
}

RAPPEL = Paper(
    name="rappel",
    title="Rappel",
    scales=SCALES,
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
    traces=TRACES,
    notes=NOTES,
    columns=COLUMNS,
)
