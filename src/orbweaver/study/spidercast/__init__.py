"""SpiderCast's evaluation (DEBS 2007, Section 3)."""

from __future__ import annotations

from orbweaver.study.paper import Paper
from orbweaver.study.spidercast.experiments import SCALES, scenarios
from orbweaver.study.spidercast.figures import FIGURES
from orbweaver.study.spidercast.notes import NOTES
from orbweaver.study.spidercast.verdicts import CLAIMS

SPIDERCAST = Paper(
    name="spidercast",
    title="SpiderCast",
    scales={name: scale.name for name, scale in SCALES.items()},
    scenarios=scenarios,
    claims=CLAIMS,
    figures=FIGURES,
    notes={"full": NOTES},
    sensitivity=("sensitivity",),
)
