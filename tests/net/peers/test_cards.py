from __future__ import annotations

import msgspec
import pytest

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.cards import AHEAD_MS, AddressBook, Card, check_card, make_card

ME = Identity.generate()


def card(port: int = 1000, version: int = 1, identity: Identity = ME) -> Card:
    return make_card(identity, "127.0.0.1", port, False, version)


def test_a_card_is_of_the_node_that_signed_it():
    assert check_card(card()) == ME.node
    assert card().address == "127.0.0.1:1000"
    assert make_card(ME, "::1", 5, False, 1).address == "[::1]:5"


@pytest.mark.parametrize(
    "change",
    [
        {"host": "10.0.0.1"}, {"port": 2}, {"version": 9}, {"udp": True}, {"signature": b""},
        {"key": Identity(bytes(32)).public_key}, {"key": b"short"}, {"port": 0}, {"port": 1 << 16},
        {"host": ""}, {"host": "x" * 300},
    ],
    ids=str,
)  # fmt: skip
def test_a_changed_card_is_refused(change):
    with pytest.raises(ProtocolError):
        check_card(msgspec.structs.replace(card(), **change))


def test_the_newer_card_stays():
    book = AddressBook(10, lambda: ())
    book.learn(card(port=1, version=5))
    book.learn(card(port=2, version=4))
    assert book.get(ME.node).port == 1
    book.learn(card(port=3, version=6))
    assert book.get(ME.node).port == 3


def test_a_false_card_changes_nothing():
    book = AddressBook(10, lambda: ())
    book.learn(card(port=1))
    with pytest.raises(ProtocolError):
        book.learn(msgspec.structs.replace(card(port=1, version=9), port=2))
    assert book.get(ME.node).port == 1


def test_who_tells_of_many_does_not_push_out_those_of_others():
    book = AddressBook(50, lambda: ())
    honest = [Identity.generate() for _ in range(10)]
    for identity in honest:
        book.learn(card(identity=identity), NodeId(1))
    for _ in range(200):
        book.learn(card(identity=Identity.generate()), NodeId(2))
        book.learn(card(identity=Identity.generate()))
    assert len(book) == 50
    assert all(identity.node in book for identity in honest)
    assert sum(map(len, book._told.values())) == len(book._source) == 50


def test_a_source_of_which_nothing_is_left_is_forgotten():
    book = AddressBook(3, lambda: ())
    for source in range(100):
        book.learn(card(identity=Identity.generate()), NodeId(source))
    assert len(book._told) == 3


def test_a_book_full_of_neighbours_grows():
    nodes = [Identity.generate() for _ in range(5)]
    book = AddressBook(3, lambda: [identity.node for identity in nodes])
    for identity in nodes:
        book.learn(card(identity=identity))
    assert len(book) == 5


def test_the_book_is_bounded_and_keeps_neighbours():
    nodes = [Identity.generate() for _ in range(20)]
    book = AddressBook(5, lambda: [nodes[0].node])
    for identity in nodes:
        book.learn(card(identity=identity))
        book.get(nodes[1].node)  # asked for all the time
    assert len(book) == 5
    assert nodes[0].node in book
    assert nodes[1].node in book
    assert nodes[-1].node in book
    assert nodes[2].node not in book


NOW = 1_000_000_000
FAST = NOW + AHEAD_MS + 1
"""The version of a card from a clock that is ahead."""


def test_a_card_from_a_fast_clock_does_not_stay_the_newest():
    book = AddressBook(10, lambda: (), lambda: NOW)
    book.learn(card(port=1, version=FAST))
    assert book.get(ME.node).port == 1, "nothing better is known"
    book.learn(card(port=2, version=NOW))
    assert book.get(ME.node).port == 2
    book.learn(card(port=1, version=FAST))
    book.learn(card(port=3, version=FAST + 1))
    assert book.get(ME.node).port == 2
    book.learn(card(port=4, version=FAST - 1))
    assert book.get(ME.node).port == 4, "within the difference that clocks may have"


@pytest.mark.parametrize("before", [NOW + 1, FAST])
@pytest.mark.parametrize("version", [NOW, FAST])
def test_a_card_that_its_node_shows_replaces_any(before, version):
    book = AddressBook(10, lambda: (), lambda: NOW)
    book.learn(card(port=1, version=before))
    book.learn(card(port=2, version=version), shown=True)
    assert book.get(ME.node).port == 2
    with pytest.raises(ProtocolError):
        book.learn(msgspec.structs.replace(card(port=2, version=NOW), port=3), shown=True)
