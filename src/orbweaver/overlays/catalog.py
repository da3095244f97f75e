"""Overlays by name. An overlay outside this list is named as ``module:Class``."""

from __future__ import annotations

from importlib import import_module

from orbweaver.core.errors import UsageError, nearest
from orbweaver.core.overlay import Overlay
from orbweaver.overlays.magnet import Magnet, MagnetStrawman
from orbweaver.overlays.omen import OMen
from orbweaver.overlays.rappel import Rappel
from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.overlays.spidercast.baselines import RandomLinks, Similarity
from orbweaver.overlays.spidercast.ring_per_topic import RingPerTopic
from orbweaver.overlays.static import Static
from orbweaver.overlays.vitis import Vitis
from orbweaver.overlays.vitis.opt import Opt
from orbweaver.overlays.vitis.rvr import Rvr

OVERLAYS: dict[str, type[Overlay]] = {
    overlay.name: overlay
    for overlay in (
        SpiderCast,
        Vitis,
        Rvr,
        Opt,
        Magnet,
        MagnetStrawman,
        OMen,
        Similarity,
        RandomLinks,
        RingPerTopic,
        Static,
        Rappel,
    )
}


def find(name: str) -> type[Overlay]:
    """Return the overlay class of this name, or raise a `UsageError` with the nearest name."""
    if name in OVERLAYS:
        return OVERLAYS[name]
    module, colon, attribute = name.partition(":")
    if colon:
        return _load(name, module, attribute)
    raise UsageError(f"there is no overlay '{name}': {nearest(name, OVERLAYS)}")


def _load(name: str, module: str, attribute: str) -> type[Overlay]:
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"cannot load overlay '{name}': {error}") from None
    if not (isinstance(found, type) and issubclass(found, Overlay)):
        raise UsageError(f"'{name}' is not an Overlay class")
    return found
