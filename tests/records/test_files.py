"""Whole files or none, whatever interrupts the writing."""

from functools import partial
from pathlib import Path

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.records import Records
from orbweaver.records import writers as writers_module
from orbweaver.records.files import whole_file, whole_folder
from orbweaver.records.schema import TABLES
from orbweaver.records.writers import check_records_out, write_records

INTERRUPTIONS = pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError, SystemExit])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "links.csv"
    with whole_file(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        temporary.write_text("whole")
    assert target.read_text() == "whole"
    assert target.stat().st_mode & 0o777 == 0o644
    assert names(tmp_path) == ["links.csv"]


@INTERRUPTIONS
def test_an_interrupted_file_leaves_nothing(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    def write() -> None:
        with whole_file(tmp_path / "links.csv") as temporary:
            temporary.write_text("half")
            raise interruption

    with pytest.raises(interruption):
        write()
    assert names(tmp_path) == []


@INTERRUPTIONS
def test_an_interrupted_file_leaves_the_earlier_one(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    target = tmp_path / "links.csv"
    target.write_text("earlier")

    def write() -> None:
        with whole_file(target) as temporary:
            temporary.write_text("half")
            raise interruption

    with pytest.raises(interruption):
        write()
    assert target.read_text() == "earlier"
    assert names(tmp_path) == ["links.csv"]


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with whole_folder(target, ()) as temporary:
        (temporary / "nodes.csv").write_text("x")
        assert not target.exists()
    assert names(target) == ["nodes.csv"]
    assert names(tmp_path) == ["out"]


@INTERRUPTIONS
@pytest.mark.parametrize("earlier", [False, True])
def test_an_interrupted_folder_leaves_what_was(
    tmp_path: Path, interruption: type[BaseException], earlier: bool
) -> None:
    target = tmp_path / "out"
    if earlier:
        target.mkdir()
        (target / "nodes.csv").write_text("earlier")

    def write() -> None:
        with whole_folder(target, ["nodes.csv"]) as temporary:
            (temporary / "nodes.csv").write_text("half")
            raise interruption

    with pytest.raises(interruption):
        write()
    assert names(tmp_path) == (["out"] if earlier else [])
    if earlier:
        assert (target / "nodes.csv").read_text() == "earlier"


def test_an_interruption_between_two_tables_leaves_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_one = writers_module._write_csv
    written: list[str] = []

    def interrupted(table, path: Path) -> None:
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(path.name)
        write_one(table, path)

    monkeypatch.setattr(writers_module, "_write_csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_records(Records(), tmp_path / "out", "csv")
    assert len(written) == 3
    assert names(tmp_path) == []


def test_an_earlier_runs_tables_are_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_records(Records(), target, "jsonl", about={"overlay": "x"})
    write_records(Records(), target, "csv")
    assert names(target) == sorted(f"{name}.csv" for name in TABLES)


@pytest.mark.parametrize("other", ["thesis.tex", "subscriptions.csv", "node-00.jsonl", "links.csv"])
def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, other: str) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / other).write_text("years of work")
    with pytest.raises(UsageError, match="holds other things"):
        write_records(Records(), target, "csv")
    assert names(target) == [other]


def test_other_things_beside_an_earlier_runs_tables_are_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_records(Records(), target, "parquet")
    (target / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"holds other things, for example 'thesis\.tex'"):
        write_records(Records(), target, "csv")
    assert (target / "thesis.tex").exists()


def test_a_folder_named_like_a_table_is_no_table(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_records(Records(), target, "csv")
    (target / "links.parquet").mkdir()
    with pytest.raises(UsageError, match="holds other things"):
        check_records_out(target)


@pytest.mark.parametrize("writer", [whole_file, partial(whole_folder, ours=())])
def test_a_missing_parent_is_named(tmp_path: Path, writer) -> None:
    with (
        pytest.raises(UsageError, match=r"there is no folder .*nowhere"),
        writer(tmp_path / "nowhere" / "x"),
    ):
        pass


def test_a_folder_cannot_take_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(UsageError, match="is a file"), whole_folder(tmp_path / "out", ()):
        pass


def test_a_file_cannot_take_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="folder"), whole_file(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert names(tmp_path) == ["out"]
