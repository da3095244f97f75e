"""Every kind on a small text with every defect: what is written, and what is counted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from orbweaver.pipeline import schemas
from orbweaver.pipeline.ingest.kinds import KINDS
from tests.pipeline.ingest_runs import counts, run

SCHEMAS = {
    "subscriptions": schemas.SUBSCRIPTIONS,
    "publications": schemas.PUBLICATIONS,
    "churn": schemas.CHURN,
    "latency": schemas.LATENCY,
    "coordinates": schemas.COORDINATES,
    "topology": schemas.TOPOLOGY,
    "rejected": schemas.REJECTED,
}


@dataclasses.dataclass
class Case:
    kind: str
    text: str
    tables: dict[str, list[tuple[Any, ...]]]
    counts: dict[str, int]
    rejected: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)


EDGES = """\
# who follows whom
% and another comment

source,target
ann,bob\r
ann \t bob
bob\tann
  cat   ann   2009-01-01
ann ann
"dan","ann"
"dan,eve
eve
eve,,ann
eve a//b
"""
EDGE_COUNTS = {
    "comment": 2,
    "blank line": 1,
    "header": 1,
    "self-loop": 1,
    "too few fields": 1,
    "empty field": 1,
    "topic name that cannot be used": 1,
    "quote that is not closed": 1,
}
EDGE_REJECTED = [
    ('"dan,eve', "quote that is not closed"),
    ("eve", "too few fields"),
    ("eve a//b", "topic name that cannot be used"),
    ("eve,,ann", "empty field"),
]

CASES = [
    Case(
        "directed-edges",
        EDGES,
        {"subscriptions": [("ann", "bob"), ("bob", "ann"), ("cat", "ann"), ("dan", "ann")]},
        EDGE_COUNTS | {"duplicate": 1},
        EDGE_REJECTED,
        {"direction": "follower-first"},
        {"nodes": 4, "topics": 2, "nodes_per_topic_max": 3, "subscriptions_per_node_max": 1},
    ),
    Case(
        "directed-edges",
        EDGES.replace("eve a//b\n", ""),
        {"subscriptions": [("ann", "bob"), ("ann", "cat"), ("ann", "dan"), ("bob", "ann")]},
        {n: c for n, c in EDGE_COUNTS.items() if "topic" not in n} | {"duplicate": 1},
        [r for r in EDGE_REJECTED if "a//b" not in r[0]],
        {"direction": "followed-first"},
    ),
    Case(
        "undirected-edges",
        EDGES,
        {
            "subscriptions": [
                ("ann", "bob"),
                ("ann", "cat"),
                ("ann", "dan"),
                ("bob", "ann"),
                ("cat", "ann"),
                ("dan", "ann"),
            ]
        },
        EDGE_COUNTS | {"duplicate": 2},
        EDGE_REJECTED,
    ),
    Case(
        "pairs",
        'user,genre\r\n1,Rap/Hip Hop\r\n1,"Soul, Funk"\r\n2, Rock \r\n2,Rock,5 stars\r\n\r\n'
        '3,\r\n,Rock\r\n4\r\n5,"say ""hi"""\r\n6,"never closed\r\n7,/x\r\n1,1\r\n',
        {
            "subscriptions": [
                ("1", "1"),
                ("1", "Rap/Hip Hop"),
                ("1", "Soul, Funk"),
                ("2", "Rock"),
                ("5", 'say "hi"'),
            ]
        },
        {
            "header": 1,
            "blank line": 1,
            "duplicate": 1,
            "empty field": 2,
            "too few fields": 1,
            "quote that is not closed": 1,
            "topic name that cannot be used": 1,
        },
        [
            (",Rock", "empty field"),
            ("3,", "empty field"),
            ("4", "too few fields"),
            ('6,"never closed', "quote that is not closed"),
            ("7,/x", "topic name that cannot be used"),
        ],
    ),
    Case(
        "lists",
        "# count items\n2 a b\n\n0\n3 a a c\nmany a\n2 a\n1 //\n1 last\n",
        {
            "subscriptions": [
                ("0", "a"),
                ("0", "b"),
                ("2", "a"),
                ("2", "c"),
                ("6", "last"),
            ]
        },
        {
            "comment": 1,
            "blank line": 1,
            "duplicate": 1,
            "count that does not match": 2,
            "topic name that cannot be used": 1,
        },
        [
            ("1 //", "topic name that cannot be used"),
            ("2 a", "count that does not match"),
            ("many a", "count that does not match"),
        ],
    ),
    Case(
        "edits",
        "user page seconds\nu1 p1 100\nu1 p1 101.5\nu2 p1 100\n# x\n\nu1 p2 soon\nu1 p2\n"
        "u3 p2 1e300\nu2 p1 100\n",
        {
            "subscriptions": [("u1", "p1"), ("u2", "p1")],
            "publications": [
                (0, "u1", "p1"),
                (0, "u2", "p1"),
                (0, "u2", "p1"),
                (1500, "u1", "p1"),
            ],
        },
        {
            "header": 1,
            "comment": 1,
            "blank line": 1,
            "further edit of the same page": 2,
            "time that is not a number": 1,
            "too few fields": 1,
            "time out of range": 1,
        },
        [
            ("u1 p2", "too few fields"),
            ("u1 p2 soon", "time that is not a number"),
            ("u3 p2 1e300", "time out of range"),
        ],
    ),
    Case(
        "machine-events",
        "0,m1,0,plat,0.5,0.2\n0,m2,0,plat,,\n\n5000,m1,2,plat,0.5,0.2\n7000,m1,1\n7001,m1,1\n"
        "9000,m1,0\n9500,m1,0\n10100,m2,1\n10900,m2,0\n11000,m3,1\nnow,m4,0\n1,m4,7\n1,,0\n-4,m4,0\n"
        "9223372036854775807,m4,1\n1,m4\n",
        {"churn": [(0, "m1", "join"), (0, "m2", "join"), (7, "m1", "leave"), (9, "m1", "join")]},
        {
            "blank line": 1,
            "UPDATE event": 1,
            "leave of a node that is down": 2,
            "join of a node that is up": 1,
            "restart within a millisecond": 2,
            "time that is not a number": 1,
            "unknown event": 1,
            "empty field": 1,
            "time out of range": 2,
            "too few fields": 1,
        },
        [
            ("-4,m4,0", "time out of range"),
            ("1,,0", "empty field"),
            ("1,m4", "too few fields"),
            ("1,m4,7", "unknown event"),
            ("9223372036854775807,m4,1", "time out of range"),
            ("now,m4,0", "time that is not a number"),
        ],
        facts={"joins": 3, "leaves": 1, "joins_at_zero": 2},
    ),
    Case(
        "sessions",
        "peer,join_ts,leave_ts,n_links\n"
        "a,2020-06-01T00:00:00.500000,2020-06-01T00:00:02,3\n"
        "b,2020-06-01 02:00:01+02:00,2020-06-01T00:00:01Z,1\n"
        "a,2020-06-01T00:00:02,2020-06-01T00:00:03\n"
        "a,2020-06-01T00:00:05,2020-06-01T00:00:06\n"
        "c,2020-06-01T00:00:05,2020-06-01T00:00:04\n"
        "d,yesterday,2020-06-01T00:00:04\nd,2020-13-01T00:00:00,2020-06-01T00:00:04\ne,2020\n",
        {
            "churn": [
                (0, "a", "join"),
                (500, "b", "join"),
                (500, "b", "leave"),
                (2500, "a", "leave"),
                (4500, "a", "join"),
                (5500, "a", "leave"),
            ]
        },
        {
            "header": 1,
            "session that touches another of its node": 1,
            "end before start": 1,
            "time that is not ISO 8601": 2,
            "too few fields": 1,
        },
        [
            ("c,2020-06-01T00:00:05,2020-06-01T00:00:04", "end before start"),
            ("d,2020-13-01T00:00:00,2020-06-01T00:00:04", "time that is not ISO 8601"),
            ("d,yesterday,2020-06-01T00:00:04", "time that is not ISO 8601"),
            ("e,2020", "too few fields"),
        ],
    ),
    Case(
        "availability",
        "node start end state\nn1 10 20 up\nn1 20 30 down\nn1 30 40.25\nn1 35 36\nn2 5 x\n"
        "n2 9 5\nn2 1 2 broken\n",
        {
            "churn": [
                (10000, "n1", "join"),
                (20000, "n1", "leave"),
                (30000, "n1", "join"),
                (40250, "n1", "leave"),
            ]
        },
        {
            "header": 1,
            "interval of being down": 1,
            "session that touches another of its node": 1,
            "time that is not a number": 1,
            "end before start": 1,
            "unknown state": 1,
        },
        [
            ("n2 1 2 broken", "unknown state"),
            ("n2 5 x", "time that is not a number"),
            ("n2 9 5", "end before start"),
        ],
        {"origin": "zero"},
    ),
    Case(
        "latency-matrix",
        "# seconds\n0\t0.2 0.4 -1\n\n0.2,0,nan,0\n0.6 x 9 0.1\n1 2\n",
        {
            "latency": [
                ("0", "1", 100.0),
                ("0", "2", 200.0),
                ("1", "0", 100.0),
                ("2", "0", 300.0),
                ("2", "3", 50.0),
            ]
        },
        {
            "comment": 1,
            "blank line": 1,
            "missing cell": 3,
            "cell on the diagonal": 3,
            "not a number": 1,
            "wrong number of cells": 1,
        },
        [("1 2", "wrong number of cells"), ("row 2 column 1 x", "not a number")],
        {"unit": "s"},
        {"nodes": 3, "pairs_both_ways": 2, "pairs_asymmetric": 1, "share_off_by_a_tenth": 0.5},
    ),
    Case(
        "latency-matrix",
        "0,3000,\n,0,2000,\n1000,-,5,\n",
        {"latency": [("0", "1", 3.0), ("1", "2", 2.0), ("2", "0", 1.0)]},
        {"missing cell": 3, "cell on the diagonal": 3},
        options={"unit": "us", "delay": "one-way"},
    ),
    Case(
        "latency-matrix",
        "0,1e400\n1,0\n",
        {"latency": [("1", "0", 1.0)]},
        {"cell on the diagonal": 2, "number out of range": 1},
        [("row 0 column 1 1e400", "number out of range")],
        {"delay": "one-way"},
    ),
    Case(
        "coordinates",
        "node,x,y\n10,1.5,-2\n2,0,1e1\nn,1,2,3\n2,0,11\nm,1\no,east,2\np,-1e400,0\nq,0,1e16\n",
        {"coordinates": [("n", 1.0, 2.0), ("2", 0.0, 10.0), ("10", 1.5, -2.0)]},
        {
            "header": 1,
            "duplicate": 1,
            "too few fields": 1,
            "not a number": 1,
            "number out of range": 2,
        },
        [
            ("m,1", "too few fields"),
            ("o,east,2", "not a number"),
            ("p,-1e400,0", "number out of range"),
            ("q,0,1e16", "number out of range"),
        ],
    ),
    Case(
        "coordinates-xml",
        '<nodelist dimensions="2" rootnodes="1">\n<!-- <node><coord>9</coord></node> -->\n'
        '<node isroot="1">\n\t<coord> -24.5 </coord>\n\t<coord>1</coord>\n</node>\n'
        "<node><coord>1</coord></node>\n<node><coord>1</coord><coord>2</coord>\n"
        '<node ip="a"><coord>x</coord><coord>2</coord></node><node ip="b"><coord>3</coord>'
        "<coord>4</coord></node></nodelist>\n",
        {"coordinates": [("0", -24.5, 1.0), ("4", 3.0, 4.0)]},
        {"other than two coordinates": 1, "node that is not closed": 1, "not a number": 1},
        [
            ("<node><coord>1</coord></node>", "other than two coordinates"),
            ("<node><coord>1</coord><coord>2</coord>", "node that is not closed"),
            ('<node ip="a"><coord>x</coord><coord>2</coord></node>', "not a number"),
        ],
    ),
    Case(
        "as-graph",
        "# FromNodeId ToNodeId Relationship\r\n1\t2\t-1\r\n2\t1\t1\r\n2\t3\t0\r\n1\t2\t-1\r\n"
        "           -1 (<From> is a customer\r\n3 4 9\r\n3 3 0\r\n4|5|-1\r\na b 2\r\n",
        {"topology": [("1", "2", "customer"), ("2", "1", "provider"), ("2", "3", "peer")]},
        {
            "comment": 1,
            "duplicate": 1,
            "unknown relationship": 2,
            "self-loop": 1,
            "too few fields": 1,
            "not a number": 1,
        },
        [
            ("           -1 (<From> is a customer", "unknown relationship"),
            ("3 4 9", "unknown relationship"),
            ("4|5|-1", "too few fields"),
            ("a b 2", "not a number"),
        ],
        facts={"systems": 3, "customer": 1, "one_way_rows": 1},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_kind(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    file = tmp_path / "trace.txt"
    file.write_bytes(case.text.encode())
    report, found = run(spark, tmp_path, case.kind, file, **case.options)
    rejected = found.pop("rejected")
    assert found == case.tables
    assert counts(report) == case.counts
    assert sorted(rejected) == sorted(("trace.txt", *row) for row in case.rejected)
    assert case.facts.items() <= report.facts.items()
    left_out = (report.skipped, report.dropped, report.rejected)
    assert report.entries == report.used + sum(sum(part.values()) for part in left_out)
    assert set(report.tables) == {*KINDS[case.kind].yields, "rejected"}
    for name in report.tables:
        written = spark.read.parquet(str(tmp_path / "out" / name)).schema
        declared = SCHEMAS[name]
        assert [(f.name, f.dataType) for f in written] == [(f.name, f.dataType) for f in declared]


def test_every_kind_has_a_case() -> None:
    assert {case.kind for case in CASES} == set(KINDS)
