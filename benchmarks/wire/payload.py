"""Makes the payloads, alike in every system, and counts them at a subscriber.

A payload begins with the round, a number within it, and the time of publication. All processes are
on one machine, so times of different processes can be compared.
"""

from __future__ import annotations

import struct
import time
from typing import Any

_HEAD = struct.Struct("<IIQ")
_pack, _unpack = _HEAD.pack, _HEAD.unpack_from
_time_ns = time.time_ns

TOPIC = "bench/wire"
PROBE = 0
"""The number of the round that only finds out whether all subscribers are connected."""


def make(round: int, number: int, padding: bytes) -> bytes:
    return _pack(round, number, _time_ns()) + padding


def read(payload: bytes) -> tuple[int, int, int]:
    """Return the round, the number and the time in nanoseconds."""
    round, number, sent_ns = _unpack(payload)
    return round, number, sent_ns


def padding(size: int) -> bytes:
    return bytes(max(0, size - _HEAD.size))


class Tally:
    """Counts what one subscriber got in one round: each number, how often, and how old."""

    def __init__(self) -> None:
        self.probed = False
        self.begin(PROBE, False)

    def begin(self, round: int, with_latency: bool) -> None:
        self.round = round
        self.got = self.repeated = 0
        self.last_ns = 0
        self._seen = bytearray()
        self._latencies: list[int] | None = [] if with_latency else None

    def take(self, payload: bytes) -> None:
        round, number, sent_ns = _unpack(payload)
        if round != self.round or not round:
            self.probed = True
            return
        seen = self._seen
        if number >= len(seen):
            seen.extend(bytes(number + (1 << 16) - len(seen)))
        if seen[number]:
            self.repeated += 1
            return
        seen[number] = 1
        self.got += 1
        self.last_ns = now = _time_ns()
        if self._latencies is not None:
            self._latencies.append(now - sent_ns)

    def facts(self) -> dict[str, Any]:
        return {
            "got": self.got,
            "repeated": self.repeated,
            "last_ns": self.last_ns,
            "latencies_us": [round(ns / 1000) for ns in self._latencies or ()],
        }
