"""Overlays by name. An overlay outside this list is named as ``module:Class``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from orbweaver.core.errors import UsageError, nearest
from orbweaver.core.overlay import Overlay

PLACES = {
    "spidercast": "orbweaver.overlays.spidercast:SpiderCast",
    "vitis": "orbweaver.overlays.vitis:Vitis",
    "rvr": "orbweaver.overlays.vitis.rvr:Rvr",
    "opt": "orbweaver.overlays.vitis.opt:Opt",
    "magnet": "orbweaver.overlays.magnet:Magnet",
    "magnet-strawman": "orbweaver.overlays.magnet:MagnetStrawman",
    "omen": "orbweaver.overlays.omen:OMen",
    "similarity": "orbweaver.overlays.spidercast.baselines:Similarity",
    "random": "orbweaver.overlays.spidercast.baselines:RandomLinks",
    "ring-per-topic": "orbweaver.overlays.spidercast.ring_per_topic:RingPerTopic",
    "gossipsub": "orbweaver.overlays.gossipsub:GossipSub",
    "static": "orbweaver.overlays.static:Static",
    "rappel": "orbweaver.overlays.rappel:Rappel",
    "scribe": "orbweaver.overlays.scribe:Scribe",
}
"""Name -> module and class."""


class Overlays(Mapping[str, type[Overlay]]):
    """The overlays of the list. A class is loaded when it is asked for: a node runs one overlay,
    and all of them together take megabytes."""

    def __getitem__(self, name: str) -> type[Overlay]:
        module, _, attribute = PLACES[name].partition(":")
        return _load(name, module, attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


OVERLAYS = Overlays()


def find(name: str) -> type[Overlay]:
    """Return the overlay class of this name, or raise a `UsageError` with the nearest name."""
    if name in PLACES:
        return OVERLAYS[name]
    module, colon, attribute = name.partition(":")
    if colon:
        return _load(name, module, attribute)
    raise UsageError(f"there is no overlay '{name}': {nearest(name, PLACES)}")


def _load(name: str, module: str, attribute: str) -> type[Overlay]:
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"cannot load overlay '{name}': {error}") from None
    if not (isinstance(found, type) and issubclass(found, Overlay)):
        raise UsageError(f"'{name}' is not an Overlay class")
    return found
