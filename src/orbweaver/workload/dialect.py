"""Find out how a text holds a table: what separates its cells, whether it has a header, and
which of its columns are wanted.

The functions are plain Python and see only the first lines of a file. Both the reader of small
tables (`workload.tables`) and the ingest of large files use them, before they read the rest.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from orbweaver.core.errors import UsageError

HEAD_LINES = 50
"""How many lines at the start of a file, blank ones not counted, decide how it is read."""

SEPARATORS = {
    "tab": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    # Last, because times and addresses have colons inside them.
    "colon": ":",
}
MISSING_WORDS = ("", "-", "?", "na", "n/a", "nan", "none", "null", "inf")
"""How sources write a number that was not measured."""

COMMENTS = ("#", "%")
"""How traces begin lines that say something about the data."""

NUMBERS_SHARE = 0.9
"""A column whose share of numbers is at least this large holds numbers: one bad line does not
decide."""

ALIKE_MIN = 10
"""How many values of one family, such as u1, u2 and so on, make a first line of another family a
header."""

PAIR = 2
"""How many columns a table of subscriptions has. It is the only kind of table whose columns can
be chosen by --columns."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z][A-Za-z _.-]*")
_NAMES = (
    r"(count|dest|destination|dst|end|event|followe[dre]|follower|from|genre|group|id|item|join|"
    r"leave|machine|name|node|page|peer|relationship|repo|source|src|start|state|target|time|"
    r"timestamp|to|topic|trg|user|weight)"
)
_SUFFIXES = r"(id|name|node|nodeid|time|ts|us)"
_COLUMN = re.compile(rf"{_NAMES}([ _-]?({_SUFFIXES}|\d))?", re.IGNORECASE)
"""Words that name a column and are seldom a user or a topic."""
_COMPOUND = re.compile(rf"{_NAMES}[ _-]?{_SUFFIXES}", re.IGNORECASE)
"""Words that name a column and are hardly ever anything else."""


class Header(NamedTuple):
    there: bool
    why: str
    """Completes the sentence "the first line ...". """


NAMED = Header(True, "names the columns")


class Reading(NamedTuple):
    """What a user says about a table, in place of letting the reader find it out."""

    columns: str = ""
    """The wanted columns, as names or numbers with commas between them."""
    header: Literal["auto", "yes", "no"] = "auto"


@dataclasses.dataclass(frozen=True)
class Layout:
    """The way in which one text is to be read."""

    separator: str
    header: Header
    first: tuple[str, ...]
    """The cells of the first line, which may be names or data."""
    places: tuple[int, ...]
    """Where the wanted columns stand in a line."""

    def told(self, wanted: Sequence[str]) -> str:
        """Describe the layout in words, for people to check."""
        named = (
            f"'{self.first[place]}'" if self.header.there else str(place + 1)
            for place in self.places
        )
        return (
            f"{self.separator} between the cells; the first line {self.header.why}; "
            f"{' and '.join(wanted)} are the columns {' and '.join(named)}"
        )


def lay_out(lines: Sequence[str], wanted: Sequence[str], reading: Reading, path: object) -> Layout:
    """Find the layout from the first lines. `wanted` are the names that the columns should have."""
    asked = parse_columns(reading.columns, len(wanted), path)
    numbers = [int(name) for name in asked if name.isdigit()]
    separator = find_separator(lines, max([len(wanted), *numbers]))
    rows = [split_line(line, separator) for line in lines]
    first = rows[0]
    names = {cell.lower() for cell in first}
    known = [name.lower() for name in (*wanted, *asked) if not name.isdigit()]
    if reading.header != "auto":
        header = said(reading.header)
    elif names.intersection(known):
        header = NAMED
    else:
        header = judge_header(rows, range(len(wanted)))
    places = find_places(wanted, asked, first, header, path)
    return Layout(separator, header, tuple(first), places)


def said(header: str) -> Header:
    """Return the header that a user asked for with `yes` or `no`."""
    return Header(header == "yes", f"is {'a header' if header == 'yes' else 'data'}, as was said")


def parse_columns(text: str, count: int, path: object) -> list[str]:
    """Split a list of columns such as `user,group` or `1,3`; an empty text gives no columns."""
    names = [name.strip() for name in text.split(",")] if text else []
    if names and (len(names) != count or not all(names) or "0" in names):
        raise UsageError(
            f"{path}: --columns '{text}' should be {count} names or numbers of columns, counted "
            "from 1, with a comma between them"
        )
    return names


def find_places(
    wanted: Sequence[str], asked: Sequence[str], first: Sequence[str], header: Header, path: object
) -> tuple[int, ...]:
    """Return the places of the wanted columns. An error says what to pass instead."""
    there = f"line 1 has {', '.join(repr(cell) for cell in first)}"
    meant = " and ".join(wanted)
    if asked and all(name.isdigit() for name in asked):
        places = tuple(int(name) - 1 for name in asked)
        if max(places) >= len(first):
            raise UsageError(
                f"{path}: there is no column {max(places) + 1}: {there}; pass --columns with "
                f"numbers up to {len(first)} for {meant}"
            )
        return places
    if not header.there and not asked and len(first) == len(wanted):
        return tuple(range(len(wanted)))
    if len(wanted) != PAIR and not header.there:
        raise UsageError(
            f"{path}: there is no header, and {there}; it should begin with the line "
            f"'{','.join(wanted)}'"
        )
    if not asked and len(first) != len(wanted) and first[0].startswith(COMMENTS):
        raise UsageError(
            f"{path}: line 1 looks like a comment, since it begins with {first[0][0]!r}: remove "
            "such lines, or make tables of the file with `orbweaver ingest`, which skips them"
        )
    if not header.there and asked:
        raise UsageError(
            f"{path}: no column '{asked[0]}', since the first line {header.why}: {there}; "
            "pass --columns with numbers, or --header yes"
        )
    if not header.there:
        raise UsageError(
            f"{path}: there is no header, and {there}: not two cells; pass --columns with the "
            f"numbers of {meant}, as in --columns 1,2"
        )
    names = [cell.lower() for cell in first]
    if not asked and len(wanted) == len(first) == PAIR:
        # Two columns leave no choice, whatever they are called: as without a header, the first
        # one is the first that is wanted, unless one of them is named otherwise.
        swapped = names[0] == wanted[1] or names[1] == wanted[0]
        return (1, 0) if swapped else (0, 1)
    for name in asked or wanted:
        if name.lower() not in names:
            fix = f"pass --columns with the names of {meant}"
            if len(wanted) != PAIR:
                fix = f"the header should be '{','.join(wanted)}'"
            raise UsageError(f"{path}, line 1: no column '{name}'; {there}: {fix}")
    return tuple(names.index(name.lower()) for name in asked or wanted)


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of one line, without white space and quotes around them."""
    if separator == "space":
        return [cell.strip('"') for cell in line.split()]
    try:
        cells = next(csv.reader([line], delimiter=SEPARATORS[separator], skipinitialspace=True), [])
    except csv.Error:
        cells = line.split(SEPARATORS[separator])
    return [cell.strip() for cell in cells]


def find_separator(lines: Sequence[str], cells: int) -> str:
    """Return the separator that splits the most lines into at least `cells` cells.

    If no separator does so, the one that splits the most lines into two cells or more is
    taken; among equals, the first in `SEPARATORS`.
    """

    def score(name: str) -> tuple[int, int]:
        split = [split_line(line, name) for line in lines]
        enough = sum(len(parts) >= cells and all(parts[:cells]) for parts in split)
        return enough, sum(len(parts) > 1 for parts in split)

    return max(SEPARATORS, key=score) if lines else "space"


def judge_header(
    rows: Sequence[Sequence[str]], wanted: Sequence[int], numeric: Sequence[int] = ()
) -> Header:
    """Decide whether the first row is a header. `numeric` are the cells that hold a number in
    every row of data.

    The decision depends on how the values below the first row are written. A first row with
    `node1` above `node7` is data, although `node1` may look like the name of a column. A first
    row with a word above numbers is a header, however unusual the word. Where the values do not
    decide, words that name columns do.
    """
    if not rows or len(rows[0]) <= max(wanted):
        return Header(False, "has too few cells for a header")
    first, *rest = rows
    names = [first[place] for place in wanted]
    if numeric:
        if all(map(_COLUMN.fullmatch, names)) or all(_is_word(first[i]) for i in numeric):
            return Header(True, "has words where numbers belong")
        return Header(False, "has numbers where they belong")
    above_numbers = above_alike = ""
    for place, cell in enumerate(first):
        below = [row[place] for row in rest if len(row) > place and row[place]]
        families = {_family(value) for value in below}
        if place in wanted and _NUMBER.fullmatch(cell):
            return Header(False, f"is data: '{cell}' is a number")
        numbers = sum(_NUMBER.fullmatch(value) is not None for value in below)
        if below and numbers >= NUMBERS_SHARE * len(below):
            if cell.lower() not in MISSING_WORDS and not _NUMBER.fullmatch(cell):
                above_numbers = above_numbers or cell
        elif cell and _family(cell) in families:
            return Header(False, f"is data: '{cell}' is written as the values below it are")
        elif place in wanted and len(below) >= ALIKE_MIN and len(families) == 1:
            above_alike = above_alike or cell
    if above_numbers:
        return Header(True, f"is a header: '{above_numbers}' stands above numbers")
    if all(map(_COLUMN.fullmatch, names)) or any(map(_COMPOUND.fullmatch, names)):
        return Header(True, "is a header: its words name columns")
    if above_alike:
        return Header(True, f"is a header: '{above_alike}' stands above values that are all alike")
    return Header(False, "is data: nothing sets it apart from the lines below it")


def _family(cell: str) -> str:
    """Return the family of a name: names that differ only in their numbers are of one family."""
    return re.sub(r"\d+", "9", cell)


def _is_word(cell: str) -> bool:
    return _WORD.fullmatch(cell) is not None and cell.lower() not in MISSING_WORDS
