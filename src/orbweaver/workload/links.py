"""A table of links between nodes, as `orbweaver design` and `simulate --links-out` write it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from orbweaver.core.errors import UsageError
from orbweaver.workload.tables import read_table

LINK_COLUMNS = ("a", "b")

Link = tuple[int, int]
"""Two nodes by number, the lower one first."""


@dataclasses.dataclass(frozen=True)
class LinkTable:
    links: tuple[Link, ...]
    """Each once, in the order of the table."""
    left_out: int
    """Rows with a node that has no subscriptions."""
    strangers: tuple[str, ...]
    """The names of such nodes."""


def read_links(path: Path, labels: Sequence[str]) -> LinkTable:
    """Read links between nodes of these names. A link is the same in both directions."""
    number = {label: node for node, label in enumerate(labels)}
    links: dict[Link, None] = {}
    strangers: dict[str, None] = {}
    left_out = 0
    for line, ends in read_table(path, LINK_COLUMNS):
        if ends[0] == ends[1]:
            raise UsageError(f"{path}, line {line}: a link from '{ends[0]}' to itself")
        unknown = [end for end in ends if end not in number]
        if unknown:
            left_out += 1
            strangers |= dict.fromkeys(unknown)
            continue
        a, b = sorted(number[end] for end in ends)
        links[a, b] = None
    return LinkTable(tuple(links), left_out, tuple(strangers))
