"""Headers, separators and columns are told by a look at the first lines."""

from __future__ import annotations

import re

import pytest

from orbweaver.pipeline.ingest.kinds import KINDS
from orbweaver.pipeline.ingest.peek import ANY_SEPARATOR
from orbweaver.workload.dialect import find_separator, judge_header


@pytest.mark.parametrize(
    ("kind", "lines", "expected"),
    [
        ("directed-edges", ["src,trg", "1,2"], True),
        ("directed-edges", ["node_1,node_2"], True),
        ("directed-edges", ["FromNodeId\tToNodeId", "1\t2"], True),
        ("directed-edges", ['"source","target"', "a,b"], True),
        # Unknown words above numbers.
        ("directed-edges", ["u v", "1 2", "3 4"], True),
        ("directed-edges", ["u v", "1 2", "three 4"], True),
        ("directed-edges", ["u v", "one 2", "three four"], False),
        ("directed-edges", ["a b", "b c"], False),
        ("directed-edges", ["a b"], False),
        ("directed-edges", ["1 2", "3 4"], False),
        ("directed-edges", ["user"], False),
        ("directed-edges", [], False),
        ("machine-events", ["timestamp,machine ID,event type,platform", "0,5,0,x"], True),
        ("machine-events", ["0,5,0,x"], False),
        ("edits", ["user_id item_id timestamp", "1 2 3"], True),
        ("coordinates", ["node,x,y"], True),
        ("latency-matrix", ["NA 1 2", "1 NA 2"], False),
        ("latency-matrix", ["a b c", "0 1 2"], True),
        ("lists", ["3 a b c"], False),
    ],
)
def test_headers_of_every_kind(kind: str, lines: list[str], expected: bool) -> None:
    known = KINDS[kind]
    rows = [re.split(ANY_SEPARATOR, line.replace('"', "")) for line in lines]
    assert judge_header(rows, range(known.cells), known.numeric).there is expected


@pytest.mark.parametrize(
    ("lines", "expected", "why"),
    [
        (["user_id,vroot", "10001,1000", "10001,1001"], True, "'user_id' stands above numbers"),
        (["user_id,vroot", "ann,/news", "bob,/sport"], True, "words name columns"),
        (["vroot,user_id", "/news,ann"], True, "words name columns"),
        (["node,item", "n1,film 7", "n2,film 9"], True, "words name columns"),
        (["who,what,stars", "ann,jaws,5", "bob,alien,4"], True, "'stars' stands above numbers"),
        (["who,what", "ann,jaws", "bob,alien"], False, "nothing sets it apart"),
        (["ann,jaws,5", "bob,alien,4"], False, "nothing sets it apart"),
        (["who,what", "7,jaws", "9,alien", "x,heat"], False, "nothing sets it apart"),
        (["node1,node2", "node1,node3", "node7,node2"], False, "'node1' is written as"),
        (["node1,topic", "node2,topic"], False, "'node1' is written as"),
        (["user,item", "ann,item"], False, "'item' is written as"),
        (["1,item", "2,film"], False, "'1' is a number"),
        (["1,item", "ann,film"], False, "'1' is a number"),
        (["user,channel", *(f"u{n},c1" for n in range(10))], True, "'user' stands above values"),
        (["user,channel", *(f"u{n},c1" for n in range(9))], False, "nothing sets it apart"),
        (["v3,c1", *(f"u{n},c1" for n in range(10))], False, "'c1' is written as"),
        (["user", "1,2"], False, "too few cells"),
        (["nan,nan", "1,2"], False, "nothing sets it apart"),
    ],
)
def test_the_values_below_tell_a_header_from_data(
    lines: list[str], expected: bool, why: str
) -> None:
    header = judge_header([line.split(",") for line in lines], (0, 1))
    assert header.there is expected
    assert why in header.why


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["1\t2", "1\t3"], "tab"),
        (["1,Rap/Hip Hop", "2,Rock"], "comma"),
        (["1;2"], "semicolon"),
        (["1:1", "2:2"], "colon"),
        (["1 \t 2", "1  3"], "space"),
        (["u1 http://x", "u2 http://y"], "space"),
        (['"Doe, Jane";news', '"Roe, Ann";sport', "Al;news"], "semicolon"),
        # A bad line does not decide.
        (["1,2", "nothing", "3,4"], "comma"),
        ([], "space"),
    ],
)
def test_separators(lines: list[str], expected: str) -> None:
    assert find_separator(lines, 2) == expected
