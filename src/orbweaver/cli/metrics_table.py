"""Prints all metrics of a run as a table, with the meaning of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from orbweaver.cli.terminal import show, table
from orbweaver.metrics.summary import MEANING


def metrics_table(title: str, metrics: Mapping[str, Any]) -> Table:
    grid = table(title, "metric", "value", "")
    grid.columns[2].justify = "left"
    for key, value in metrics.items():
        grid.add_row(key, show(value), Text(MEANING[key], "dim"))
    return grid
