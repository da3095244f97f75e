"""OMen's verdicts on made-up results, and the runs they need that are not simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from orbweaver.core.topics import TopicTable
from orbweaver.study.claims import Verdict
from orbweaver.study.judge import judge
from orbweaver.study.omen import OMEN
from orbweaver.study.omen.experiments import GROUP_MS, ROUND_MS, WARMUP_MS
from orbweaver.study.omen.groups import mended_ms
from orbweaver.study.omen.verdicts import growth, played
from orbweaver.study.results import Results, Stored
from orbweaver.study.run import Result, run_scenario
from orbweaver.workload.scenario import (
    ChurnSpec,
    LinksSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    StudySpec,
    WorkloadSpec,
)

OF_OTHERS = 3.0
"""Degrees of SpiderCast over OMen's, in ideal results."""


def ideal(label: str, x: float) -> dict[str, Any]:
    """Return metrics that are as the paper has them."""
    greedy = label.endswith("greedy")
    few = {"uniform": 0.429, "Zipf": 0.898, "exponential": 0.952}
    size = {1: 21.0, 3: 40.5, 5: 48.4, 9: 57.6}.get(int(x), 40.0)
    spider = "spidercast" in label
    return {
        "backups_mean": 22.0 if greedy else 56.0,
        "in_degree_mean": 22.0 if greedy else 56.0,
        "in_degree_min": 0.0 if greedy else 21.0,
        "in_degree_max": 581.0 if greedy else 59.0,
        "in_degree_few": next((few[law] for law in few if law in label), 0.0),
        "view_mean": size,
        "views_small": 0.96,
        "views_short": 0.974,
        "degree_max": {0: 333.0, 1: 313.0, 5: 283.0, 9: 274.0}.get(int(x), 300.0)
        if "coverage" in label
        else 84.0
        if greedy
        else 30.0,
        "diameter_max": 6.0 if spider else 9.67,
        "diameter_mean": 4.0 if spider else 5.45,
        "repair_ms_omen": 5.0,
        "repair_share_omen_g": 0.0467,
        "repair_share_lowoda": 0.002,
        "repair_share_lowoda_fast": 0.3,
    }


def looks(label: str, larger: bool) -> list[dict[str, Any]]:
    """Return snapshots of an overlay that does as the paper says."""
    if label.startswith("groups"):
        return [
            {"time_ms": WARMUP_MS + since, "partitioned_topics": int(since < 6000)}
            for since in range(500, GROUP_MS // 2, 500)
        ]
    spider = "spidercast" in label
    rate = 0.5 if label.endswith("greedy") else 0.02 if larger else 0.04
    scale = (6 if larger else 4) if spider else 1
    return [
        {
            "time_ms": WARMUP_MS + i * ROUND_MS,
            "degree_max": scale * (30 + rate * i) if label[:6] != "lowoda" else 30,
            "degree_mean": 5.0 * scale - (label[:6] == "lowoda"),
            "nodes_up": 100 - i % 2,
            # Nodes of 1 to 10 subscriptions come and go.
            "subscriptions": 1000 - (i % 2) * (1 + i // 2 % 10),
            "build_messages": sum((1 + j // 2 % 10) * (9 if spider else 3) for j in range(i)),
        }
        for i in range(21)
    ]


def course(label: str) -> list[dict[str, Any]]:
    """Return what such an overlay's nodes say at each of these snapshots."""
    count = len(looks(label, False))
    return [{"views_max": 6 - i % 3, "omen-report": i} for i in range(count)]


def verdicts(claim: str, label: str = "", scale: str = "quick", **changed: Any) -> list[Verdict]:
    """Judge ideal results, with metrics, course or snapshots of one series changed."""
    stored = verdict_results(claim, label, scale, **changed)
    return judge(OMEN, [claim], scale, stored).ledger.verdicts


def verdict_results(
    claim: str, label: str = "", scale: str = "quick", **changed: Any
) -> list[Stored]:
    stored = []
    smaller = OMEN.scales[scale].sampled[0]
    for one, seed in OMEN.jobs([claim], scale, [0, 1, 2]):
        series, x = one.study.series, float(one.study.x or 0)
        here = changed if series == label else {}
        stored.append(
            Stored(
                "one",
                Result(
                    name="", study=one.study, overlay=one.overlay, params={}, nodes=1, topics=1,
                    seed=seed, digest="", wall_seconds=0, events=0, complete=True,
                    metrics=ideal(series, x) | here.get("metrics", {}),
                    snapshots=[look | here.get("looks", {}) for look in looks(series, x > smaller)],
                    degree_histogram={}, states={},
                    course=here.get("course", course(series)),
                    fingerprint="", version="",
                ),
            )
        )  # fmt: skip
    return stored


@pytest.mark.parametrize("scale", OMEN.scales)
@pytest.mark.parametrize("claim", OMEN.claims)
def test_the_papers_own_numbers_reproduce(claim: str, scale: str) -> None:
    assert [v.what for v in verdicts(claim, scale=scale) if not v.reproduced] == []


@pytest.mark.parametrize("claim", ["O3", "O5", "O6", "O7", "O8", "O10"])
def test_a_line_says_if_its_runs_are_replayed(claim: str) -> None:
    full, quick = (
        [v for v in verdicts(claim, scale=scale) if not v.uncounted] for scale in ("full", "quick")
    )
    assert all("replayed" in v.what for v in full)
    assert not any("replayed" in v.what for v in quick)


FB, TW = "omen FB, rho 3", "omen TW, rho 3"


@pytest.mark.parametrize(
    ("claim", "label", "changed", "fails"),
    [
        ("O1", "backups uniform, primal-dual", {"metrics": {"in_degree_min": 0}}, 1),
        ("O1", "backups uniform, primal-dual", {"metrics": {"in_degree_max": 225}}, 1),
        ("O1", "backups uniform, greedy", {"metrics": {"in_degree_few": 0.39}}, 1),
        ("O1", "backups uniform, greedy", {"metrics": {"in_degree_max": 220}}, 1),
        ("O2", "backups Zipf, greedy", {"metrics": {"in_degree_few": 0.81}}, 1),
        ("O2", "backups exponential, greedy", {"metrics": {"in_degree_few": 0.86}}, 1),
        ("O3", "OMen-G greedy", {"looks": {"degree_max": 30}}, 2),
        ("O3", "OMen-G greedy", {"looks": {"degree_max": 84}}, 1),
        ("O4", "views FB", {"metrics": {"view_mean": 28.0}}, 4),
        ("O4", "views FB", {"metrics": {"views_small": 0.95}}, 1),
        ("O4", "views FB", {"metrics": {"views_short": 0.96}}, 1),
        ("O5", "OMen FB, coverage", {"metrics": {"degree_max": 300}}, 2),
        ("O6", FB, {"looks": {"degree_max": 40}}, 1),
        ("O6", FB, {"looks": {"degree_mean": 5.3}}, 1),
        ("O7", FB, {"looks": {"degree_max": 30}}, 2),
        ("O8", "spidercast (3,1) FB", {"looks": {"degree_mean": 10}}, 1),
        ("O8", "spidercast (4,0) FB", {"looks": {"degree_max": 60}}, 1),
        ("O9", "repairs FB", {"metrics": {"repair_share_omen_g": 0.5}}, 1),
        ("O9", "repairs FB", {"metrics": {"repair_share_lowoda": 0.0001}}, 1),
        ("O10", TW, {"metrics": {"diameter_max": 12.0}}, 1),
        ("O10", TW, {"metrics": {"diameter_mean": 7.5}}, 1),
        ("O11", "messages of omen TW, oracle", {"looks": {"build_messages": 7}}, 1),
        ("O11", "messages of spidercast (3,1) TW, oracle", {"looks": {"build_messages": 7}}, 2),
        ("O12", "groups, coverage 1", {"looks": {"partitioned_topics": 1}}, 1),
        ("O13", "groups, coverage 5", {"course": [{"views_max": 7}, {"views_max": 6}]}, 1),
    ],
)
def test_each_deviation_is_told(
    claim: str, label: str, changed: dict[str, Any], fails: int
) -> None:
    counted = [v for v in verdicts(claim, label, **changed) if not v.uncounted]
    assert sum(not v.reproduced for v in counted) == fails


def test_rounds_after_the_end_of_the_trace_do_not_count() -> None:
    result = verdict_results("O7")[0].result
    looks = result.snapshots
    later = [looks[-1] | {"time_ms": looks[-1]["time_ms"] + i * ROUND_MS} for i in range(1, 30)]
    assert played(replace(result, snapshots=[*looks, *later])) == looks
    assert growth([replace(result, snapshots=[*looks, *later])]) == growth([result])


def test_what_a_coordinator_asks_is_taken_off_in_one_reading() -> None:
    """The ideal overlay sends one report in each round."""
    ours = [v.ours for v in verdicts("O11")][:2]
    assert [float(told.rpartition(" ")[2]) for told in ours] == pytest.approx([16, 15], abs=1)


def test_a_topic_that_is_cut_again_is_not_mended() -> None:
    assert mended_ms([(500, 3), (1000, 0), (1500, 1), (2000, 0), (2500, 0)]) == 2000
    assert mended_ms([(500, 0), (1000, 0)]) == 500
    assert mended_ms([(500, 1), (1000, 1)]) == GROUP_MS // 2


SMALL = WorkloadSpec(nodes=40, topics=20, subscriptions_per_node="powerlaw:2:8:2")


def test_a_procedure_has_an_identity_and_a_place_in_the_store() -> None:
    pytest.importorskip("numba")
    one = Scenario(overlay="omen-backups", workload=SMALL, study=StudySpec(series="b", x=40.0))
    kept = Results([Stored("any", run_scenario(one, 1).result)])
    typed = replace(one, params={"coverage": 3})
    assert kept.missing([(one, 1), (typed, 1)]) == []
    assert kept.missing([(replace(one, params={"coverage": 1}), 1)])
    again = run_scenario(one, 1).result
    assert again.metrics == kept.of([(one, 1)])[0].result.metrics
    assert run_scenario(one, 2).result.metrics != again.metrics


def test_backup_sets_cover_and_serve() -> None:
    pytest.importorskip("numba")
    one = Scenario(overlay="omen-backups", workload=SMALL, params={"rho": 3})
    found = run_scenario(one, 0).result
    assert found.metrics["in_degree_mean"] == pytest.approx(found.metrics["backups_mean"])
    assert sum(found.degree_histogram.values()) == 40
    assert found.metrics["view_mean"] > found.metrics["backups_mean"], "neighbours count too"


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """A churn table: five machines are up when it begins, and four changes follow."""
    rows = [f"0,m{i},join" for i in range(5)]
    rows += ["900000,m1,leave", "900001,m3,leave", "5000000,m1,join", "9000000,m0,leave"]
    path = tmp_path / "churn.csv"
    path.write_text("\n".join(["time,node,kind", *rows]))
    return path


@pytest.mark.parametrize("overlay", ["lowoda-re", "lowoda-inc", "omen-replay", "omen"])
def test_baselines_meet_the_rounds_that_overlays_meet(overlay: str, machines: Path) -> None:
    pytest.importorskip("numba")
    scenario = Scenario(
        overlay=overlay,
        params={"membership": "full", "contacts_are_links": True} if overlay == "omen" else {},
        workload=WorkloadSpec(nodes=5, topics=3, subscriptions_per_node="2", popularity="uniform"),
        links=LinksSpec(design="lowoda") if overlay == "omen" else LinksSpec(),
        churn=ChurnSpec(
            model="file", file=str(machines), nodes="in order", skip_ms=1, start_ms=8000,
            every_ms=9000, down="crash",
        ),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(
            warmup_ms=8000, duration_ms=54_000, contacts=0,
            snapshots_ms=tuple(8000 + 9000 * i - 1 for i in range(2, 6)),
        ),
    )  # fmt: skip
    found = run_scenario(scenario, 3).result
    assert [look["nodes_up"] for look in found.snapshots] == [5, 4, 3, 4, 3]
    assert [look["partitioned_topics"] for look in found.snapshots] == [0] * 5


def test_parts_mend_what_a_node_held_together_and_link_up_those_that_join() -> None:
    """Whatever held the topics together before node 0 leaves, only one link for each is right
    afterwards, and it joins with one link for each."""
    pytest.importorskip("numba")
    from orbweaver.study.omen.mending import Mended, MendingParams

    of_node = [("a", "b"), ("a",), ("a",), ("b",), ("b",)]
    params = MendingParams(coverage=0)
    topics = TopicTable(["a", "b"])
    up = dict.fromkeys(range(5))
    mended = Mended(of_node, topics, up, params, 0)
    del up[0]
    mended.leave(0, up)
    assert sorted(mended.links(up)) == [(1, 2), (3, 4)]
    up[0] = None
    mended.join(0, up)
    partners = [b for a, b in mended.links(up) if a == 0]
    assert len(partners) == 2, "one for each topic, also with a coverage of 0"
    assert {of_node[peer] for peer in partners} == {("a",), ("b",)}


def test_incremental_design_keeps_the_links_of_those_that_stay(machines: Path) -> None:
    pytest.importorskip("numba")
    from orbweaver.design.rules import Rule
    from orbweaver.study.omen.replay import plan

    of_node = [("a", "b"), ("a",), ("b", "c"), ("c", "a"), ("c",)]
    before = plan(of_node, dict.fromkeys(range(5)), (), Rule("lowoda"), 0)
    after = plan(of_node, dict.fromkeys([0, 2, 3, 4]), before, Rule("lowoda"), 0)
    assert {link for link in before if 1 not in link} <= set(after)
    assert all(1 not in link for link in after)
