"""Who is out, who is ahead, and what is a tie."""

from __future__ import annotations

import dataclasses
import math

import pytest

from orbweaver.study.advice.forecast import forecast
from orbweaver.study.advice.measures import estimate
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.ranking import (
    Contender,
    doubts,
    overall,
    rank,
    reasons,
    share,
    tied,
)
from orbweaver.study.advice.sentences import against

EASY = Question()


def contender(
    overlay: str,
    broken: tuple[str, ...] = (),
    sampled: bool = False,
    **values: float | tuple[float, ...],
) -> Contender:
    """Return an overlay with the same good values as all, but for those given: one number, or
    one for each of three runs."""
    usual: dict[str, float | tuple[float, ...]] = {
        "lost": 0.0, "links": (10.0, 10.1, 9.9), "links_max": 20.0, "relayed": 0.0, "relays": 0.0,
        "traffic": (2000.0, 2010.0, 1990.0), "delay_p50": 100.0, "delay_p95": (200.0, 201.0, 199.0),
        "busiest": (2.0, 2.01, 1.99),
    }  # fmt: skip
    runs = {
        name: value if isinstance(value, tuple) else (value,) * 3
        for name, value in (usual | values).items()
    }
    measures = {name: estimate(of_runs) for name, of_runs in runs.items()}
    return Contender(
        overlay, 100, {n: m for n, m in measures.items() if m is not None}, broken, None, sampled
    )


def test_an_overlay_that_breaks_its_promise_is_out_however_good_it_is() -> None:
    best = contender("best", broken=("noiseless: 3 copies",), links=1.0, traffic=1.0)
    ranking = rank([best, contender("other")], EASY)
    assert ranking.pick is not None
    assert ranking.pick.overlay == "other"
    assert ranking.out == {"best": ("breaks its promise, noiseless: 3 copies",)}


def test_loss_beyond_the_limit_is_a_reason_and_a_promise_is_not_told_besides() -> None:
    one = contender("one", broken=("total delivery: the hit ratio is 0.28",), lost=0.72)
    assert reasons(one, EASY) == ("72 % of the events lost",)
    assert reasons(contender("one", lost=0.01), EASY) == ()


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (Question(links_max=20), ()),
        (Question(links_max=19), ("20 links at its largest node",)),
        (
            Question(relays=False),
            ("nodes did not ask for 12 % of what they receive",),
        ),
    ],
)
def test_constraints(question: Question, why: tuple[str, ...]) -> None:
    assert reasons(contender("one", relays=2.0, relayed=0.12), question) == why


def test_the_worst_run_counts_for_the_links_of_the_largest_node() -> None:
    assert reasons(contender("one", links_max=(10.0, 10.0, 31.0)), Question(links_max=30))


def test_where_the_data_is_larger_than_the_samples_the_links_to_expect_count() -> None:
    points = [(100, 10.0), (100, 10.2), (200, 20.0), (200, 20.2), (400, 40.1)]
    ahead = forecast("one", "links_max", points, 4000)
    one = Contender("one", 400, contender("one").measures, links_max=ahead, sampled=True)
    (why,) = reasons(one, Question(links_max=100))
    assert why.endswith(" links at its largest node expected of 4,000 nodes")


def test_the_overlay_that_loses_least_comes_first_whatever_it_costs() -> None:
    cheap = contender("cheap", lost=(0.004, 0.005, 0.003), links=5.0, traffic=500.0)
    ranking = rank([cheap, contender("dear")], EASY)
    assert ranking.pick is not None
    assert ranking.pick.overlay == "dear"
    assert [one.overlay for one in ranking.lossy] == ["cheap"]
    assert ranking.decided_by == "lost"


def test_what_the_planner_cares_about_decides_before_all_four_together() -> None:
    few = contender("few", links=(5.0, 5.1, 4.9), traffic=(9000.0, 9100.0, 8900.0))
    light = contender("light", traffic=(1000.0, 1010.0, 990.0))
    for question, first in (
        (Question(care="links"), "few"),
        (Question(care="traffic"), "light"),
        (EASY, "light"),
    ):
        ranking = rank([few, light], question)
        assert ranking.pick is not None
        assert ranking.pick.overlay == first
    assert rank([few, light], Question(care="links")).decided_by == "links"


def test_runs_that_do_not_agree_leave_a_tie() -> None:
    one = contender("one", traffic=(1000.0, 3000.0, 2000.0))
    other = contender("other", traffic=(2500.0, 2000.0, 2200.0))
    assert tied(one, other, "traffic")
    ranking = rank([one, other], Question(care="traffic"))
    assert ranking.pick is not None
    assert len(ranking.ties) == 1
    assert list(doubts(ranking, [one, other], EASY)) == [ranking.pick.overlay]


def test_an_overlay_that_loses_nothing_is_ahead_of_one_whose_losses_vary() -> None:
    whole, lossy = contender("whole"), contender("lossy", lost=(0.001, 0.002, 0.015))
    assert not tied(whole, lossy, "lost")
    assert tied(contender("other", lost=(0.006, 0.009, 0.001)), lossy, "lost")


def test_differences_run_by_run_are_what_counts() -> None:
    """Samples differ much, and the overlays on each sample hardly."""
    one = contender("one", traffic=(1000.0, 2000.0, 3000.0))
    other = contender("other", traffic=(1200.0, 2210.0, 3190.0))
    assert not tied(one, other, "traffic")


def test_a_difference_too_small_to_choose_by_is_a_tie() -> None:
    one, other = contender("one", links=10.0), contender("other", links=10.4)
    assert tied(one, other, "links")
    assert not tied(one, contender("other", links=10.6), "links")


def test_a_single_run_tells_nothing_apart() -> None:
    assert tied(contender("one", links=(1.0,)), contender("other", links=(9.0,)), "links")


def test_nothing_is_suitable() -> None:
    ranking = rank([contender("one", lost=1.0)], EASY)
    assert ranking.pick is None
    assert ranking.out == {"one": ("100 % of the events lost",)}


def test_the_overall_ratio_is_the_mean_ratio_of_the_four() -> None:
    one, other = contender("one"), contender("other", links=(20.0, 20.2, 19.8))
    a, b = overall(one.measures), overall(other.measures)
    assert a is not None
    assert b is not None
    assert b.mean / a.mean == pytest.approx(2 ** (1 / 4))


def test_only_what_would_change_the_pick_is_a_doubt() -> None:
    pick = contender("pick")
    edge = (0.004, 0.011, 0.018)
    lossy = contender("lossy", lost=edge, links=1.0)
    ranking = rank([pick, lossy], EASY)
    assert "lossy" in ranking.out
    assert doubts(ranking, [pick, lossy], EASY) == {}, "it would lose more than the pick anyway"
    ranking = rank([lossy, contender("out", lost=0.9)], EASY)
    assert list(doubts(ranking, [lossy], EASY)) == ["lossy"]


def test_a_limit_of_links_cannot_be_told_from_small_samples_alone() -> None:
    pick = contender("pick", sampled=True)
    limit = Question(links_max=30)
    assert "cannot be told" in doubts(rank([pick], limit), [pick], limit)["pick"]
    whole = contender("pick")
    assert doubts(rank([whole], limit), [whole], limit) == {}


def test_links_may_grow_with_the_topics_that_samples_lack() -> None:
    for wider, told in ((1.0, False), (1.4, False), (1.6, True)):
        one = dataclasses.replace(contender("one"), wider=wider)
        limit = Question(links_max=30)
        found = doubts(rank([one], limit), [one], limit)
        assert ("times as many topics" in found.get("one", "")) == told
        assert doubts(rank([one], EASY), [one], EASY) == {}, "only a limit makes it matter"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.72, "72 %"), (0.004, "0.4 %"), (1e-6, "less than 0.01 %")],
)
def test_shares(value: float, text: str) -> None:
    assert share(value) == text


def test_a_forecast_follows_the_law_and_says_how_sure_it_is() -> None:
    exact = [(n, 2.0 + 3.0 * math.log(n)) for n in (100, 200, 400)]
    found = forecast("one", "links", exact, 10_000)
    assert found is not None
    assert found.law == "2 + 3 ln N"
    assert found.expected == pytest.approx(2 + 3 * math.log(10_000))
    assert found.low <= found.expected <= found.high
    power = forecast("one", "links", [(n, 2.0 * n**0.5) for n in (100, 200, 400)], 10_000)
    assert power is not None
    assert power.law == "2 N^0.5"
    assert power.expected == pytest.approx(200)


def test_a_forecast_reaches_over_both_laws_and_is_wider_where_runs_differ() -> None:
    def width(noise: float) -> float:
        points = [(n, 5 * n**0.5 + s * noise) for n in (100, 200, 400) for s in (-1, 0, 1)]
        found = forecast("one", "links", points, 10_000)
        assert found is not None
        assert found.low < 5 * 100 < found.high
        return found.high - found.low

    assert width(1.0) < width(5.0)


def test_a_forecast_does_not_fall_below_zero() -> None:
    found = forecast("one", "delay_p95", [(100, 90.0), (200, 50.0), (400, 10.0)], 100_000)
    assert found is not None
    assert found.law.endswith("N^-1.6")
    assert 0 < found.expected < 1
    assert found.low == 0


def test_too_little_for_a_forecast() -> None:
    assert forecast("one", "links", [(100, 1.0), (200, 2.0)], 1000) is None
    assert forecast("one", "links", [(100, 1.0)] * 5, 1000) is None


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "other does as well as pick in all that was measured."),
        ({"links": 20.0}, "other has 2.0 times the links."),
        ({"links": 5.0}, "other has 0.5 times the links."),
        ({"links": 5.0, "links_max": 60.0},
         "other has 0.5 times the links, but it has 3.0 times the links at its largest node."),
        ({"relays": 1.0, "relayed": 0.12},
         "With other, nodes did not ask for 12 % of what they receive."),
    ],
)  # fmt: skip
def test_an_overlay_against_the_pick(values: dict[str, float], text: str) -> None:
    assert against(contender("other", **values), contender("pick")) == text
