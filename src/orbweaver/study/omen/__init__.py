"""OMen's evaluation (DEBS 2016, Section 6)."""

from __future__ import annotations

from orbweaver.study.omen.experiments import EXPERIMENTS
from orbweaver.study.omen.figures import FIGURES
from orbweaver.study.omen.notes import NOTES
from orbweaver.study.omen.scales import SCALES, TRACES
from orbweaver.study.omen.verdicts import CLAIMS
from orbweaver.study.paper import Paper

COLUMNS = {
    "degree_mean": ("degree", 2),
    "degree_max": ("max degree", 1),
    "partitioned_topics": ("partitioned", 1),
    "diameter_mean": ("diameter", 2),
    "diameter_max": ("max diameter", 1),
    "backups_mean": ("backups", 1),
    "in_degree_min": ("least in-degree", 1),
    "in_degree_max": ("max in-degree", 0),
    "in_degree_few": ("in-degree < 5", 3),
    "view_mean": ("local view", 1),
    "repair_ms_omen": ("repair, ms", 1),
    "repair_ms_omen_g": ("OMen-G, ms", 0),
    "repair_ms_lowoda": ("LowODA, ms", 0),
    "repair_ms_lowoda_fast": ("fast LowODA, ms", 1),
}

OMEN = Paper(
    name="omen",
    title="OMen",
    scales=SCALES,
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
    traces=TRACES,
    notes=NOTES,
    columns=COLUMNS,
)
