"""Builds scenarios from a file and options, for the commands that take both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.cli.terminal import err
from orbweaver.core.errors import UsageError, nearest
from orbweaver.workload.scenario import WorkloadSpec
from orbweaver.workload.scenario_files import load_scenario
from orbweaver.workload.subscriptions import SUBSCRIPTION_COLUMNS
from orbweaver.workload.tables import columns_of, table_in, told_layout


def assemble(
    scenario: Path | None, overlay: str | None, **parts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the file's scenario as plain values, overridden by the options. An option that is
    None was not given."""
    base: dict[str, Any] = {}
    if scenario is not None:
        base = msgspec.to_builtins(load_scenario(scenario, overlay))
    if overlay is not None:
        if overlay != base.get("overlay"):
            base["params"] = {}  # the scenario's parameters belong to its own overlay
        base["overlay"] = overlay
    if "overlay" not in base:
        raise UsageError("name an overlay with --overlay (see 'orbweaver overlays')")
    for part, values in parts.items():
        given = {name: value for name, value in values.items() if value is not None}
        # A table of subscriptions replaces the whole workload, also its model.
        whole = part == "workload" and "file" in given
        base[part] = given if whole else base.get(part, {}) | given
    return base


def workload_options(
    nodes: int | None,
    topics: int | None,
    subscriptions_per_node: str | None,
    popularity: str | None,
    subscriptions: Path | None,
    columns: str | None,
    header: str | None,
) -> dict[str, Any]:
    """Return the workload that the options give, and check that they fit together."""
    if subscriptions is not None:
        model = {
            "--nodes": nodes,
            "--topics": topics,
            "--subscriptions-per-node": subscriptions_per_node,
            "--popularity": popularity,
        }
        given = [option for option, value in model.items() if value is not None]
        if given:
            raise UsageError(f"--subscriptions has its own nodes and topics: leave out {given[0]}")
    return {
        "nodes": nodes,
        "topics": topics,
        "subscriptions_per_node": subscriptions_per_node,
        "popularity": popularity,
        "file": str(subscriptions) if subscriptions else None,
        "columns": columns,
        "header": header,
    }


def tell_table(workload: WorkloadSpec) -> None:
    """Say how a table of subscriptions was read if it could have been read in several ways."""
    if workload.file:
        table = table_in(Path(workload.file), "subscriptions")
        told = told_layout(table, SUBSCRIPTION_COLUMNS, workload.reading())
        if told:
            err.print(told, soft_wrap=True)


def parse_settings(settings: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not '{setting}'")
        found[name.strip()] = value.strip()
    return found


def parse_settings_by_overlay(
    settings: list[str], overlays: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Parse `OVERLAY.NAME=VALUE` for several overlays. The name of a user's overlay, module:Class,
    may have dots; the name of a parameter has none."""
    found: dict[str, dict[str, Any]] = {overlay: {} for overlay in overlays}
    for setting in settings:
        place, equals, value = setting.partition("=")
        overlay, dot, name = place.strip().rpartition(".")
        if not (equals and dot and name):
            raise UsageError(f"--set takes OVERLAY.NAME=VALUE, not '{setting}'")
        if overlay not in found:
            raise UsageError(
                f"--set {setting}: '{overlay}' is not compared: {nearest(overlay, found)}"
            )
        found[overlay][name] = value.strip()
    return found


def parse_churn(text: str) -> dict[str, Any]:
    if not text.startswith("exponential:"):
        if not Path(text).exists():
            raise UsageError(
                f"{text}: no such file (or write exponential:MEAN_ON:MEAN_OFF in seconds)"
            )
        return {"model": "file", "file": text}
    on, off = _numbers("churn", text, 2)
    return {"model": "exponential", "on_ms": on * 1000, "off_ms": off * 1000, "file": ""}


def parse_latency(text: str) -> dict[str, Any]:
    """Return all settings of a latency model. They replace the scenario's, of any model."""
    if text.startswith("constant:"):
        (ms,) = _numbers("latency", text, 1)
        return {"model": "constant", "ms": ms, "file": ""}
    if text.startswith("uniform:"):
        low, high = _numbers("latency", text, 2)
        return {"model": "uniform", "low_ms": low, "high_ms": high, "file": ""}
    path = Path(text)
    if not path.exists():
        raise UsageError(f"{text}: no such file (or write constant:MS or uniform:LOW:HIGH)")
    model = "coordinates" if {"node", "x", "y"} <= {*columns_of(path)} else "matrix"
    return {"model": model, "file": text, "unit": "ms", "round_trip": True}


def _numbers(what: str, text: str, count: int) -> list[float]:
    parts = text.split(":")[1:]
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(isfinite, numbers)):
        raise UsageError(
            f"{what} '{text}' needs {count} number{'s' if count > 1 else ''} after the colon"
        )
    return numbers
