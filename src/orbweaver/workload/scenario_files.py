"""Read scenarios from TOML files or plain values, and say what is wrong with them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.core.errors import UsageError, nearest
from orbweaver.core.ids import check_topic
from orbweaver.core.params import differing
from orbweaver.workload.popularity import is_correlated
from orbweaver.workload.scenario import Scenario


def load_scenario(path: Path, overlay: str | None = None) -> Scenario:
    """Read a scenario from a TOML file. Paths in it are relative to the file. `overlay` applies
    if the file names no overlay."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    for part in ("workload", "latency", "churn", "links"):
        section = raw.get(part)
        if isinstance(section, dict) and isinstance(section.get("file"), str) and section["file"]:
            section["file"] = str(path.parent / section["file"])
    workload = raw.get("workload")
    if isinstance(workload, dict) and isinstance(workload.get("subscriptions_per_node"), int):
        workload["subscriptions_per_node"] = str(workload["subscriptions_per_node"])
    if overlay is not None:
        raw.setdefault("overlay", overlay)
    return build_scenario(raw, str(path))


def build_scenario(raw: dict[str, Any], source: str) -> Scenario:
    """Build a scenario from plain values. Errors begin with `source`, which says where the values
    come from."""
    try:
        made = msgspec.convert(raw, Scenario)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {_explain(str(error))}") from None
    wrong = next(_contradictions(made), None)
    if wrong is not None:
        raise UsageError(f"{source}: {wrong}")
    for change in made.interests:
        check_topic(change.topic)
    return made


def _contradictions(scenario: Scenario) -> Iterator[str]:
    """Yield an error for each setting that would be ignored without a message."""
    churn, latency, publish = scenario.churn, scenario.latency, scenario.publish
    of_table = ("file", "columns", "header")
    told = differing(scenario.workload)
    model = [name for name in told if name not in of_table]
    if scenario.workload.file and model:
        yield f"a table of subscriptions has its own nodes and topics: leave out {model[0]}"
    about = [name for name in told if name in of_table[1:]]
    if about and not scenario.workload.file:
        yield f"{about[0]} describes a table of subscriptions: name one with file"
    if churn.file and churn.model != "file":
        yield f"[churn] has a file, but the model is '{churn.model}'; say model = \"file\""
    if churn.model == "file" and not churn.file:
        yield "[churn] of the model 'file' needs a file"
    if churn.outage and churn.outage_end_ms <= churn.outage_ms:
        yield (
            f"an outage from {churn.outage_ms} to {churn.outage_end_ms} ms would not happen; "
            "outage_end_ms should be above outage_ms"
        )
    if churn.new_interest and scenario.workload.file:
        yield "[churn] new_interest needs a model to draw interests from, not a table of them"
    if churn.new_interest and is_correlated(scenario.workload.popularity):
        yield (
            f"[churn] new_interest cannot draw single nodes by '{scenario.workload.popularity}'; "
            "take another law of popularity"
        )
    if churn.model == "neighbors" and churn.every_ms < 2:
        yield "[churn] of the model 'neighbors' needs every_ms, the time between two groups"
    if scenario.links.design and scenario.links.file:
        yield "[links] has a file and a design: leave out one of them"
    tabled = latency.model in ("matrix", "coordinates")
    if latency.file and not tabled:
        yield (
            f"[latency] has a file, but the model is '{latency.model}'; say model = \"matrix\" or "
            '"coordinates"'
        )
    if tabled and not latency.file:
        yield f"[latency] of the model '{latency.model}' needs a file"
    if publish.rates != "uniform" and not publish.events:
        yield "[publish] rates need a number of events: say how many with events"
    for one in scenario.faults.partitions:
        if one.end_ms <= one.start_ms:
            yield (
                f"a partition from {one.start_ms} to {one.end_ms} ms would not happen; end_ms "
                "should be above start_ms"
            )


def _explain(error: str) -> str:
    what, _, where = error.partition(" - at `$")
    place = where.strip(".`")
    unknown = re.match(r"Object contains unknown field `(.*)`", what)
    if unknown:
        known = _fields_at(place)
        owner = f" in [{place}]" if place else ""
        return f"unknown setting '{unknown[1]}'{owner}: {nearest(unknown[1], known)}"
    what = what[0].lower() + what[1:]
    return f"'{place}': {what}" if place else what


def _fields_at(place: str) -> list[str]:
    spec: Any = Scenario
    for step in filter(None, re.sub(r"\[.*?\]", "", place).split(".")):
        kinds = {f.name: f.type for f in msgspec.structs.fields(spec)}
        spec = kinds.get(step, Scenario)
        spec = next((a for a in getattr(spec, "__args__", ()) if isinstance(a, type)), spec)
    return [field.name for field in msgspec.structs.fields(spec)]
