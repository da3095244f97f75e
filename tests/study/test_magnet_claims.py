"""Magnet's verdicts on made-up series, which hold and which fail; and its scenarios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from orbweaver.metrics.summary import MEANING
from orbweaver.study.judge import judge
from orbweaver.study.magnet import MAGNET
from orbweaver.study.magnet.powerlaw import ccdf_slope, likely_exponent
from orbweaver.study.magnet.scales import SCALES
from orbweaver.study.paper import NO_TRACES
from orbweaver.study.results import Stored
from orbweaver.study.run import Result, run_id
from orbweaver.workload.models.catalog import build, plan_of_law
from orbweaver.workload.scenario import Scenario

Metrics = dict[str, Any]


def ideal(one: Scenario) -> Metrics:
    """Metrics with which every claim holds, but for the drawn exponent of M6."""
    label, x = one.study.series.rsplit(", ", 1)[0], one.study.x or 0.0
    kind = label.split()[0]
    saving = {
        "modes": 0.8 - 0.1 * x,
        "rates": 0.9 - 0.1 * x,
        "exponents": 0.3 + 0.1 * x,
        "subscriptions": 0.2,
        "subscriptions,": 0.2,
        "lambda": 0.1 + 0.1 * x,
        "initFrac": 0.5 - 0.5 * x,
        "Z": 0.8 - 0.01 * x,
        "trace": 0.43,
        "uncorrelated": 0.01,
        "size": 0.8,
        "fingers": 0.8,
    }.get(kind)
    if kind == "spatial":
        saving = 0.5 + 0.01 * float(label.split()[1])
    assert saving is not None
    own = 1 - saving if one.overlay == "magnet" else 1.0
    hops = 5.0 if kind == "size" else 10 / x if x else 1.0
    told = {"relays_per_event": 10 * own, "delay_hops_mean": hops, "hit_ratio": 1.0}
    return dict.fromkeys(MEANING, 1.0) | told | {"relays_top_topics_share": 0.01}


Change = Callable[[Scenario, Metrics], Metrics]


def verdicts(claim: str, changed: Change = lambda one, metrics: metrics) -> list[bool]:
    """Return which checks of a claim hold when the ideal metrics are changed."""
    results = [
        Result(
            name="", study=one.study, overlay=one.overlay, params={}, nodes=1, topics=1, seed=seed,
            digest="", wall_seconds=0, events=0, complete=True, metrics=changed(one, ideal(one)),
            snapshots=[], degree_histogram={}, states={}, fingerprint="", version="",
        )
        for one, seed in MAGNET.jobs([claim], "quick", range(3))
    ]  # fmt: skip
    stored = [Stored("one", result) for result in results]
    return [one.reproduced for one in judge(MAGNET, [claim], "quick", stored).ledger.verdicts]


def cost(
    label: str, share: float, x: float | None = None
) -> Callable[[Scenario, Metrics], Metrics]:
    """Set Magnet's cost to a share of the strawman's, in one series or at one x of it."""

    def changed(one: Scenario, metrics: Metrics) -> Metrics:
        here = one.study.series == f"{label}, magnet" and x in (None, one.study.x)
        return metrics | ({"relays_per_event": 10 * share} if here else {})

    return changed


def metric(label: str, name: str, values: dict[float, float]) -> Change:
    def changed(one: Scenario, metrics: Metrics) -> Metrics:
        here = one.study.series == label and one.study.x in values
        return metrics | ({name: values[one.study.x or 0.0]} if here else {})

    return changed


@pytest.mark.parametrize("claim", [claim for claim in MAGNET.claims if claim != "M6"])
def test_the_ideal_holds(claim: str) -> None:
    assert all(verdicts(claim))


@pytest.mark.parametrize(
    ("claim", "changed", "fails"),
    [
        # below and slope at 0.1, below and slope at 0.2, best case, delivery
        ("M1", cost("modes 0.1", 1.01, 5), [0]),
        ("M1", cost("modes 0.2", 0.1, 5), [3]),
        ("M1", metric("modes 0.1, magnet", "hit_ratio", {1: 0.999}), [5]),
        ("M2", cost("rates 0.1", 0.9), [0]),
        ("M2", cost("rates 0.2", 0.9), [1]),
        # slope over the exponent, then below: exponents, sizes, sizes with rates
        ("M3", cost("exponents", 0.1, 0.0), [0]),
        ("M3", cost("exponents", 1.0, 1.5), [0, 1]),
        ("M3", cost("subscriptions", 1.2, 16), [2]),
        ("M3", cost("subscriptions, rates", 1.2, 4), [3]),
        ("M4", metric("rates 0.1, magnet", "relays_top_topics_share", {1: 0.05}), [0]),
        ("M4", metric("rates 0.2, magnet", "relays_top_topics_share", {5: 0.06}), [1]),
        # the strawman's share, and the share at other points, do not count
        ("M4", metric("rates 0.2, magnet-strawman", "relays_top_topics_share", {5: 0.9}), []),
        # rising at each of two N, then the band at the larger
        ("M5", cost("spatial 16", 0.1, 100), [0]),
        ("M5", cost("spatial 32", 0.36, 200), [1, 2]),
        ("M5", cost("spatial 32", 0.05, 200), [2]),
        ("M7", cost("trace wiki", 0.67), [0]),
        ("M7", cost("trace wiki", 0.47), [0]),
        ("M7", cost("trace github", 1.1), [2]),
        ("M8", cost("uncorrelated", 1.029), []),
        ("M8", cost("uncorrelated", 1.04, 0.0), [0]),
        # Magnet over N and over k, the strawman over N and over k
        ("M9", metric("size, magnet", "delay_hops_mean", {200: 20}), [0]),
        ("M9", metric("fingers, magnet", "delay_hops_mean", {14: 9}), [1]),
        ("M9", metric("size, magnet-strawman", "delay_hops_mean", {200: 20}), [2]),
    ],
)
def test_what_fails(claim: str, changed: Change, fails: list[int]) -> None:
    assert [i for i, held in enumerate(verdicts(claim, changed)) if not held] == fails


@pytest.mark.parametrize(
    ("label", "x", "fails"), [("lambda", 2.0, 0), ("initFrac", 0.1, 1), ("Z", 8.0, 2)]
)
def test_trends_of_the_hierarchical_model(label: str, x: float, fails: int) -> None:
    assert verdicts("M6")[:3] == [True] * 3
    held = verdicts("M6", cost(label, 0.95, x))[:3]
    assert held == [i != fails for i in range(3)]


def test_exponents_of_a_power_law_are_found() -> None:
    """Of 10^9 values by a density with the exponent 2.5, the CCDF has the exponent 1.5."""
    counts = {x: round(1e9 * ((x - 0.5) ** -1.5 - (x + 0.5) ** -1.5)) for x in range(5, 3000)}
    assert likely_exponent(counts) == pytest.approx(2.5, abs=0.02)
    steady = Counter({2**i: 2 ** (30 - 2 * i) - 2 ** (28 - 2 * i) for i in range(14)})
    steady[2**14] = 4
    assert ccdf_slope(steady) == pytest.approx(-2)


@pytest.mark.parametrize("scale", SCALES)
def test_every_workload_of_a_scale_can_be_drawn(scale: str) -> None:
    """Building a hierarchical model takes a second; the smallest are those that may not fit."""
    claims = [name for name, claim in MAGNET.claims.items() if not claim.traced]
    specs = dict.fromkeys(one.workload for one, _ in MAGNET.jobs(claims, scale, [0]))
    for spec in specs:
        plan = plan_of_law(spec.popularity, spec.nodes, spec.topics, spec.subscriptions_per_node)
        if scale == "quick" or plan.model != "hierarchical":
            build(plan, 0)


def test_magnet_and_the_strawman_meet_the_same() -> None:
    made = MAGNET.scenarios(MAGNET.experiments, "quick", NO_TRACES)
    for magnet, strawman in zip(made[::2], made[1::2], strict=True):
        assert (magnet.overlay, strawman.overlay) == ("magnet", "magnet-strawman")
        assert magnet.workload == strawman.workload
        assert magnet.publish == strawman.publish
        assert magnet.run == strawman.run
        told = {"rates"} if magnet.publish.events else set()
        assert magnet.params.keys() - strawman.params.keys() == told


def test_what_experiments_share_is_run_once() -> None:
    jobs = MAGNET.jobs(["M1", "M9"], "quick", [0])
    assert len({run_id(*job) for job in jobs}) == len(jobs) - 4
