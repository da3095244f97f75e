"""Magnet (Girdzijauskas, Chockler, Vigfusson, Tock, Melamed; DEBS 2010)."""

from orbweaver.overlays.magnet.node import Magnet, MagnetParams
from orbweaver.overlays.magnet.strawman import MagnetStrawman

__all__ = ["Magnet", "MagnetParams", "MagnetStrawman"]
