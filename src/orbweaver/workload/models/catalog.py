"""Lists the models by name, with their papers' settings. A plan is checked before Spark starts."""

from __future__ import annotations

import math
from typing import Any, Protocol

import msgspec

from orbweaver.core.errors import UsageError, nearest
from orbweaver.workload.models.categories import Buckets, MultiModal
from orbweaver.workload.models.chance import Ints
from orbweaver.workload.models.distinct import Ragged
from orbweaver.workload.models.hierarchy import Hierarchy
from orbweaver.workload.models.popularity import Popularity
from orbweaver.workload.models.sizes import Sizes
from orbweaver.workload.models.spatial import Spatial
from orbweaver.workload.popularity import LAWS, number_in

NODES_MAX = 100_000_000
TOPICS_MAX = 10_000_000


class Model(Protocol):
    """Draws the topics of rows; a row does not depend on the batch."""

    def draw(self, rows: Ints) -> Ragged: ...


class SynthesisPlan(msgspec.Struct, frozen=True):
    """Everything that decides the subscriptions, except the seed. A setting is None if the model
    does not use it."""

    model: str
    nodes: int
    topics: int
    subscriptions_per_node: str
    """Subscriptions of a node, exact or drawn; for spatial and hierarchical, the mean."""
    categories: int | None = None
    """Number of categories, Magnet's b_n, or of Vitis' buckets."""
    categories_per_node: int | None = None
    """Categories that a node chooses, Magnet's b_p."""
    alpha: float | None = None
    """Exponent of the power law inside a category."""
    init_frac: float | None = None
    """Share of the subscriptions that are drawn at first (the homes)."""
    homophily: float | None = None
    """Magnet's lambda: the larger, the closer new topics are to earlier ones."""
    alpha0: float | None = None
    """Exponent of the power law of the homes, by rank."""


_SPIDERCAST: dict[str, Any] = {"nodes": 1000, "topics": 100, "subscriptions_per_node": "10"}
_VITIS: dict[str, Any] = {"nodes": 10_000, "topics": 5000, "subscriptions_per_node": "50"}
_OMEN: dict[str, Any] = {
    "nodes": 2000, "topics": 200, "subscriptions_per_node": "powerlaw:10:90:2",
}  # fmt: skip

DEFAULTS: dict[str, dict[str, Any]] = {
    **{law.partition(":")[0]: _SPIDERCAST for law in LAWS},
    "vitis-random": _VITIS,
    "vitis-low": _VITIS | {"categories": 100, "categories_per_node": 5},
    "vitis-high": _VITIS | {"categories": 100, "categories_per_node": 2},
    "multi-modal": {
        "nodes": 10_000, "topics": 1000, "subscriptions_per_node": "50",
        "categories": 10, "categories_per_node": 1, "alpha": 1.0,
    },
    "spatial": {"nodes": 10_000, "subscriptions_per_node": "32"},
    "hierarchical": {
        "nodes": 1 << 14, "topics": 1 << 14, "subscriptions_per_node": "16",
        "init_frac": 0.1, "homophily": 2.0, "alpha0": 2.0,
    },
    "omen-unif": _OMEN,
    "omen-zipf": _OMEN,
    "omen-expo": _OMEN,
}  # fmt: skip
"""The settings of each model, with the values of its paper."""

LAW_OF = {
    "vitis-random": "uniform",
    "omen-unif": "uniform",
    "omen-zipf": "zipf:2",
    "omen-expo": "nyse",  # OMen cites the same study of the stock exchange as SpiderCast
}

_RANGES: dict[str, tuple[float, float]] = {
    "nodes": (1, NODES_MAX), "topics": (1, TOPICS_MAX), "categories": (1, TOPICS_MAX),
    "categories_per_node": (1, 10_000), "alpha": (0, 20), "init_frac": (0, 1),
    "homophily": (0, 30), "alpha0": (1.05, 20),
}  # fmt: skip


def make_plan(model: str, given: dict[str, Any]) -> SynthesisPlan:
    """Return a plan with the paper's settings, overridden by `given`. None means not given."""
    name, colon, _ = model.partition(":")
    if name not in DEFAULTS:
        raise UsageError(f"unknown model '{model}': {nearest(name, DEFAULTS)}")
    if colon and name not in ("zipf", "exponential"):
        raise UsageError(f"model '{name}' takes nothing after ':'")
    settings = dict(DEFAULTS[name])
    for setting, value in given.items():
        if value is None:
            continue
        if setting not in settings:
            known = ", ".join(map(_option, settings))
            why = " (each user is a topic)" if (name, setting) == ("spatial", "topics") else ""
            raise UsageError(f"model '{name}' has no {_option(setting)}{why}; it has {known}")
        low, high = _RANGES.get(setting, (-math.inf, math.inf))
        if setting in _RANGES and not low <= value <= high:
            raise UsageError(f"{_option(setting)} {value} should be from {low:g} to {high:g}")
        settings[setting] = value
    settings.setdefault("topics", settings["nodes"])
    return SynthesisPlan(model=model, **settings)


LAW_SETTINGS = {
    "multi-modal": ("categories", "categories_per_node", "alpha"),
    "spatial": (),
    "hierarchical": ("init_frac", "homophily", "alpha0"),
}
"""The laws that a scenario may name, with the settings that follow the name after colons."""


def plan_of_law(law: str, nodes: int, topics: int, subscriptions_per_node: str) -> SynthesisPlan:
    """Return the plan of a law such as multi-modal:10:1:1; numbers left out are the paper's."""
    name, *numbers = law.split(":")
    settings = LAW_SETTINGS[name]
    if len(numbers) > len(settings):
        form = ":".join([name, *(setting.upper() for setting in settings)])
        raise UsageError(f"popularity '{law}' should be {form}, with as many numbers at most")
    given: dict[str, Any] = {"nodes": nodes, "subscriptions_per_node": subscriptions_per_node}
    for setting, text in zip(settings, numbers, strict=False):
        low, high = _RANGES[setting]
        value = number_in(f"{setting} in popularity '{law}'", text, low, high)
        given[setting] = int(value) if setting.startswith("categories") else value
    if name == "spatial":
        if topics != nodes:
            raise UsageError(
                f"with popularity 'spatial' each node is a topic: {nodes} nodes need {nodes} "
                f"topics, not {topics}"
            )
    else:
        given["topics"] = topics
    return make_plan(name, given)


def build(plan: SynthesisPlan, seed: int) -> Model:
    """Build the model of a plan. Raises `UsageError` if its settings do not fit together."""
    name = plan.model.partition(":")[0]
    if name in ("spatial", "hierarchical"):
        mean = _mean(plan.subscriptions_per_node)
        if name == "spatial":
            return Spatial(plan.nodes, mean, seed)
        assert plan.init_frac is not None
        assert plan.homophily is not None
        assert plan.alpha0 is not None
        return Hierarchy(plan.topics, mean, plan.init_frac, plan.homophily, plan.alpha0, seed)
    sizes = Sizes(plan.subscriptions_per_node)
    if plan.categories is None:
        return Popularity(LAW_OF.get(plan.model, plan.model), plan.topics, sizes, seed)
    assert plan.categories_per_node is not None
    if plan.alpha is None:
        return Buckets(plan.topics, plan.categories, plan.categories_per_node, sizes, seed)
    return MultiModal(
        plan.topics, plan.categories, plan.categories_per_node, plan.alpha, sizes, seed
    )


def _mean(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value <= TOPICS_MAX:
        raise UsageError(f"this model takes a mean of subscriptions per node, not '{text}'")
    return value


def _option(setting: str) -> str:
    return "--" + setting.replace("_", "-")
