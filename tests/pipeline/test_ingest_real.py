"""Real traces give the counts that their sources publish."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.ingest_runs import counts, run
from tests.pipeline.real_traces import FOLDER, needs_traces

pytestmark = needs_traces

FOLLOWED_FIRST = {"direction": "followed-first"}

# (file, kind, options, rows of the first table, what was not used, facts)
TRACES: list[tuple[str, str, dict[str, str], int, dict[str, int], dict[str, Any]]] = [
    (
        "subscriptions/youtube_groupmemberships.txt.gz",
        "pairs",
        {},
        293_360,
        {},
        {
            "nodes": 94_238,
            "topics": 30_087,
            "subscriptions_per_node_max": 1_035,
            "nodes_per_topic_max": 7_591,
        },
    ),
    (
        "subscriptions/github_watch_2009_a.txt.gz",
        "pairs",
        {},
        226_116,
        {},
        {
            "nodes": 41_934,
            "topics": 75_752,
            "subscriptions_per_node_max": 485,
            "nodes_per_topic_max": 1_901,
        },
    ),
    (
        "subscriptions/deezer_HU_genres.csv.gz",
        "pairs",
        {},
        284_901,
        {"header": 1},
        {
            "nodes": 47_538,
            "topics": 84,
            "subscriptions_per_node_max": 42,
            "nodes_per_topic_max": 37_889,
        },
    ),
    (
        "subscriptions/citeulike_a_users.txt.gz",
        "lists",
        {},
        204_986,
        {},
        {"nodes": 5_551, "topics": 16_980, "subscriptions_per_node_max": 403},
    ),
    (
        "subscriptions/wikipedia_edits_jodie.txt.gz",
        "edits",
        {},
        18_257,
        {"further edit of the same page": 157_474 - 18_257},
        {
            "nodes": 8_227,
            "topics": 1_000,
            "nodes_per_topic_max": 256,
            "publications_span_ms": 2_678_373_000,
        },
    ),
    (
        "social/facebook_ego_snap.txt.gz",
        "undirected-edges",
        {},
        2 * 88_234,
        {"comment": 2},
        {"nodes": 4_039, "topics": 4_039, "subscriptions_per_node_max": 1_045},
    ),
    (
        "social/deezer_HU_edges.csv.gz",
        "undirected-edges",
        {},
        2 * 222_887,
        {"header": 1},
        {"nodes": 47_538, "subscriptions_per_node_max": 112},
    ),
    (
        "social/twitter_ego_snap_undirected.txt.gz",
        "undirected-edges",
        {},
        2 * 1_342_296,
        {"self-loop": 14},
        {"nodes": 81_306, "subscriptions_per_node_max": 3_383},
    ),
    (
        "social/twitter_followers_bofa_careers.csv.gz",
        "directed-edges",
        FOLLOWED_FIRST,
        68_328,
        {"header": 1},
        {"nodes_per_topic_max": 3_469, "subscriptions_per_node_max": 567},
    ),
    (
        "churn/google2011_machine_events.csv.gz",
        "machine-events",
        {},
        21_443 + 8_957,
        {"UPDATE event": 7_380},
        {"nodes": 12_583, "joins": 21_443, "leaves": 8_957, "joins_at_zero": 12_477},
    ),
    (
        "latency/planetlab490_rtt_t01.txt.gz",
        "latency-matrix",
        {},
        240_100 - 490,
        {"cell on the diagonal": 490},
        {"nodes": 490, "pairs_asymmetric": 0},
    ),
    (
        "latency/seattle99_rtt_t001.txt.gz",
        "latency-matrix",
        {"unit": "s"},
        9_801 - 99 - 65,
        {"cell on the diagonal": 99, "missing cell": 65},
        {"nodes": 99},
    ),
    (
        "latency/oversim_coords_2d_15000.xml.gz",
        "coordinates-xml",
        {},
        15_000,
        {},
        {"nodes": 15_000},
    ),
    (
        "topology/as_caida20071105.txt.gz",
        "as-graph",
        {},
        106_762,
        # One line of the header lost its '#'.
        {"comment": 8, "unknown relationship": 1},
        {
            "systems": 26_475,
            "customer": 49_180,
            "provider": 49_180,
            "peer": 7_952,
            "sibling": 450,
            "one_way_rows": 0,
        },
    ),
]


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: Path(trace[0]).name)
def test_published_counts(spark: SparkSession, tmp_path: Path, trace: Any) -> None:
    file, kind, options, size, not_used, facts = trace
    report, _ = run(spark, tmp_path, kind, FOLDER / file, **options)
    assert next(iter(report.tables.values())) == size
    assert counts(report) == not_used
    assert facts.items() <= report.facts.items()
    assert report.hints == []


def test_a_wrong_direction_or_unit_is_pointed_out(spark: SparkSession, tmp_path: Path) -> None:
    edges = FOLDER / "social/twitter_followers_hersheycareers.csv.gz"
    report, tables = run(spark, tmp_path, "directed-edges", edges, direction="follower-first")
    assert report.tables["subscriptions"] == 23_939
    assert len({name for pair in tables["subscriptions"] for name in pair}) == 3_726
    assert "--direction followed-first" in report.hints[0]
    matrix = FOLDER / "latency/seattle99_rtt_t001.txt.gz"
    (tmp_path / "again").mkdir()
    report, _ = run(spark, tmp_path / "again", "latency-matrix", matrix)
    assert "is --unit right" in report.hints[0]
    assert report.facts["pairs_asymmetric"] > 3_000


def test_sessions_of_peers(spark: SparkSession, tmp_path: Path) -> None:
    file = FOLDER / "churn/p2p_livestream_sessions_2020_06_01.csv.gz"
    report, tables = run(spark, tmp_path, "sessions", file)
    assert counts(report) == {"header": 1}
    assert report.facts["nodes"] == report.facts["joins"] == report.facts["leaves"] == 7_100
    churn = tables["churn"]
    assert churn[0][0] == 0
    assert churn == sorted(churn)
    change = Counter[int]()
    for time_ms, _, kind in churn:
        change[time_ms] += 1 if kind == "join" else -1
    assert max(accumulate(change[time] for time in sorted(change))) == 805
    joined = {node: time for time, node, kind in churn if kind == "join"}
    lengths = [time - joined[node] for time, node, kind in churn if kind == "leave"]
    assert round(median(lengths) / 1000) == 648


@pytest.mark.slow
def test_a_whole_campus(spark: SparkSession, tmp_path: Path) -> None:
    file = FOLDER / "social/facebook100_Cornell5.csv.gz"
    report, _ = run(spark, tmp_path, "undirected-edges", file)
    assert report.tables["subscriptions"] == 2 * 790_777
    assert report.facts["nodes"] == 18_660
    assert report.facts["subscriptions_per_node_max"] == 3_156
