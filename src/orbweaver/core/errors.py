"""Orbweaver raises these errors on purpose; the type of an error says which side is at fault."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OrbweaverError(Exception):
    """Base of every error that Orbweaver raises on purpose."""


class UsageError(OrbweaverError):
    """The caller, a file or an option is at fault; the message says what to change."""


class PayloadTooLarge(UsageError):
    """A payload is larger than this node sends, or than any of its peers accepts. `size` and
    `size_max` are in bytes."""

    def __init__(self, size: int, size_max: int, whose: str) -> None:
        super().__init__(
            f"a payload of {size} bytes is too large: {whose} at most {size_max} "
            "(payload_bytes_max); publish smaller events, or raise payload_bytes_max at all nodes"
        )
        self.size = size
        self.size_max = size_max


LAB = "the lab install: pip install '.[lab]' in the repository"
"""The extra packages that a lean install lacks, as named in errors of commands that need them."""


class ProtocolError(OrbweaverError):
    """A peer sent something that no correct peer sends. Hosts count it and drop the message."""


class NotDrained(OrbweaverError, TimeoutError):
    """`drain` ended while events were still in the node, or after some could no longer be sent.

    `events` is how many of this node's own events were sent to no neighbour.
    """

    def __init__(self, events: int, queued: int, lost: int, timeout_s: float | None) -> None:
        after = "" if timeout_s is None else f" within {timeout_s:g} s"
        gone = (
            f"; {lost} of the events have left the window and can no longer be sent" if lost else ""
        )
        super().__init__(
            f"{events} events were sent to no neighbour{after}, and {queued} messages wait for "
            f"neighbours to read{gone}; wait longer, or until a peer subscribes"
        )
        self.events = events


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint to append to "unknown NAME": the closest known name, or the whole list."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    return "known: " + ", ".join(known)
