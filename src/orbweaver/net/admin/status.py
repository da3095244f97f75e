"""The status of a node: the shape of its status page, for the node and for programs that read
the page."""

from __future__ import annotations

from typing import Literal

import msgspec

from orbweaver.core.ids import NodeId

ADMIN_HOST = "127.0.0.1"
"""Default address of the admin page."""
ADMIN_PORT = 7701
"""Default port of the admin page."""


def id_text(node: NodeId) -> str:
    """Return a node's id as people see it: 16 hexadecimal digits."""
    return f"{node:016x}"


class TopicStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that the node subscribes to."""

    topic: str
    subscribers: int
    """How many subscriptions of this process read the topic."""
    since_s: float
    """Seconds since the time from which on events are owed to the subscriptions."""


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the overlay. A link may exist while its connection is still being made."""

    peer: str
    address: str
    connected: bool
    queued_messages: int = 0
    queued_bytes: int = 0
    messages_in: int = 0
    messages_out: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of a node.

    Each number only grows, or belongs to this moment. Readers compute rates from two readings
    and the `uptime_s` between them.
    """

    id: str
    overlay: str
    listen: str
    udp: bool
    secure: Literal["tls", "plain"]
    uptime_s: float
    topics: list[TopicStatus]
    links: list[LinkStatus]
    connections: int
    peers_known: int
    queued_messages: int
    queued_bytes: int
    overlay_state: dict[str, int] = {}
    """The overlay's own status: sizes of views and tables, by name."""
    log: dict[str, int] = {}
    """Sizes of the window of past events: `events` and `bytes` at least."""
    counters: dict[str, int] = {}
    """The node's `Counters`, by name."""

    @property
    def links_connected(self) -> int:
        return sum(link.connected for link in self.links)

    @property
    def subscriptions(self) -> int:
        return sum(topic.subscribers for topic in self.topics)
