"""Popularity laws: probabilities, the most popular topic first."""

import math
from itertools import pairwise

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.workload.popularity import weights

LAWS = ["uniform", "zipf:0", "zipf:0.5", "zipf:2.5", "rss", "nyse", "exponential:0.9"]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("topics", [1, 2, 9, 10, 100, 1234])
def test_probabilities_that_never_rise(law: str, topics: int) -> None:
    found = weights(law, topics)
    assert len(found) == topics
    assert math.fsum(found) == pytest.approx(1, abs=1e-12)
    assert all(a >= b > 0 for a, b in pairwise(found))


@pytest.mark.parametrize(
    ("law", "share"),
    [
        ("nyse", 0.55),
        ("exponential:0.2", 0.2),
        ("exponential:0.55", 0.55),
        ("exponential:0.9", 0.9),
    ],
)
@pytest.mark.parametrize("topics", [10, 100, 1000, 6000])
def test_the_top_tenth_holds_its_share(law: str, share: float, topics: int) -> None:
    assert math.fsum(weights(law, topics)[: topics // 10]) == pytest.approx(share, abs=1e-6)


def test_exponential_falls_by_a_constant_factor() -> None:
    found = weights("nyse", 50)
    ratios = [b / a for a, b in pairwise(found)]
    assert ratios == pytest.approx([ratios[0]] * 49)
    assert ratios[0] < 1


@pytest.mark.parametrize(("law", "exponent"), [("zipf:0.5", 0.5), ("zipf:1", 1), ("zipf:2", 2)])
def test_zipf_falls_with_the_power_of_the_rank(law: str, exponent: float) -> None:
    found = weights(law, 40)
    assert [found[0] / w for w in found] == pytest.approx([rank**exponent for rank in range(1, 41)])


def test_names_for_measured_laws() -> None:
    assert weights("rss", 30) == weights("zipf:0.5", 30)
    assert weights("nyse", 30) == weights("exponential:0.55", 30)
    assert weights("uniform", 4) == [0.25] * 4


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("zip:1", "unknown popularity 'zip:1': did you mean 'zipf:A'"),
        ("unifrom", "did you mean 'uniform'"),
        ("?", "known: buckets:GROUPS:TAKEN, exponential:S, hierarchical:"),
        ("spatail", "did you mean 'spatial'"),
        ("", "unknown popularity ''"),
        ("uniform:3", "unknown popularity 'uniform:3'"),
        ("nyse:0.4", "unknown popularity 'nyse:0.4'"),
        ("zipf", "needs a number from 0 to 100"),
        ("zipf:", "needs a number from 0 to 100"),
        ("zipf:x", "needs a number from 0 to 100"),
        ("zipf:-1", "needs a number from 0 to 100"),
        ("zipf:nan", "needs a number from 0 to 100"),
        ("zipf:inf", "needs a number from 0 to 100"),
        ("exponential:0.05", "needs a number from 0.1 to 0.999"),
        ("exponential:1", "needs a number from 0.1 to 0.999"),
    ],
)
def test_a_bad_law_is_explained(law: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        weights(law, 10)
    assert message in str(error.value)
