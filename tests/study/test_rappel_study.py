"""Rappel's evaluation: what its nodes are asked, and what its verdicts hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Overlay
from orbweaver.overlays.rappel import Rappel
from orbweaver.report.ledger import draw
from orbweaver.study.claims import Verdict, gather
from orbweaver.study.judge import judge
from orbweaver.study.paper import Figure
from orbweaver.study.rappel import RAPPEL
from orbweaver.study.rappel import verdicts as rappel_verdicts
from orbweaver.study.rappel.locality import best_cover
from orbweaver.study.rappel.nodes import Nodes, overlap_ratio
from orbweaver.study.results import Stored
from orbweaver.study.run import Result, run_scenario
from orbweaver.workload.scenario import Scenario, WorkloadSpec
from orbweaver.workload.scenario_files import build_scenario

Course = list[dict[str, Any]]


def result(study: Any, course: Course, metrics: Mapping[str, Any]) -> Result:
    return Result(
        name="", study=study, overlay="", params={}, nodes=1, topics=1, seed=0, digest="",
        wall_seconds=0, events=0, complete=True, metrics=dict(metrics), snapshots=[],
        degree_histogram={}, states={}, fingerprint="", version="", course=course,
    )  # fmt: skip


IDEAL = {
    "delay_ms_p50": 100.0, "delay_ms_p95": 400.0, "stretch_p50": 2.5, "path_stretch_p50": 1.15,
    "path_stretch_p95": 1.25, "covered": 0.91, "overlapping": 0.85,
    "overlapping_many": 0.85, "overlap_ratio": 1.3,
    "delay_ms_max": 45_000.0, "delay_prompt": 0.85, "covered_many": 0.95,
    "requests": {"0": 9.0, "1": 4.0, "2": 2.0, "3": 1.0},
    "at_height": {"0": 1, "1": 5, "2": 25, "3": 99},
}  # fmt: skip
METRICS = {
    "hit_ratio": 1.0, "delay_ms_max": 40_000, "delay_ms_p50": 100.0, "covered": 0.95, "users": 300,
    "relays_per_event": 0.0, "load_correlation": 0.9, "load_per_second_p50": 1.5,
    "load_per_second_each": 0.2,
}  # fmt: skip
METRICS_OF = {
    "crowd scribe": {"relays_per_event": 4.0, "delay_ms_p50": 90.0},
    "friends scribe": {"load_correlation": 0.1},
}
SERIES: dict[str, dict[str, Any]] = {
    "friends interest": {"overlapping": 0.4},
    "friends four": {"covered_many": 0.73},
}


def verdicts(claim: str, series: str = "", minute: int = -1, **changed: Any) -> list[Verdict]:
    """Judge runs that are as the paper says, with something changed in one series, at one minute or
    at all."""
    stored = []
    for one, _ in RAPPEL.jobs([claim], "quick", [0]):
        label = one.study.series
        here = changed if label == series else {}
        course = []
        for at in range(10, 81, 10):
            there = here if minute in (-1, at) else {}
            churn = {"delay_ms_p50": 264.0} if label == "churn" and at > 40 else {}
            known = IDEAL | SERIES.get(label, {}) | churn
            course.append({"time_ms": at * 60_000, **known, **there})
        metrics = METRICS | METRICS_OF.get(label, {}) | here
        stored.append(Stored("one", result(one.study, course, metrics)))
    return judge(RAPPEL, [claim], "quick", stored).ledger.verdicts


@pytest.mark.parametrize("claim", RAPPEL.claims)
def test_the_papers_own_numbers_reproduce(claim: str) -> None:
    assert [v.what for v in verdicts(claim) if not v.reproduced] == []


@pytest.mark.parametrize(
    ("claim", "series", "minute", "changed", "fails"),
    [
        ("R3", "tree", -1, {"delay_ms_p50": 210.0}, 1),
        ("R3", "tree", -1, {"delay_ms_p95": 1001.0}, 1),
        ("R3", "tree", 40, {"path_stretch_p50": 1.33}, 1),
        ("R3", "tree", 40, {"path_stretch_p95": 1.7, "stretch_p50": 1.3}, 0),  # not counted
        ("R3", "tree", 50, {"delay_ms_p50": 201.0}, 1),  # after the crash
        ("R3", "tree", 50, {"delay_ms_p95": 9000.0}, 0),  # which is what the crash does
        ("R3", "tree", 60, {"delay_ms_p95": 801.0}, 1),  # but not for long
        ("R3", "tree", 80, {"delay_ms_p95": 801.0}, 1),  # after the return
        ("R4", "churn", -1, {"delay_ms_p50": 264.0}, 1),  # before churn as well
        ("R4", "churn", 70, {"delay_ms_p50": 600.0}, 0),  # for a short time
        ("R4", "churn", 40, {"delay_prompt": 0.1}, 0),  # before churn
        ("R4", "churn", -1, {"delay_prompt": 0.69}, 1),
        ("R4", "churn", 50, {"delay_ms_max": 95_000.0}, 1),
        ("R4", "churn", -1, {"delay_ms_max": 20_000.0}, 1),
        ("R5", "friends both", 80, {"covered": 0.85}, 1),
        ("R5", "friends both", 80, {"covered": 0.97}, 1),
        ("R5", "friends both", 70, {"covered": 0.5}, 0),
        ("R6", "friends both", 80, {"overlapping": 0.8}, 1),
        ("R6", "friends interest", 80, {"overlapping": 0.85}, 1),
        ("R6", "friends both", 80, {"overlapping_many": 0.5}, 0),  # not counted
        ("R7", "friends four", 80, {"covered_many": 0.84}, 1),
        ("R7", "friends four", 80, {"covered_many": 0.62}, 1),
        ("R8", "crowd rappel", -1, {"relays_per_event": 0.01}, 1),
        ("R8", "friends both", -1, {"relays_per_event": 0.01}, 1),
        ("R8", "crowd scribe", -1, {"relays_per_event": 0.0}, 1),
        ("R8", "crowd scribe", -1, {"delay_ms_p50": 110.0}, 1),
        ("R8", "friends scribe", -1, {"load_correlation": 0.95}, 1),
        ("R9", "still", -1, {"requests": {"0": 1.0, "1": 2.0, "2": 4.0, "3": 8.0}}, 2),
        ("R9", "still", -1, {"requests": {"0": 9.0, "1": 9.0, "2": 2.0, "3": 1.0}}, 2),
        ("R10", "churn", -1, {"load_per_second_p50": 4.1}, 1),
        ("R10", "friends both", -1, {"load_per_second_p50": 4.1}, 1),
        ("R10", "friends both", -1, {"load_per_second_each": 0.07}, 1),
        ("R10", "friends both", -1, {"load_per_second_each": 0.9}, 1),
        ("R13", "tree", -1, {"hit_ratio": 0.99999}, 1),
    ],
)
def test_each_deviation_is_told(
    claim: str, series: str, minute: int, changed: dict[str, Any], fails: int
) -> None:
    found = verdicts(claim, series, minute, **changed)
    assert sum(not v.reproduced and not v.uncounted for v in found) == fails


def test_requests_that_double_with_the_subscribers_are_told() -> None:
    stored = []
    for one, _ in RAPPEL.jobs(["R9"], "quick", [0]):
        times = 1.0 if one.study.x == 250 else 2.1
        requests = {height: times * n for height, n in IDEAL["requests"].items()}  # type: ignore[attr-defined]
        course = [{"time_ms": 600_000, **IDEAL, "requests": requests}]
        stored.append(Stored("one", result(one.study, course, {})))
    found = judge(RAPPEL, ["R9"], "quick", stored).ledger.verdicts
    assert [v.reproduced for v in found] == [True, True, False]


def test_a_filter_of_another_size_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rappel_verdicts, "may_hold", lambda bloom, topic: False)
    assert [v.reproduced for v in verdicts("R2")] == [False] * 3


def small(**parts: Any) -> Result:
    base = {
        "overlay": "rappel",
        "workload": {"nodes": 40, "topics": 4, "subscriptions_per_node": "1:3"},
        "publish": {"by": "publisher", "every_ms": 1000},
        "latency": {"model": "uniform", "low_ms": 20, "high_ms": 20},
        "run": {"warmup_ms": 60_000, "duration_ms": 90_000, "snapshots_ms": [30_000, 90_000]},
    }
    return run_scenario(build_scenario(base | parts, "test"), 1).result


def test_the_nodes_are_asked_at_each_snapshot() -> None:
    course = small().course
    assert [look["time_ms"] for look in course] == [30_000, 60_000, 90_000]
    last = course[-1]
    assert last["covered"] == last["covered_many"] == 1
    assert last["overlap_ratio"] >= 1
    assert last["path_stretch_p50"] >= 1, "coordinates obey the triangle inequality"
    assert last["delay_ms_p50"] >= 20
    assert last["stretch_p50"] == last["delay_ms_p50"] / 20
    assert sum(last["at_height"].values()) > 40
    assert course[0]["delay_ms_p50"] is None, "nothing was published by then"
    assert sum(course[0]["requests"].values()) > 0
    assert 0 < last["overlapping"] <= 1
    assert 0 < last["overlapping_many"] <= 1


def test_a_run_without_snapshots_has_no_course() -> None:
    assert small(run={"warmup_ms": 1000, "duration_ms": 2000}).course == []


class Place(msgspec.Struct):
    trees: dict[str, Any]
    friends: Any


class Tree(msgspec.Struct):
    parent: NodeId | None = None
    children: dict[NodeId, None] = {}


class Holds(msgspec.Struct):
    friends: dict[NodeId, None]


def test_a_neighbour_in_two_roles_counts_twice() -> None:
    tree = Tree(NodeId(1), {NodeId(2): None, NodeId(3): None})
    node: Any = Place({"a": tree, "b": Tree(NodeId(2))}, Holds({NodeId(1): None, NodeId(4): None}))
    assert overlap_ratio(node) == 6 / 4
    assert overlap_ratio(Place({}, Holds({}))) == 0  # type: ignore[arg-type]


def test_nobody_up_is_nothing_known() -> None:
    none: list[Overlay] = []
    assert Nodes()(none)["requests"] == {}
    assert Rappel.name == "rappel"


def test_a_figure_over_time_is_drawn_in_minutes() -> None:
    figure = Figure("f", "a caption", "minutes", "share", "covered", ("friends both",),
                    over_time=True)  # fmt: skip
    course = [{"time_ms": at * 600_000, "covered": at / 10} for at in range(3)]
    (job,) = RAPPEL.jobs(["R5"], "quick", [0])
    series = gather([result(job[0].study, course, {})])
    assert series["friends both"].over_time("covered") == {0.0: [0.0], 10.0: [0.1], 20.0: [0.2]}
    assert series["friends both"].over_time("overlapping") == {}
    assert "'title': 'minutes'" in str(draw(figure, ["friends both"], series))


@pytest.mark.parametrize(
    ("others", "friends", "share"),
    [
        (["abc", "de", "f"], 1, 0.5),
        (["abc", "de", "f"], 2, 5 / 6),
        (["abc", "de", "f"], 3, 1.0),
        (["abc", "abd", "ef"], 2, 5 / 6),  # what is covered already does not count again
        (["xyz"], 3, 0.0),
    ],
)
def test_best_friends_are_chosen_greedily(others: list[str], friends: int, share: float) -> None:
    of_feed: dict[str, list[int]] = {}
    for user, feeds in enumerate(["abcdef", *others]):
        for feed in feeds:
            of_feed.setdefault(feed, []).append(user)
    assert best_cover(0, "abcdef", of_feed, friends) == pytest.approx(share)


def test_locality_is_of_users_of_enough_feeds(tmp_path: Path) -> None:
    table = tmp_path / "feeds.csv"
    users = {"one": "abc", "two": "abx", "three": "cyz", "few": "ab"}
    rows = [f"{user},{feed}" for user, feeds in users.items() for feed in feeds]
    table.write_text("\n".join(["node,topic", *rows, ""]))
    scenario = Scenario(
        overlay="interest-locality",
        params={"feeds_min": 3, "friends": 2},
        workload=WorkloadSpec(file=str(table)),
    )
    found = run_scenario(scenario, 1).result.metrics
    assert (found["users"], found["users_in_trace"]) == (3, 3)
    assert found["covered"] == pytest.approx(1 / 3), "x, y and z are wanted by one user each"
    assert found["coverage_mean"] == pytest.approx((1 + 2 / 3 + 1 / 3) / 3)
