"""A table of subscriptions of the user's own is read, or refused with file and line."""

import gzip
from pathlib import Path
from typing import Literal

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.workload.dialect import Reading
from orbweaver.workload.subscriptions import (
    SUBSCRIPTION_COLUMNS,
    Subscriptions,
    load_subscriptions,
)
from orbweaver.workload.tables import told_layout

TABLE = "node,topic\nbea,news\nal,sport\nbea,sport\nal,sport\n"
READ = Subscriptions(("news", "sport"), (("news", "sport"), ("sport",)), ("bea", "al"))


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TABLE.replace("\n", "\r\n"),
        TABLE.replace("node,topic", "Node, TOPIC "),
        TABLE.replace("bea,news", '"bea" , news'),
        TABLE.replace("\nal,sport\nbea", "\n\nal,sport\n\nbea"),
        "topic,weight,node\nnews,1,bea\nsport,,al\nsport,x,bea\n",
        "\ufeff" + TABLE,
        TABLE.replace(",", ";"),
        TABLE.replace(",", "\t"),
        TABLE.replace(",", "  "),
        TABLE.replace("node,topic\n", ""),
        TABLE.replace("node,topic\n", "").replace(",", ";"),
    ],
    ids=[
        "plain",
        "crlf",
        "header",
        "spaces",
        "blank lines",
        "other columns",
        "byte-order mark",
        "semicolons",
        "tabs",
        "spaces",
        "no header",
        "semicolons, no header",
    ],
)
def test_csv(tmp_path: Path, text: str) -> None:
    path = tmp_path / "subs.csv"
    path.write_bytes(text.encode())
    assert load_subscriptions(path) == READ


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("at;group;user\n1;news;bea\n2;sport;al\n3;sport;bea\n", Reading("user,Group")),
        ("at;group;user\n1;news;bea\n2;sport;al\n3;sport;bea\n", Reading("3,2")),
        ("1 bea news\n2 al sport\n3 bea sport\n", Reading("2,3")),
        (TABLE.replace("node,topic", "who,what"), Reading(header="yes", columns="1,2")),
    ],
    ids=["names", "numbers", "no header", "a header that looks like data"],
)
def test_columns_and_header_as_said(tmp_path: Path, text: str, read: Reading) -> None:
    path = tmp_path / "subs.csv"
    path.write_text(text, encoding="utf-8")
    assert load_subscriptions(path, read) == READ


@pytest.mark.parametrize(
    ("columns", "header", "message"),
    [
        ("who,topic", "auto", "no column 'who'; line 1 has 'node', 'topic': pass --columns with"),
        ("node", "auto", "--columns 'node' should be 2 names or numbers"),
        ("0,1", "auto", "--columns '0,1' should be 2 names or numbers of columns, counted from 1"),
        ("1,3", "auto", "there is no column 3: line 1 has 'node', 'topic'; pass --columns with"),
        ("who,topic", "no", "the first line is data, as was said"),
    ],
)
def test_columns_that_are_not_there(
    tmp_path: Path, columns: str, header: Literal["auto", "no"], message: str
) -> None:
    path = tmp_path / "subs.csv"
    path.write_text(TABLE, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        load_subscriptions(path, Reading(columns, header))
    assert message in str(error.value)


def test_what_was_decided_is_told_where_there_was_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "subs.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert told_layout(path, SUBSCRIPTION_COLUMNS) == ""
    path.write_text("user_id;group\n1;news\n2;sport\n", encoding="utf-8")
    assert told_layout(path, SUBSCRIPTION_COLUMNS, Reading("user_id,group")) == (
        f"{path}: semicolon between the cells; the first line names the columns; node and topic "
        "are the columns 'user_id' and 'group'"
    )


def test_gzipped_csv(tmp_path: Path) -> None:
    path = tmp_path / "subs.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode(), mtime=0))
    assert load_subscriptions(path) == READ


def write_parquet(path: Path, **columns: list[object]) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)


def test_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "subs.parquet"
    topics = ["news", "sport", "sport", "sport"]
    write_parquet(path, topic=topics, other=[1, 2, 3, 4], node=["bea", "al", "bea", "al"])
    assert load_subscriptions(path) == READ


def test_parquet_folder_with_numbers(tmp_path: Path) -> None:
    """As Spark writes it: several parts, read in the order of their names."""
    write_parquet(tmp_path / "part-1.parquet", node=[5], topic=["b"])
    write_parquet(tmp_path / "part-0.parquet", node=[7, 5], topic=["a", "a"])
    found = load_subscriptions(tmp_path)
    assert found.labels == ("7", "5")
    assert found.of_node == (("a",), ("a", "b"))


@pytest.mark.parametrize(
    "text",
    ["node,subject\na,b\n", "subject,node\nb,a\n", "topic,user\nb,a\n", "user_id,group\na,b\n"],
)
def test_two_columns_leave_no_choice_whatever_they_are_called(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    found = load_subscriptions(tmp_path / "mine.csv", Reading(header="yes"))
    assert (found.labels, found.of_node) == (("a",), (("b",),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; it should start with the line 'node,topic'"),
        ("node,topic\n", "has no rows"),
        (
            "node,subject,at\na,b,1\n",
            "line 1: no column 'topic'; line 1 has 'node', 'subject', 'at': pass --columns with "
            "the names of node and topic",
        ),
        ("a,b,c\nd,e,f\n", "there is no header, and line 1 has 'a', 'b', 'c': not two cells; pass"),
        ("alone\nagain\n", "there is no header, and line 1 has 'alone': not two cells; pass"),
        (
            "# a graph\n1\t2\n3\t4\n",
            "line 1 looks like a comment, since it begins with '#': remove",
        ),
        ("# a graph: x\n# 4 nodes\n1 2\n3 4\n5 6\n", "line 1 looks like a comment, since it"),
        ('node,topic\n"a,b\n', "line 2: a quote that is not closed: '\"a,b'"),
        ('node,topic\n"a\nb",c\n', "line 2: a quote that is not closed"),
        (
            "node;topic\na;b\nc,d\n",
            "line 3: 1 cells where the header has 2, with semi",
        ),
        ("node,topic\na,b\nc\n", "line 3: 1 cells where the header has 2"),
        ("node,topic\na,b\n\nc,d,e\n", "line 4: 3 cells where the header has 2"),
        ("node,topic\na,b\nc,\n", "line 3: 'topic' is empty"),
        ("node,topic\n ,b\n", "line 2: 'node' is empty"),
        ("node,topic\na,b\na,x//y\n", "line 3: topic 'x//y' has an empty level"),
        ("node,topic\na," + "é" * 128 + "\n", "line 2: topic"),
        ("node,topic\na,b\x07c\n", "line 2: topic 'b\\x07c' has characters"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        load_subscriptions(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.csv", b"node,topic\na,\xff\xfe\n", "is not UTF-8 text"),
        ("x.csv.gz", b"node,topic\na,b\n", "cannot be read"),
        ("x.csv.gz", gzip.compress(TABLE.encode(), mtime=0)[:-9], "cannot be read"),
        ("x.parquet", b"node,topic\na,b\n", "is not a Parquet file"),
    ],
    ids=["not utf-8", "not gzip", "cut off", "not parquet"],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError) as error:
        load_subscriptions(path)
    assert str(error.value).startswith(f"{path} {message}")


@pytest.mark.parametrize("name", ["no.csv", "no.csv.gz", "no.parquet"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no such file"):
        load_subscriptions(tmp_path / name)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"without any \.parquet file"):
        load_subscriptions(tmp_path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"node": ["a"], "subject": ["b"], "at": ["c"]}, "no column 'topic'"),
        ({"node": ["a", None], "topic": ["b", "c"]}, "row 2: 'node' is empty"),
        ({"node": ["a", "b"], "topic": ["b", "c/"]}, "2: topic 'c/' has an empty level"),
        ({"node": ["a", ""], "topic": ["b", "c"]}, "row 2"),
    ],
)
def test_mistakes_in_parquet(tmp_path: Path, columns: dict[str, list], message: str) -> None:
    path = tmp_path / "mine.parquet"
    write_parquet(path, **columns)
    with pytest.raises(UsageError) as error:
        load_subscriptions(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
