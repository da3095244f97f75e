"""OMen without our safety net: what mends the overlay are its coordinators alone (O12, O13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orbweaver.core.overlay import Overlay
from orbweaver.overlays.omen import OMen


class OMenAlone(OMen):
    name = "omen-alone"

    def look_for_others(self) -> None:
        """Do not look for nodes of other components."""


class Views:
    """Asks the nodes of a run for the state that claim O13 is about."""

    def __call__(self, overlays: Sequence[Overlay]) -> dict[str, Any]:
        """Return of how many nodes a node keeps a local view, at most."""
        sizes = (len(node.views.of) for node in overlays if isinstance(node, OMen))
        return {"views_max": max(sizes, default=0)}
