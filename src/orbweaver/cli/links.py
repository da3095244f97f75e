"""Writes a table of links, which `workload.links` reads."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from orbweaver.records.files import whole_file
from orbweaver.workload.links import LINK_COLUMNS, Link


def write_links(links: Iterable[Link], labels: Sequence[str], path: Path) -> None:
    with whole_file(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(LINK_COLUMNS)
        writer.writerows((labels[a], labels[b]) for a, b in links)
