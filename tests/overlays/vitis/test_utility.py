"""The utility of friends (equation 1), and the rates that it is weighted by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.messages import Notice, Pulled
from orbweaver.gossip.rates import HALVED_AFTER, TOPICS_MAX, SeenRates, make_rates
from orbweaver.gossip.similarity import overlap, weighted
from orbweaver.overlays.vitis import Vitis
from tests.overlays.vitis.vitis_node import TABLE, node


def test_utility_of_the_papers_example() -> None:
    p, q, r = (TABLE.interest(topics) for topics in ("ABC", "CD", "CDEFGH"))
    assert overlap(p, q) == 0.25
    assert overlap(p, r) == 0.125
    assert overlap(q, r) == pytest.approx(1 / 3)


INTEREST = st.sets(st.sampled_from("ABCDEFGH")).map(TABLE.interest)


@given(INTEREST, INTEREST)
def test_equal_rates_are_no_rates(a: Any, b: Any) -> None:
    rates = make_rates("zipf:0", TABLE)
    assert rates is not None
    assert weighted(a, b, TABLE, rates) == pytest.approx(overlap(a, b))


def test_a_topic_without_events_does_not_count() -> None:
    a, b, c = (TABLE.interest(topics) for topics in ("AC", "AB", "BC"))
    rates = dict.fromkeys("ABC", 1.0) | {"C": 0.0}
    assert weighted(a, b, TABLE, rates) == 0.5
    assert weighted(a, c, TABLE, rates) == 0.0


def test_rates_that_are_seen_fade() -> None:
    rates = SeenRates()
    for _ in range(100):
        rates.saw("A")
    rates.saw("B")
    for _ in range(HALVED_AFTER):
        rates.step()
    assert dict(rates) == {"A": pytest.approx(6.0)}
    for n in range(2 * TOPICS_MAX):
        rates.saw(f"of strangers {n}")
    assert len(rates) <= TOPICS_MAX


def test_rates_that_are_seen_grow_with_the_events() -> None:
    vitis, _ = node(Vitis, rates="estimated")
    for _ in range(10):
        vitis.publish("A", b"")
    assert vitis.rates["A"] == pytest.approx(2 * vitis.rates["B"])


def test_an_event_that_was_pulled_is_seen_once() -> None:
    vitis, _ = node(Vitis, rates="estimated")
    event = Event("A", NodeId(9), 0, 0)
    pulled = Pulled(event, 1, 0)
    vitis.receive(NodeId(2), pulled)
    assert dict(vitis.rates) == {}, "it was not asked for"
    vitis.receive(NodeId(2), Notice((NodeId(9), 0, "A", 0)))
    for _ in range(2):
        vitis.receive(NodeId(2), pulled)
        assert dict(vitis.rates) == {"A": pytest.approx(1.1)}


@pytest.mark.parametrize("text", ["zipf", "zipf:x", "zipf:-1", "power:1", ""])
def test_bad_rates(text: str) -> None:
    with pytest.raises(UsageError, match="should be uniform, estimated or zipf:A"):
        make_rates(text, TABLE)
