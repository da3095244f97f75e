"""The circle of identifiers: distances on it, and where nodes and topics stand."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.identifiers import HALF, PLACE_OF_NODE, PLACE_OF_TOPIC, SPACE, Places, distance
from orbweaver.core.ids import NodeId

PLACE = st.integers(0, SPACE - 1)
NODES = [NodeId(n) for n in range(400)]


@given(PLACE, PLACE, PLACE)
def test_distance_is_one(a: int, b: int, c: int) -> None:
    assert distance(a, b) == distance(b, a) <= HALF
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)


def test_places_are_spread_evenly() -> None:
    shares = [PLACE_OF_NODE[node] / SPACE for node in NODES]
    assert fmean(shares) == pytest.approx(0.5, abs=0.05)
    assert len({int(10 * share) for share in shares}) == 10
    assert PLACE_OF_TOPIC["news"] != PLACE_OF_TOPIC["news/sport"]


def test_names_that_peers_make_up_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Places, "SIZE_MAX", 100)
    places: Places[str] = Places("topic")
    found = [places[f"topic {n}"] for n in range(250)]
    assert len(places) <= 100
    assert [places[f"topic {n}"] for n in range(250)] == found
