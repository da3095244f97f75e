"""Contact cards: where a node is, said by the node itself.

A node's id is a hash of its key, and its card is signed with that key, so nobody can send
others to a wrong address in its name. A newer card replaces an older one. The book of
cards is bounded, and so is what any one source can have in it: strangers can invent as many
nodes as they like, and must not push out those that others told of.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from ipaddress import ip_address

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.identity import Identity, node_of, verify

_PURPOSE = b"orbweaver card 1\0"
HOST_MAX = 255


class Card(msgspec.Struct, frozen=True, array_like=True):
    key: bytes
    host: str
    port: int
    udp: bool
    """It listens for datagrams at the same port."""
    version: int
    """When the card was made, by the node's own clock: the larger is the newer."""
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
    """Of an address; None for a name, which has to be looked up first."""
    try:
        version = ip_address(host).version
    except ValueError:
        return None
    return socket.AF_INET if version == 4 else socket.AF_INET6


def make_card(identity: Identity, host: str, port: int, udp: bool, version: int) -> Card:
    card = Card(identity.public_key, host, port, udp, version)
    return msgspec.structs.replace(card, signature=identity.sign(card.signed_part()))


def check_card(card: Card) -> NodeId:
    """The node it is of, or a `ProtocolError`."""
    if not (len(card.key) == 32 and 0 < card.port < 65536 and 0 < len(card.host) <= HOST_MAX):
        raise ProtocolError("a card without a usable address")
    if not verify(card.key, card.signed_part(), card.signature):
        raise ProtocolError("a card that its node did not sign")
    return card.node


class AddressBook:
    """Node -> its newest card, for as many nodes as `size`. When it is full, whoever told of
    most gives up the one that has not been asked for longest; never one that `keep` names."""

    def __init__(self, size: int, keep: Callable[[], Collection[NodeId]]) -> None:
        self._size = size
        self._keep = keep
        self._cards: dict[NodeId, Card] = {}
        self._source: dict[NodeId, NodeId | None] = {}
        self._told: dict[NodeId | None, dict[NodeId, None]] = {}
        """Source -> nodes, the one that has not been asked for longest first."""

    def __len__(self) -> int:
        return len(self._cards)

    def __contains__(self, node: object) -> bool:
        return node in self._cards

    def get(self, node: NodeId) -> Card | None:
        card = self._cards.get(node)
        if card is not None:
            told = self._told[self._source[node]]
            del told[node]
            told[node] = None  # the last to go
        return card

    def version(self, node: NodeId) -> int | None:
        """Of its card, if there is one. Unlike `get`, this does not count as asking for it."""
        card = self._cards.get(node)
        return None if card is None else card.version

    def has(self, card: Card) -> bool:
        """Whether there is nothing to be learnt from it: no need to check what is not used."""
        known = self._cards.get(card.node)
        return known is not None and card.version <= known.version

    def learn(self, card: Card, source: NodeId | None = None) -> NodeId:
        """Keep a card if it is newer than what we have; a `ProtocolError` if it is false.
        `source` is who told us; None stands for all who came and told us themselves, since
        anybody can come under many names."""
        if self.has(card):
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

    def _make_room(self) -> bool:
        """Whether any could go."""
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
