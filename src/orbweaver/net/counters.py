"""The counters of a node.

Counters are plain integers, since most are counted on the fastest path. The metrics page and the
status print them by name, with the meaning given here.
"""

from __future__ import annotations

import dataclasses
from typing import Any


def _counter(meaning: str) -> Any:
    return dataclasses.field(default=0, metadata={"meaning": meaning})


@dataclasses.dataclass(slots=True)
class Counters:
    published: int = _counter("events published here")
    published_to_nobody: int = _counter(
        "events published while there was no neighbour for them; the window keeps them"
    )
    delivered: int = _counter("events given to the application")
    caught_up: int = _counter("delivered events that were pulled from a neighbour's window")
    repeated: int = _counter("events that came again and were not delivered twice")
    relayed: int = _counter("copies of events received without interest in their topic")
    missed: int = _counter(
        "events that a subscription lost: not read in time, or, if ordered, not arrived in time"
    )

    declined: int = _counter(
        "events that a peer did not accept: too large for the peer, or not allowed"
    )

    messages_in: int = _counter("overlay messages received")
    messages_out: int = _counter("overlay messages sent")
    bytes_in: int = _counter("bytes received over TCP")
    bytes_out: int = _counter("bytes sent over TCP")
    datagrams_in: int = _counter("datagrams received")
    datagrams_out: int = _counter("datagrams sent")

    dropped_control: int = _counter(
        "control messages dropped because a queue was full or the message was too large"
    )
    dropped_data: int = _counter("events dropped because a queue was full, the oldest first")
    dropped_unreachable: int = _counter("messages for peers that could not be reached")

    connections_in: int = _counter("connections accepted")
    connections_out: int = _counter("connections opened")
    connections_refused: int = _counter(
        "connections refused because there were too many or the peer was banned"
    )
    dials_failed: int = _counter("attempts to connect that failed")
    peers_lost: int = _counter("peers given up as unreachable")

    bad_frames: int = _counter("frames that could not be read")
    bad_datagrams: int = _counter("datagrams that were damaged, forged or repeated")
    bad_handshakes: int = _counter("handshakes that failed or took too long")
    bad_messages: int = _counter("messages that the gate or the overlay refused")
    bad_cards: int = _counter("contact cards with a wrong signature")
    bad_seals: int = _counter("batches of events with a wrong signature")
    forged: int = _counter("events that their publisher did not sign")
    replayed: int = _counter("events signed too long ago")
    not_allowed: int = _counter("events whose publisher may not publish on the topic")
    uncertified: int = _counter(
        "events whose publisher has no valid certificate of the cluster's authority"
    )
    flooded: int = _counter("connections paused for sending faster than allowed")

    def count(self, name: str) -> None:
        """Add one to the counter of this name."""
        setattr(self, name, getattr(self, name) + 1)

    def as_dict(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
