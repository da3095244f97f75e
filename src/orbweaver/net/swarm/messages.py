"""What a swarm and its members say to each other: lines of JSON on stdin and stdout.

A member is told its plan, then `GO` and `HUSH`; the end of its stdin, which also comes when
the swarm's process is killed, tells it to leave. It says where it is, and reports from then
on. Reports say all since the start, so that one more or less does no harm.
"""

from __future__ import annotations

from typing import Any

import msgspec

GO, HUSH = b"go\n", b"hush\n"
"""Publish; and publish nothing more."""
REPORT_S = 0.5


class MemberPlan(msgspec.Struct, frozen=True):
    settings: dict[str, Any]
    topics: tuple[str, ...]
    """To subscribe to and to publish on."""
    rate: float
    """Events to publish each second."""
    seed: int
    fast: bool = True
    """Use uvloop if it is there."""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    id: str
    address: str
    admin: str


class MemberReport(msgspec.Struct, frozen=True, tag="report", kw_only=True):
    published: dict[str, int]
    """By topic."""
    delivered: dict[str, int]
    repeated: int
    """Events given out twice; there should be none."""
    links: int
    queued: int
    counters: dict[str, int]
    latencies: dict[int, int]
    """A histogram, see `latencies`."""
    cpu_s: float
    memory: int
    """Resident bytes."""


encode = msgspec.json.Encoder().encode
decode_plan = msgspec.json.Decoder(MemberPlan).decode
decode_said = msgspec.json.Decoder(Ready | MemberReport).decode
