"""Files are found and their first lines read."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.ingest import peek
from orbweaver.pipeline.ingest.kinds import build_options, find


def test_head_is_the_same_packed_or_not(tmp_path: Path) -> None:
    text = "\ufeffa b\r\n\r\n  # c\n".encode()
    for name, data in (
        ("plain", text),
        ("packed.gz", gzip.compress(text, mtime=0)),
        ("packed.bz2", bz2.compress(text)),
    ):
        (tmp_path / name).write_bytes(data)
        assert peek.head(tmp_path / name) == ["a b", "# c"]
    assert peek.data_lines(["a b", "# c"], "#%") == ["a b"]
    assert peek.data_lines(["a b", "# c"], "") == ["a b", "# c"]


def test_a_folder_is_its_files_and_an_address_is_left_alone(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "_SUCCESS", ".hidden"):
        (tmp_path / name).touch()
    inside = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert peek.expand([str(tmp_path), "hdfs://cluster/x"]) == [*inside, "hdfs://cluster/x"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none.txt", None, "none.txt: no such file"),
        ("trace.zip", b"", "unpack it to text first"),
        ("_trace", b"", "Spark ignores names that begin with '_'"),
        ("text.gz", b"1 2\n", "text.gz cannot be read: Not a gzipped file"),
        ("cut.gz", gzip.compress(b"1 2\n" * 1000, mtime=0)[:-20], "cut.gz cannot be read"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError, match=message):
        peek.head(Path(peek.expand([str(path)])[0]))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder without files"):
        peek.expand([str(tmp_path)])


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("directed-edges", {}, "directed-edges needs --direction: follower-first if 'a b' means"),
        (
            "directed-edges",
            {"direction": "follower"},
            "should be one of follower-first, followed-first",
        ),
        ("pairs", {"direction": "follower-first"}, "has no meaning for pairs"),
        ("pairs", {"separator": "coma"}, "'coma' should be one of auto, tab, comma"),
        ("lists", {"unit": "ms"}, "it is for latency-matrix"),
        ("pairs", {"origin": "zero"}, "it is for edits, machine-events, sessions and availability"),
        ("latency-matrix", {"unit": "hours"}, "'hours' should be one of s, ms, us"),
    ],
)
def test_bad_options(kind: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_options(find(kind), given)


def test_an_unknown_kind() -> None:
    with pytest.raises(UsageError, match="unknown kind 'pear': did you mean 'pairs'"):
        find("pear")
