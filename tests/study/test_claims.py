"""The verdicts: what makes a claim reproduced, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from orbweaver.study.claims import gather, rank_correlation, series_name
from orbweaver.study.run import Result
from orbweaver.study.spidercast import SPIDERCAST
from orbweaver.study.spidercast.paper import DIAMETERS, TABLE_12

SIZES = (1000, 2000)
JUDGED = ("S1", "S2", "S3", "S5", "S14")
DEGREES = {
    **{label: degrees[:2] for label, degrees in TABLE_12.items()},
    "uniform": (11.2, 10.5),
    "zipf:1": (9.7, 9.1),
    "nyse": (7.7, 7.4),
    "ring-per-topic": (16.3, 16.3),
}


def result(label: str, size: int, seed: int, **metrics: Any) -> Result:
    at = SIZES.index(size)
    ideal = {
        "degree_mean": DEGREES[label][at],
        "topics": 100,
        "components": 100 + (50 * (at + 1) if label.startswith(("sim", "ran")) else 0),
        "diameter_max": DIAMETERS.get(label, 6),
    }
    return Result(
        name=series_name(label, size), overlay=label, params={}, nodes=size, topics=100,
        seed=seed, digest="", wall_seconds=0, events=0, complete=True, metrics=ideal | metrics,
        snapshots=[], degree_histogram={}, states={}, fingerprint="", version="",
    )  # fmt: skip


def verdicts(**changed: Any) -> dict[str, bool]:
    """Of ideal results, with the metrics of one setting changed at one size."""
    label, size = changed.pop("label", ""), changed.pop("size", 2000)
    results = [
        result(one, n, seed, **(changed if (one, n) == (label, size) else {}))
        for one in DEGREES
        for n in SIZES
        for seed in range(3)
    ]
    found: dict[str, bool] = {}
    for verdict in SPIDERCAST.judge(JUDGED, gather(results)):
        found[verdict.claim] = found.get(verdict.claim, True) and verdict.reproduced
    return found


def test_the_papers_own_numbers_reproduce() -> None:
    assert verdicts() == {"S1": True, "S2": True, "S3": True, "S5": True, "S14": True}


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        ({"label": "spidercast", "degree_mean": 10.11 * 1.09}, "S1"),
        ({"label": "spidercast", "degree_mean": 10.9}, "S1"),  # within 8 %, but not falling
        ({"label": "spidercast", "components": 101}, "S2"),
        ({"label": "similarity(10,0)", "degree_mean": 11.0}, "S3"),
        ({"label": "random(10)", "components": 100}, "S3"),
        ({"label": "similarity(20,0)", "components": 140}, "S3"),  # does not grow
        ({"label": "nyse", "degree_mean": 9.5}, "S5"),  # out of order
        ({"label": "zipf:1", "components": 101}, "S5"),
        ({"label": "uniform", "diameter_max": 8}, "S5"),
        ({"label": "ring-per-topic", "degree_mean": 13.0}, "S14"),
    ],
)
def test_each_deviation_is_told(change: dict[str, Any], claim: str) -> None:
    assert verdicts(**change)[claim] is False


@pytest.mark.parametrize("scale", SPIDERCAST.scales)
def test_every_run_has_a_name_of_its_own(scale: str) -> None:
    jobs = SPIDERCAST.jobs(list(SPIDERCAST.claims), scale, [0])
    assert len({one.name for one, _ in jobs}) == len(jobs)


@pytest.mark.parametrize("claim", SPIDERCAST.claims)
def test_a_claim_finds_what_it_needs(claim: str) -> None:
    """Judging with made-up metrics touches every series that it looks up."""
    looks = dict.fromkeys(("components", "topics", "partitioned_topics", "degree_mean"), 1.0)
    numbers = looks | dict.fromkeys(
        ("degree_max", "diameter_max", "tdi", "control_messages_per_join"), 1.0
    )
    results = [
        Result(
            name=one.name, overlay="", params={}, nodes=1, topics=1, seed=0, digest="",
            wall_seconds=0, events=0, complete=True, metrics=numbers, snapshots=[looks],
            degree_histogram={}, states={"kr": {0: 1}}, fingerprint="", version="",
        )
        for one, _ in SPIDERCAST.jobs([claim], "quick", [0])
    ]  # fmt: skip
    verdicts = SPIDERCAST.judge([claim], gather(results))
    assert verdicts
    assert {verdict.claim for verdict in verdicts} == {claim}


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3, 4], [9, 7, 5, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
