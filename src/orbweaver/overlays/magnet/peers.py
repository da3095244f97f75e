"""What a node knows of a neighbour, and of one that it has lost."""

from __future__ import annotations

from orbweaver.overlays.magnet.messages import RingDescriptor

CALLS = 10
"""How often a neighbour that was lost without a word is called, so that a network that was cut
grows together again."""


class Peer:
    """A neighbour."""

    __slots__ = ("about", "chooses", "chosen", "heard_ms", "introduced", "suspect_ms")

    def __init__(self, about: RingDescriptor, heard_ms: int) -> None:
        self.about = about
        """What the neighbour itself has said last."""
        self.heard_ms = heard_ms
        self.chosen = False
        """The peer is in this node's table."""
        self.chooses = False
        """This node is in the peer's table."""
        self.suspect_ms: int | None = None
        """Since when the peer has owed an answer."""
        self.introduced = False
        """The peer has this node's descriptor as it is now."""


class Lost:
    __slots__ = ("at_ms", "calls")

    def __init__(self, at_ms: int) -> None:
        self.at_ms = at_ms
        self.calls = CALLS
