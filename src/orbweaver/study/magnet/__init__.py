"""Magnet's evaluation (DEBS 2010, Section 4)."""

from __future__ import annotations

from orbweaver.study.magnet.experiments import EXPERIMENTS, TRACES
from orbweaver.study.magnet.figures import FIGURES
from orbweaver.study.magnet.notes import NOTES
from orbweaver.study.magnet.scales import SCALES
from orbweaver.study.magnet.verdicts import CLAIMS
from orbweaver.study.paper import Paper

COLUMNS = {
    "hit_ratio": ("hit ratio", 4),
    "relays_per_event": ("relays of an event", 2),
    "relays_top_topics_share": ("relays, top topics", 4),
    "delay_hops_mean": ("hops", 2),
    "delay_hops_max": ("max hops", 0),
    "degree_mean": ("degree", 1),
    "id_bits": ("bits of identifiers", 0),
    "converged_ms": ("last change, ms", 0),
}

MAGNET = Paper(
    name="magnet",
    title="Magnet",
    scales=SCALES,
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
    traces=TRACES,
    notes=NOTES,
    columns=COLUMNS,
)
