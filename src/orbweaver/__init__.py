"""Orbweaver: publish/subscribe without a broker, on overlays woven out of interests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbweaver.embed import Node
    from orbweaver.net.node import Receipt
    from orbweaver.net.subscription import Delivery, Subscription

__version__ = "0.1.0"
__all__ = ["Delivery", "Node", "Receipt", "Subscription", "__version__"]

_PLACES = {
    "Node": "orbweaver.embed",
    "Receipt": "orbweaver.net.node",
    "Delivery": "orbweaver.net.subscription",
    "Subscription": "orbweaver.net.subscription",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: a simulation has no use for sockets.
    if name not in _PLACES:
        raise AttributeError(f"module 'orbweaver' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
