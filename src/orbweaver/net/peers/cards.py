"""A contact card says where a node is, and is made and signed by the node itself.

A node's id is a hash of its key, and its card is signed with the key, so no other node can
publish a wrong address in its name. A newer card replaces an older one, and the card that a node
shows itself replaces any. A card that is ahead of the clock counts as old: otherwise a node whose
clock was fast once would be looked for at its old address until that time has come. The book of
cards is bounded, and so is the share of any one source in it: a peer can invent as many nodes as it
likes, and must not push out the nodes that other peers told of.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from ipaddress import ip_address

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.keys.identity import Identity, node_of, verify

_PURPOSE = b"orbweaver card 1\0"
AHEAD_MS = 600_000
"""Milliseconds that a card's version may be ahead of the clock. A card that is further ahead counts
as older than any other."""
HOST_MAX = 255
"""Longest host in a card, in characters."""


class Card(msgspec.Struct, frozen=True, array_like=True):
    """The address of a node, signed with the node's key."""

    key: bytes
    host: str
    port: int
    udp: bool
    """Whether the node listens for datagrams at the same port."""
    version: int
    """When the card was made, in milliseconds of the node's own clock: the larger is the newer."""
    signature: bytes = b""

    @property
    def node(self) -> NodeId:
        return node_of(self.key)

    @property
    def address(self) -> str:
        return join_address(self.host, self.port)

    def signed_part(self) -> bytes:
        return _PURPOSE + msgspec.msgpack.encode((self.host, self.port, self.udp, self.version))


def join_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@lru_cache(4096)
def family(host: str) -> socket.AddressFamily | None:
    """Return the family of an address, or None for a host name, which has to be looked up first."""
    try:
        version = ip_address(host).version
    except ValueError:
        return None
    return socket.AF_INET if version == 4 else socket.AF_INET6


def make_card(identity: Identity, host: str, port: int, udp: bool, version: int) -> Card:
    card = Card(identity.public_key, host, port, udp, version)
    return msgspec.structs.replace(card, signature=identity.sign(card.signed_part()))


def check_card(card: Card) -> NodeId:
    """Return the node that a card belongs to. Raise a `ProtocolError` if the card is not sound."""
    if not (len(card.key) == 32 and 0 < card.port < 65536 and 0 < len(card.host) <= HOST_MAX):
        raise ProtocolError("the card has no usable address")
    if not verify(card.key, card.signed_part(), card.signature):
        raise ProtocolError("the card was not signed by its node")
    return card.node


class AddressBook:
    """The newest cards of at most `size` nodes.

    When the book is full, the source that told of most nodes loses the node whose card has not
    been used for longest. Nodes that `keep` returns are never removed.
    """

    def __init__(
        self,
        size: int,
        keep: Callable[[], Collection[NodeId]],
        now_ms: Callable[[], int] = lambda: round(time.time() * 1000),
    ) -> None:
        """`now_ms` is the time of day."""
        self._now_ms = now_ms
        self._size = size
        self._keep = keep
        self._cards: dict[NodeId, Card] = {}
        self._source: dict[NodeId, NodeId | None] = {}
        self._told: dict[NodeId | None, dict[NodeId, None]] = {}
        """Source -> the nodes it told of, the least recently used first."""

    def __len__(self) -> int:
        return len(self._cards)

    def __contains__(self, node: object) -> bool:
        return node in self._cards

    def get(self, node: NodeId) -> Card | None:
        card = self._cards.get(node)
        if card is not None:
            told = self._told[self._source[node]]
            del told[node]
            told[node] = None  # now the most recently used
        return card

    def version(self, node: NodeId) -> int | None:
        """Return the version of a node's card, if there is one. Unlike `get`, this is no use of the
        card."""
        card = self._cards.get(node)
        return None if card is None else card.version

    def has(self, card: Card) -> bool:
        """Return whether the book has this card or a newer one, so that there is no need to check
        it."""
        known = self._cards.get(card.node)
        return known is not None and self._newness(card) <= self._newness(known)

    def learn(self, card: Card, source: NodeId | None = None, shown: bool = False) -> NodeId:
        """Keep a card if it is newer than the known one, or `shown` by its own node, which has just
        proved that it has the key; and return its node.

        Raise a `ProtocolError` if the card is not sound. `source` is the peer that sent the
        card. None stands for all nodes that brought their own cards, since one sender can use
        many ids.
        """
        if card == self._cards.get(card.node) or (not shown and self.has(card)):
            return card.node
        node = check_card(card)
        if node not in self._cards:
            self._source[node] = source
            self._told.setdefault(source, {})[node] = None
        self._cards[node] = card
        while len(self._cards) > self._size and self._make_room():
            pass
        return node

    def cards(self) -> Iterable[Card]:
        return list(self._cards.values())

    def _newness(self, card: Card) -> int:
        return card.version if card.version <= self._now_ms() + AHEAD_MS else -1

    def _make_room(self) -> bool:
        """Remove one card. Return False if all have to stay."""
        keep = frozenset(self._keep())
        for source in sorted(self._told, key=lambda source: -len(self._told[source])):
            told = self._told[source]
            for node in told:
                if node not in keep:
                    del told[node], self._cards[node], self._source[node]
                    if not told:
                        del self._told[source]
                    return True
        return False
