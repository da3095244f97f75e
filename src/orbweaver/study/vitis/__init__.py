"""This package is Vitis' evaluation (IPDPS 2011, Section IV) as a value."""

from __future__ import annotations

from orbweaver.study.paper import Paper
from orbweaver.study.vitis.experiments import EXPERIMENTS, TRACES
from orbweaver.study.vitis.figures import FIGURES
from orbweaver.study.vitis.notes import NOTES
from orbweaver.study.vitis.scales import SCALES
from orbweaver.study.vitis.verdicts import CLAIMS

COLUMNS = {
    "hit_ratio": ("hit ratio", 4),
    "traffic_overhead": ("overhead", 3),
    "traffic_overhead_notices": ("overhead by notices", 3),
    "burdened": ("above 20 %", 3),
    "delay_hops_mean": ("hops", 2),
    "delay_ms_mean": ("ms", 0),
    "degree_mean": ("degree", 2),
    "degree_max": ("max degree", 0),
    "link_utility": ("utility", 4),
    "clusters_per_topic": ("clusters", 2),
    "gateways_per_topic": ("gateways", 2),
    "relays_per_topic": ("relays", 2),
    "lookup_hops_mean": ("lookup hops", 2),
}

VITIS = Paper(
    name="vitis",
    title="Vitis",
    scales=SCALES,
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
    traces=TRACES,
    sensitivity=("sensitivity",),
    notes=NOTES,
    columns=COLUMNS,
)
