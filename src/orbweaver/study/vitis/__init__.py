"""Vitis' evaluation (IPDPS 2011, Section IV)."""

from __future__ import annotations

from orbweaver.study.paper import Paper
from orbweaver.study.vitis.experiments import SCALES, scenarios
from orbweaver.study.vitis.figures import FIGURES
from orbweaver.study.vitis.verdicts import CLAIMS

VITIS = Paper(
    name="vitis",
    title="Vitis",
    scales={name: scale.name for name, scale in SCALES.items()},
    scenarios=scenarios,
    claims=CLAIMS,
    figures=FIGURES,
)
