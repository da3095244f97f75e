"""Records to files and back, in every format."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.records import Records
from orbweaver.records import writers as writers_module
from orbweaver.records.schema import TABLES
from orbweaver.records.writers import default_format, has_records, read_records, write_records

FORMATS = pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
CELLS = {
    "int": st.integers(-(2**63), 2**63 - 1),
    # What a topic may contain: anything that can be printed.
    "text": st.text(
        st.characters(categories=["L", "M", "N", "P", "S"], include_characters=" "), max_size=12
    ),
}


@st.composite
def records(draw: st.DrawFn) -> Records:
    made = Records()
    for table in TABLES.values():
        row = st.tuples(*(CELLS[column.type] for column in table.columns))
        for cells in draw(st.lists(row, max_size=3)):
            made[table.name].append(*cells)
    return made


def small() -> Records:
    made = Records()
    made["nodes"].append(0, 7, "join")
    made["interests"].append(0, 7, 'a "quoted", topic; with ünïcode', "subscribe")
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@FORMATS
@settings(deadline=None, max_examples=25)
@given(made=records())
def test_what_is_written_is_read_again(folder: Path, format: Any, made: Records) -> None:
    target = folder / format
    write_records(made, target, format)
    again = read_records(target)
    assert again.digest() == made.digest()
    for name in TABLES:
        assert list(again[name].rows()) == list(made[name].rows())


@FORMATS
def test_one_file_for_each_table(tmp_path: Path, format: Any) -> None:
    write_records(small(), tmp_path / "out", format)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{table}.{format}" for table in TABLES}


def test_csv_starts_with_the_names_of_the_columns(tmp_path: Path) -> None:
    write_records(small(), tmp_path / "out", "csv")
    with (tmp_path / "out" / "nodes.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["time_ms", "node", "kind"], ["0", "7", "join"]]


def test_json_lines_are_objects(tmp_path: Path) -> None:
    write_records(small(), tmp_path / "out", "jsonl")
    (line,) = (tmp_path / "out" / "nodes.jsonl").read_text().splitlines()
    assert json.loads(line) == {"time_ms": 0, "node": 7, "kind": "join"}


def test_parquet_has_the_types_of_the_schema(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    write_records(Records(), tmp_path / "out", "parquet")
    for table in TABLES.values():
        schema = pq.read_schema(tmp_path / "out" / f"{table.name}.parquet")
        types = {"int": "int64", "text": "string"}
        assert schema.names == list(table.names)
        assert list(map(str, schema.types)) == [types[column.type] for column in table.columns]


def test_another_format_replaces_the_earlier_one(tmp_path: Path) -> None:
    write_records(Records(), tmp_path / "out", "csv")
    write_records(small(), tmp_path / "out", "jsonl")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".jsonl"}
    assert read_records(tmp_path / "out").digest() == small().digest()


def test_records_of_earlier_versions_lack_an_optional_table(tmp_path: Path) -> None:
    write_records(small(), tmp_path / "out", "csv")
    (tmp_path / "out" / "copies.csv").unlink()
    assert has_records(tmp_path / "out")
    assert read_records(tmp_path / "out").digest() == small().digest()


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    write_records(small(), tmp_path / "out", "csv")
    (tmp_path / "out" / "links.csv").unlink()
    with pytest.raises(UsageError, match="no table 'links'"):
        read_records(tmp_path / "out")


def test_without_the_lab_install_csv_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers_module, "find_spec", lambda name: None)
    assert default_format() == "csv"
    with pytest.raises(UsageError, match="lab"):
        write_records(small(), tmp_path / "out", "parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "first line"),
        ("node,time_ms,kind\n7,1,join\n", "first line"),
        ("time_ms,node,kind\n1,seven,join\n", "seven"),
        ("time_ms,node,kind\n1,7\n", "shorter"),
    ],
)
def test_a_damaged_table_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    write_records(small(), tmp_path / "out", "csv")
    (tmp_path / "out" / "nodes.csv").write_text(text)
    with pytest.raises(UsageError, match=rf"nodes\.csv is no table of records: .*{complaint}"):
        read_records(tmp_path / "out")


def test_a_parquet_table_with_other_columns_is_named(tmp_path: Path) -> None:
    write_records(small(), tmp_path / "out", "parquet")
    pq.write_table(pa.table({"node": [1]}), tmp_path / "out" / "nodes.parquet")
    with pytest.raises(UsageError, match=r"nodes\.parquet is no table of records: .*columns"):
        read_records(tmp_path / "out")
