"""A digest tells records apart, and nothing else."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.records import Records
from orbweaver.records.schema import TABLES, TableSpec

TEXT = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
INT = st.integers(-(2**63), 2**63 - 1)
CELLS = [(table.name, c.name) for table in TABLES.values() for c in table.columns]


def filled(rows: int = 2) -> Records:
    records = Records()
    for table in TABLES.values():
        for i in range(rows):
            records[table.name].append(*(example(c.type, i) for c in table.columns))
    return records


def example(type: str, number: int) -> Any:
    return number if type == "int" else f"text {number}"


def test_equal_records_have_equal_digests() -> None:
    assert filled().digest() == filled().digest()


@pytest.mark.parametrize(("table", "column"), CELLS, ids=[f"{t}.{c}" for t, c in CELLS])
@pytest.mark.parametrize("row", [0, 1])
def test_any_cell_changes_it(table: str, column: str, row: int) -> None:
    records = filled()
    cells = records[table][column]
    cells[row] = cells[row] + (1000 if isinstance(cells[row], int) else "!")
    assert records.digest() != filled().digest()


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_the_order_of_rows_and_their_number_change_it(table: TableSpec) -> None:
    seen = {filled().digest()}
    swapped = filled()
    for column in swapped[table.name].columns.values():
        column[0], column[1] = column[1], column[0]
    seen.add(swapped.digest())
    longer = filled()
    longer[table.name].append(*(example(c.type, 5) for c in table.columns))
    seen.add(longer.digest())
    assert len(seen) == 3


@settings(deadline=None, max_examples=200)
@given(
    a=st.lists(st.tuples(INT, INT, TEXT), max_size=4),
    b=st.lists(st.tuples(INT, INT, TEXT), max_size=4),
)
def test_digests_are_equal_just_for_equal_rows(a: list[Any], b: list[Any]) -> None:
    digests = []
    for rows in (a, b):
        records = Records()
        for row in rows:
            records["nodes"].append(*row)
        digests.append(records.digest())
    assert (digests[0] == digests[1]) == (a == b)


def test_an_optional_table_counts_once_it_has_rows() -> None:
    without = Records()
    del without.tables["copies"]
    assert Records().digest() == without.digest()
    some = Records()
    some["copies"].append(5, "e", 1, 2, 1, "sent", "")
    assert some.digest() != without.digest()


def test_another_process_says_the_same() -> None:
    code = (
        "from orbweaver.records import Records\n"
        "records = Records()\n"
        "records['interests'].append(5, 1, 'caf\\u00e9', 'subscribe')\n"
        "print(records.digest())"
    )
    records = Records()
    records["interests"].append(5, 1, "café", "subscribe")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == records.digest()
