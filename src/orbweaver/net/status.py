"""What a node says about itself: the shape that its status page has, for the node that
fills it in and for those who read it."""

from __future__ import annotations

from typing import Literal

import msgspec

from orbweaver.core.ids import NodeId

ADMIN_HOST = "127.0.0.1"
ADMIN_PORT = 7701


def id_text(node: NodeId) -> str:
    """A node as people see it: 16 hexadecimal digits."""
    return f"{node:016x}"


class TopicStatus(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    subscribers: int
    """Iterators of this process that read the topic."""
    since_s: float


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the overlay. It may stand while the connection below it is being made."""

    peer: str
    address: str
    connected: bool
    queued_messages: int = 0
    queued_bytes: int = 0
    messages_in: int = 0
    messages_out: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One reading. Numbers only grow or are of this moment: rates are worked out by
    readers, out of two readings and the `uptime_s` between them."""

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
    """Sizes that the overlay tells of: views, tables, whatever it keeps."""
    log: dict[str, int] = {}
    """Of the window of past events: `events` and `bytes` at least."""
    counters: dict[str, int] = {}
    """`Counters` by name."""

    @property
    def links_connected(self) -> int:
        return sum(link.connected for link in self.links)

    @property
    def subscriptions(self) -> int:
        return sum(topic.subscribers for topic in self.topics)
