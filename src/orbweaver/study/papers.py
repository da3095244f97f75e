"""List the papers whose evaluation can be run again."""

from __future__ import annotations

from orbweaver.core.errors import UsageError, nearest
from orbweaver.study.magnet import MAGNET
from orbweaver.study.omen import OMEN
from orbweaver.study.paper import Paper
from orbweaver.study.rappel import RAPPEL
from orbweaver.study.spidercast import SPIDERCAST
from orbweaver.study.vitis import VITIS

PAPERS = {paper.name: paper for paper in (SPIDERCAST, VITIS, MAGNET, OMEN, RAPPEL)}


def find_paper(name: str) -> Paper:
    if name not in PAPERS:
        raise UsageError(f"no claims of '{name}': {nearest(name, PAPERS)}")
    return PAPERS[name]
