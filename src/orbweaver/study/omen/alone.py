"""OMen without our safety net: what mends the overlay are its coordinators alone (O12)."""

from __future__ import annotations

from orbweaver.overlays.omen import OMen


class OMenAlone(OMen):
    name = "omen-alone"

    def look_for_others(self) -> None:
        """Do not look for nodes of other components."""
