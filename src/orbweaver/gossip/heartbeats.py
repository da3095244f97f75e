"""Heartbeats detect failures: a peer that has been silent too long is suspected."""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.core.ids import NodeId


class Heartbeats:
    """Remembers when each peer was last heard, and says which ones have been silent too long."""

    TIMER = "heartbeat"

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._heard: dict[NodeId, int] = {}

    def heard(self, peer: NodeId, now: int) -> None:
        self._heard[peer] = now

    def forget(self, peer: NodeId) -> None:
        self._heard.pop(peer, None)

    def suspects(self, peers: Iterable[NodeId], now: int) -> list[NodeId]:
        deadline = now - self._timeout_ms
        return [peer for peer in peers if self._heard.get(peer, now) < deadline]
