"""Lists the methods and the settings of each. No Spark here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from orbweaver.core.errors import UsageError, nearest


@dataclasses.dataclass(frozen=True)
class Method:
    name: str
    summary: str
    defaults: Mapping[str, int | str | None]
    """The settings of the method with their defaults. None must be given, except for `nodes` where
    the method itself gives a size: there 0 means all."""


_ALL = (
    Method(
        "bfs",
        "breadth-first search from several seeds (Vitis IV-E, OMen 6.1)",
        {"nodes": None, "seeds": 10, "along": "followed"},
    ),
    Method(
        "seed-universe",
        "subscribers of some random topics, and their favourites (Rappel 6.1.2)",
        # Rappel's experiment on interest locality: 250 feeds, 100 publishers, 5582 nodes.
        {"nodes": 0, "seeds": 250, "topics": 100},
    ),
    Method(
        "random-topics",
        "random topics and all their subscribers (Magnet 4.5)",
        # Magnet: 3000 articles, nearly 10,000 editors.
        {"nodes": 0, "topics": 3000},
    ),
    Method("uniform", "random nodes with all their subscriptions", {"nodes": None}),
    Method(
        "machines",
        "random nodes that are up when a churn trace begins (OMen 6.1)",
        {"nodes": None},
    ),
)
METHODS = {method.name: method for method in _ALL}
ALONG = ("followed", "followers", "both")


@dataclasses.dataclass(frozen=True)
class SampleSettings:
    method: str
    nodes: int = 0
    """Number of nodes; 0 means all there are."""
    seeds: int = 0
    topics: int = 0
    along: str = "followed"
    """Where a search goes: to the nodes that a node follows (Vitis), to its followers, or both."""
    seed: int = 0


def build_settings(name: str, seed: int, given: Mapping[str, int | str | None]) -> SampleSettings:
    """Return the settings that were given, checked. A setting that is None was not given."""
    if name not in METHODS:
        raise UsageError(f"unknown method '{name}': {nearest(name, METHODS)}")
    defaults = METHODS[name].defaults
    values: dict[str, int | str | None] = dict(defaults)
    for setting, value in given.items():
        if value is None:
            continue
        if setting not in defaults:
            users = " and ".join(m.name for m in _ALL if setting in m.defaults)
            raise UsageError(f"--{setting} has no meaning for {name}; it is for {users}")
        if isinstance(value, int) and value < 1:
            raise UsageError(f"--{setting} should be 1 or more, not {value}")
        values[setting] = value
    for setting, value in values.items():
        if value is None:
            raise UsageError(f"{name} needs --{setting}")
    if values.get("along", "both") not in ALONG:
        raise UsageError(f"--along '{values['along']}' should be one of {', '.join(ALONG)}")
    settings = SampleSettings(name, seed=seed, **values)  # type: ignore[arg-type]
    if name == "bfs" and settings.seeds > settings.nodes:
        raise UsageError(f"{settings.seeds} seeds are more than the {settings.nodes} nodes wanted")
    return settings
