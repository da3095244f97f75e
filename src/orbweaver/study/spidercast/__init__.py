"""This package is SpiderCast's evaluation (DEBS 2007, Section 3) as a value."""

from __future__ import annotations

from orbweaver.study.paper import COLUMNS, Paper
from orbweaver.study.spidercast.experiments import EXPERIMENTS, SCALES
from orbweaver.study.spidercast.figures import FIGURES
from orbweaver.study.spidercast.notes import NOTES
from orbweaver.study.spidercast.verdicts import CLAIMS

SPIDERCAST = Paper(
    name="spidercast",
    title="SpiderCast",
    scales=SCALES,
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
    notes=NOTES,
    columns=COLUMNS
    | {
        "diameter_whole": ("max diameter, whole overlay", 1),
        "control_messages_per_join_answered": ("msgs/join, refused left out", 1),
    },
    sensitivity=("sensitivity",),
)
