"""How often an address is tried at which nobody was found."""

from __future__ import annotations

from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.cards import Card, make_card
from orbweaver.net.peers.dials import ADDRESS, EVERYWHERE, HOST, KNOWN_MAX, Doubts

NODES = [Identity.generate() for _ in range(3)]


def card(host: str = "10.0.0.1", port: int = 7, node: int = 0) -> Card:
    return make_card(NODES[node], host, port, False, 1)


def failures(doubts: Doubts, cards: list[Card], now: float) -> int:
    """Calls that were made, of as many as there are cards; all fail."""
    return sum(doubts.may_call(tried, now) for tried in cards)


def test_an_address_is_tried_a_few_times_and_then_seldom() -> None:
    doubts = Doubts()
    # Whoever is said to be there.
    assert failures(doubts, [card(node=n % 3) for n in range(1000)], 0.0) == ADDRESS[1]
    assert failures(doubts, [card()] * 1000, 1000.0) == ADDRESS[1]
    assert failures(doubts, [card()] * 1000, 1061.0) == 2
    assert doubts.may_call(card(port=8), 1061.0)


def test_all_the_ports_of_a_host_together() -> None:
    doubts = Doubts()
    assert failures(doubts, [card(port=n) for n in range(1, 1000)], 0.0) == HOST[1]
    assert not doubts.may_call(card(port=5000), 0.0)
    assert doubts.may_call(card("10.0.0.2"), 0.0)


def test_all_hosts_together_and_what_is_remembered_of_them() -> None:
    doubts = Doubts()
    cards = [card(f"10.0.{n // 250}.{n % 250}") for n in range(2 * KNOWN_MAX)]
    assert failures(doubts, cards, 0.0) == EVERYWHERE[1]
    for second in range(1, 600):
        failures(doubts, cards[20 * second % len(cards) :][:30], float(second))
    assert len(doubts._addresses) <= KNOWN_MAX
    assert len(doubts._hosts) <= KNOWN_MAX


def test_who_was_found_somewhere_is_called_there_whatever_else_is_said() -> None:
    doubts = Doubts()
    doubts.found(card(), 0.0)
    failures(doubts, [card(node=1)] * 1000, 0.0)
    assert doubts.may_call(card(), 0.0)
    assert not doubts.may_call(card(node=1), 0.0)
    assert not doubts.was_found(card(port=8)), "it says that it has moved"
    for _ in range(2 * KNOWN_MAX):
        doubts.found(card(), 0.0)
    assert len(doubts._found) == 1


def test_calls_that_succeed_cost_nothing() -> None:
    doubts = Doubts()
    for port in range(1, 1000):
        assert doubts.may_call(card(port=port), 0.0)
        doubts.found(card(port=port), 0.0)
    assert failures(doubts, [card(node=1)] * 1000, 0.0) == ADDRESS[1]
