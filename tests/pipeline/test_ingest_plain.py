"""Plain lines are read quickly, and what is read is what the long way reads."""

from __future__ import annotations

import itertools

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from orbweaver.pipeline.ingest.kinds import Options
from orbweaver.pipeline.ingest.lines import TracePlan, mark_lines
from orbweaver.pipeline.ingest.plain import find_plain
from orbweaver.pipeline.ingest.subscriptions import directed_edges, pairs, undirected_edges
from orbweaver.workload.dialect import SEPARATORS

CELLS = ("a", "b", "1.5", "x:y", "-", "@_.", "", " ", '"q"', '"', "a/b", "/", "#c", "é", "b\u2028")
SEPARATED = ("\t", ",", ";", " ", ":", ", ", "  ", "\t\t")
ENDS = ("", "\t", " ", ",c", "\t3 4", '\t"x', ";\ufffd", "\r", "\x00")
BROKEN = (b"a\t\xff", b"a\tb\t\xff", b"\xc3\tb", b"\xef\xbb\xbfa\tb")


@pytest.fixture(scope="module")
def lines(spark: SparkSession) -> DataFrame:
    """Every defect at every place of a line, beside lines without any."""
    parts = [
        *itertools.product(CELLS, SEPARATED, CELLS, [""]),
        *itertools.product(["a"], SEPARATED, ["b", ""], ENDS),
    ]
    texts = ["".join(some).encode() for some in parts]
    names = [f"{'n' * length}\tt".encode() for length in (255, 256)]
    rows = [(text,) for text in (*texts, *names, *BROKEN)]
    # As Spark reads a file: bytes that are called text, and may be no UTF-8.
    found = spark.createDataFrame(rows, "text binary").repartition(2)
    return found.select(F.lit("").alias("source"), F.col("text").cast("string"))


def plan(kind: str, lines: DataFrame, separator: str, named: str) -> TracePlan:
    marked = mark_lines(lines, (), "#%", separator)
    if kind == "pairs":
        return pairs(marked, Options(separator=named))
    if kind == "directed-edges":
        return directed_edges(marked, Options(direction="followed-first"))
    return undirected_edges(marked, Options())


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("directed-edges", "tab"),
        ("undirected-edges", "space"),
        ("pairs", "tab"),
        ("pairs", "comma"),
        ("pairs", "colon"),
    ],
)
def test_plain_lines_are_read_like_all_others(lines: DataFrame, kind: str, named: str) -> None:
    separator = SEPARATORS[named]
    quick, careful = (plan(kind, lines, one, named) for one in (separator, ""))
    some = mark_lines(lines, (), "#%", separator).filter("left IS NOT NULL").count()
    assert 15 < some < lines.count() // 2
    assertDataFrameEqual(quick.entries, careful.entries)
    assertDataFrameEqual(quick.tables["subscriptions"], careful.tables["subscriptions"])


@pytest.mark.parametrize(
    ("head", "separator", "comments", "expected"),
    [
        (["1 2", "3 4"], "", "#%", " "),
        (["a\tb", "a\tc\tx y", "z 1"], "", "#%", "\t"),
        (["a:b", "a:c"], "", "#%", ""),
        (["a:b", "a:c"], "colon", "#%", ":"),
        (["a,b"], "tab", "#%", ""),
        (["a,b"], "comma", "@", ""),
        (['"a","b"'], "comma", "#%", ""),
        ([], "", "", ""),
    ],
)
def test_the_head_shows_what_a_plain_line_is(
    head: list[str], separator: str, comments: str, expected: str
) -> None:
    assert find_plain(head, separator, comments) == expected
