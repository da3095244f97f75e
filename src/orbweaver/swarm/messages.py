"""A swarm and its members talk in lines of JSON on stdin and stdout.

A member gets its plan, then `GO` and `HUSH`. The end of its stdin, which also comes when the
swarm's process is killed, tells it to leave. The member answers with its addresses, and sends
reports from then on. A report counts everything since the start, so a lost or repeated report
does no harm.
"""

from __future__ import annotations

from typing import Any

import msgspec

GO, HUSH = b"go\n", b"hush\n"
"""The commands to start and to stop publishing."""
REPORT_S = 0.5
"""Seconds from one report of a member to the next."""


class MemberPlan(msgspec.Struct, frozen=True):
    """What one member is to do."""

    settings: dict[str, Any]
    topics: tuple[str, ...]
    """The topics to subscribe to and to publish on."""
    rate: float
    """How many events to publish each second, on average."""
    seed: int
    fast: bool = True
    """Whether to use uvloop if it is installed."""


class MemberReady(msgspec.Struct, frozen=True, tag="ready"):
    """A member runs, at these addresses."""

    id: str
    address: str
    admin: str


class MemberReport(msgspec.Struct, frozen=True, tag="report", kw_only=True):
    """What a member has done since its start."""

    published: dict[str, int]
    """How many events the member published, by topic."""
    delivered: dict[str, int]
    """How many events were delivered at the member, by topic."""
    repeated: int
    """How many events were delivered twice; there should be none."""
    links: int
    queued: int
    counters: dict[str, int]
    latencies: dict[int, int]
    """A histogram of delivery latencies (see `swarm.latencies`)."""
    cpu_s: float
    memory: int
    """Resident memory, in bytes."""


encode = msgspec.json.Encoder().encode
decode_plan = msgspec.json.Decoder(MemberPlan).decode
decode_said = msgspec.json.Decoder(MemberReady | MemberReport).decode
