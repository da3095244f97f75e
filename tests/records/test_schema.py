"""One schema: every table and column named once, explained, and of a known type."""

import pytest

from orbweaver.records import Records
from orbweaver.records.schema import TABLES, TableSpec

EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


@EVERY
def test_columns_are_explained_and_differ(table: TableSpec) -> None:
    assert table.meaning
    assert all(column.meaning for column in table.columns)
    assert len(set(table.names)) == len(table.names)
    assert {column.type for column in table.columns} <= {"int", "text"}


@EVERY
def test_a_column_that_tables_share_has_one_type(table: TableSpec) -> None:
    types = {c.name: c.type for other in TABLES.values() for c in other.columns}
    assert {column.name: column.type for column in table.columns}.items() <= types.items()


@EVERY
def test_units_come_last_in_names(table: TableSpec) -> None:
    assert "time" not in table.names
    assert "latency" not in table.names


def test_tables_go_by_their_own_names() -> None:
    assert [table.name for table in TABLES.values()] == list(TABLES)


@EVERY
def test_records_have_the_columns_of_the_schema(table: TableSpec) -> None:
    records = Records()
    assert list(records.tables) == list(TABLES)
    assert tuple(records[table.name].columns) == table.names
    assert len(records[table.name]) == 0
