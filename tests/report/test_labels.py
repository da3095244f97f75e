"""Names beside discs."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.report.labels import GAP, LETTER, Box, Spot, place_labels

FONT, WIDTH, HEIGHT = 10.0, 400.0, 200.0
SPOTS = st.lists(
    st.builds(
        Spot,
        st.sampled_from(["vitis", "spidercast", "a:LongName"]),
        st.floats(0, WIDTH),
        st.floats(0, HEIGHT),
        st.floats(3, 20),
    ),
    max_size=12,
)


def test_a_name_stands_at_the_right_if_there_is_room() -> None:
    (at,) = place_labels([Spot("a", 50, 60, 5)], [], FONT, WIDTH, HEIGHT)
    assert at == (50 + 5 + GAP, 60)


def test_at_the_edge_it_stands_at_the_left() -> None:
    (at,) = place_labels([Spot("abc", WIDTH - 2, 60, 5)], [], FONT, WIDTH, HEIGHT)
    assert at == (WIDTH - 2 - 5 - GAP - 3 * LETTER * FONT, 60)


def test_without_room_it_is_left_out() -> None:
    spot = Spot("abc", 50, 60, 5)
    assert place_labels([spot], [spot, Spot("", 50, 60, 500)], FONT, WIDTH, HEIGHT) == [None]


@settings(deadline=None, max_examples=50)
@given(SPOTS)
def test_no_name_lies_on_a_disc_or_another_name(spots: list[Spot]) -> None:
    placed = place_labels(spots, spots, FONT, WIDTH, HEIGHT)
    names = [
        Box(at[0], at[1] - 0.6 * FONT, at[0] + LETTER * FONT * len(spot.name), at[1] + 0.6 * FONT)
        for spot, at in zip(spots, placed, strict=True)
        if at is not None
    ]
    discs = [Box(x - r, y - r, x + r, y + r) for _, x, y, r in spots]
    assert not any(one.meets(other) for one, other in combinations(names, 2))
    assert not any(name.meets(disc) for name in names for disc in discs)


def test_a_disc_on_a_larger_one_has_its_name_beside_that() -> None:
    small, large = Spot("a", 50, 60, 5), Spot("b", 53, 60, 20)
    (at,) = place_labels([small], [small, large], FONT, WIDTH, HEIGHT)
    assert at is not None
    assert at[0] >= 53 + 20
