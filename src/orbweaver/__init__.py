"""Orbweaver is publish/subscribe without a broker: nodes link to nodes with the same interests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbweaver.core.errors import NotDrained, PayloadTooLarge, UsageError
    from orbweaver.embed import Node, NodeSettings
    from orbweaver.net.events.subscription import Delivery, Subscription
    from orbweaver.net.node import Receipt

__version__ = "0.1.0"
__all__ = [
    "Delivery", "Node", "NodeSettings", "NotDrained", "PayloadTooLarge", "Receipt", "Subscription",
    "UsageError", "__version__",
]  # fmt: skip

_PLACES = {
    "Delivery": "orbweaver.net.events.subscription",
    "Node": "orbweaver.embed",
    "NodeSettings": "orbweaver.embed",
    "NotDrained": "orbweaver.core.errors",
    "PayloadTooLarge": "orbweaver.core.errors",
    "Receipt": "orbweaver.net.node",
    "Subscription": "orbweaver.net.events.subscription",
    "UsageError": "orbweaver.core.errors",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: a simulation needs no sockets.
    if name not in _PLACES:
        raise AttributeError(f"module 'orbweaver' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    # Names that are not loaded yet are no attributes, and the default would leave them out.
    return sorted(__all__)
