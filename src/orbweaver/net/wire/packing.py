"""Pack messages into frames, each after the cards and seals that it refers to.

A connection remembers what the far end was told, so that each card and each seal crosses the
connection once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orbweaver.core.ids import NodeId
from orbweaver.net.peers.cards import Card
from orbweaver.net.peers.outqueue import Parcel
from orbweaver.net.wire.connection import TOLD_CARDS_MAX, TOLD_SEALS_MAX, Connection
from orbweaver.net.wire.frames import Cards, Seals, control_frame, messages_header
from orbweaver.net.wire.seals import BatchSeal

FRAME_SOFT_MAX = 64 << 10
"""Bytes at which a frame is closed; a single message may still make a larger frame."""
SEALS_TOGETHER = TOLD_SEALS_MAX // 2
"""Most seals that precede the events of one frame. With more, the far end would forget the first
ones before their events come."""

CardOf = Callable[[NodeId], Card | None]


def pack(parcels: Iterable[Parcel], connection: Connection, card_of: CardOf) -> list[bytes]:
    """Return the bytes to write, in order."""
    frames: list[bytes] = []
    bodies: list[bytes] = []
    cards: list[Card] = []
    seals: list[bytes] = []
    size = 0
    told = connection.told_seals
    for parcel in parcels:
        data = parcel.data
        assert data is not None
        if bodies and (size + len(data) > FRAME_SOFT_MAX or len(seals) >= SEALS_TOGETHER):
            frames += _group(cards, seals, bodies, size)
            bodies, cards, seals, size = [], [], [], 0
        if parcel.seal is not None and parcel.seal.name not in told:
            seals.append(tell_seal(parcel.seal, connection))
        for name in parcel.names:
            tell_card(name, connection, card_of, cards)
        bodies.append(data)
        size += len(data)
    if bodies:
        frames += _group(cards, seals, bodies, size)
    return frames


def tell_seal(seal: BatchSeal, connection: Connection) -> bytes:
    """Return a seal's bytes, and note that the far end knows the seal from now on."""
    told = connection.told_seals
    told[seal.name] = None
    if len(told) > TOLD_SEALS_MAX:
        del told[next(iter(told))]
    return seal.data


def tell_card(node: NodeId, connection: Connection, card_of: CardOf, cards: list[Card]) -> None:
    """Add a node's card to `cards`, if there is one that the far end was not told."""
    told = connection.told_cards
    if node == connection.peer:
        return
    card = card_of(node)
    if card is None or told.get(node) == card.version:
        return
    told[node] = card.version
    cards.append(card)
    if len(told) > TOLD_CARDS_MAX:
        del told[next(iter(told))]


def _group(
    cards: list[Card], seals: list[bytes], bodies: list[bytes], size: int
) -> Iterable[bytes]:
    if cards:
        yield control_frame(Cards(tuple(cards)))
    if seals:
        yield control_frame(Seals(tuple(seals)))
    yield messages_header(len(bodies), size)
    yield from bodies
