"""What a planner asks: constraints, circumstances and what matters most."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Care = Literal["delay", "traffic", "links", "fairness"]
"""What is to be as low as possible before all else: the time until events arrive, the bytes that
a node sends, the links of a node, or the share of the load at the busiest nodes."""


PAYLOAD_BYTES_MAX = 1 << 20
"""Most bytes of an event in a simulation."""


class Question(msgspec.Struct, frozen=True):
    """Constraints, circumstances and preferences, in a planner's terms."""

    links_max: Annotated[int, Meta(ge=1)] | None = None
    """Most links that any node may have."""
    relays: bool = True
    """Whether a node may be sent events that it did not ask for."""
    churn: str = ""
    """How nodes come and go, in words; empty if they stay."""
    latency: str = "wan"
    """The delays between nodes, in words."""
    rate: Annotated[float, Meta(gt=0)] = 10.0
    """Events per second, of all nodes together."""
    payload_bytes: Annotated[int, Meta(ge=0, le=PAYLOAD_BYTES_MAX)] = 1000
    care: Care | None = None
    """None weighs all four alike."""
    scale: Annotated[int, Meta(ge=1)] | None = None
    """The number of nodes for which to say what to expect."""
