"""Prints the settings of a node: as a TOML file to start from, and as a table for the docs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from orbweaver.core.params import ParamInfo, describe
from orbweaver.net.settings import Settings

HEAD = """\
# Settings of an Orbweaver node: orbweaver node --config FILE
# Every setting is here, with its default behind the #. Options of the command override the file.
"""


def as_toml(defaults: Mapping[str, Any] = {}) -> str:
    """Return a TOML file with every setting commented out. `defaults` are the command's own."""
    parts = [HEAD]
    for info in describe(Settings):
        lines = wrap(_meaning(info), 90)
        value = toml_value(defaults.get(info.name, info.default))
        parts.append("".join(f"# {line}\n" for line in lines) + f"#{info.name} = {value}\n")
    return "\n".join(parts)


def as_table(defaults: Mapping[str, Any] = {}) -> list[str]:
    """Return the settings as the lines of a Markdown table."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for info in describe(Settings):
        value = toml_value(defaults.get(info.name, info.default))
        lines.append(f"| `{info.name}` | `{value}` | {_meaning(info)} |")
    return lines


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return f"{value:_}" if value >= 10_000 else str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    return str(value)


def _meaning(info: ParamInfo) -> str:
    choices = f"; one of {info.type.replace('|', ', ')}" if "|" in info.type else ""
    return info.description + choices
