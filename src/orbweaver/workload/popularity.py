"""Popularity laws give the probability of each topic, the most popular first."""

from __future__ import annotations

import math

from orbweaver.core.errors import UsageError, nearest

LAWS = {
    "uniform": "every topic alike",
    "zipf:A": "proportional to 1/rank^A",
    "rss": "zipf:0.5, as measured for RSS feeds (SpiderCast 3.1)",
    "nyse": "exponential, the top 10 % of the topics hold 0.55 (SpiderCast 3.1)",
    "exponential:S": "exponential, the top 10 % of the topics hold the share S",
}


GROUPED = {
    "buckets:GROUPS:TAKEN": "topics in GROUPS equal groups, each node takes its own from TAKEN of "
    "the groups (Vitis IV-A)",
}
"""Laws of the topics that one node wants together, rather than of each topic by itself."""

CORRELATED = {
    "multi-modal:GROUPS:TAKEN:A": "topics in GROUPS equal groups, each node takes its own from "
    "TAKEN of the groups by zipf:A; without numbers 10:1:1 (Magnet 4.2)",
    "spatial": "each node is a topic, and takes the topics of nearby nodes on a square, as many as "
    "subscriptions for each node on average (Magnet 4.3)",
    "hierarchical:INITFRAC:LAMBDA:ALPHA0": "preferential attachment in a tree of topics, with "
    "subscriptions for each node on average; without numbers 0.1:2:2 (Magnet 4.4)",
}
"""Laws that are drawn by a model of `workload.models`, which needs the lab install."""


def is_correlated(law: str) -> bool:
    return law.partition(":")[0] in {name.partition(":")[0] for name in CORRELATED}


def weights(law: str, topics: int, what: str = "popularity") -> list[float]:
    """Return one probability for each topic; they add up to 1. `what` names the law in errors."""
    name, _, argument = law.partition(":")
    if name == "uniform" and not argument:
        raw = [1.0] * topics
    elif name == "rss" and not argument:
        raw = _zipf(0.5, topics)
    elif name == "zipf":
        raw = _zipf(number_in(f"{what} '{law}'", argument, 0.0, 100.0), topics)
    elif name == "nyse" and not argument:
        raw = _exponential(0.55, topics)
    elif name == "exponential":
        raw = _exponential(number_in(f"{what} '{law}'", argument, 0.1, 0.999), topics)
    else:
        others = {**GROUPED, **CORRELATED} if what == "popularity" else {}
        raise UsageError(f"unknown {what} '{law}': {nearest(law, {**LAWS, **others})}")
    total = math.fsum(raw)
    return [weight / total for weight in raw]


def _zipf(exponent: float, topics: int) -> list[float]:
    return [(rank + 1) ** -exponent for rank in range(topics)]


def _exponential(share: float, topics: int) -> list[float]:
    """Return exp(-rate * rank) for each topic, with the rate at which the first tenth of the
    topics holds `share`."""
    top = max(1, round(topics / 10))

    def held(rate: float) -> float:
        return -math.expm1(-rate * top) / -math.expm1(-rate * topics)

    low, high = 1e-9, 700.0 / topics
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < share else (low, middle)
    return [math.exp(-low * rank) for rank in range(topics)]


def number_in(whose: str, text: str, low: float, high: float) -> float:
    """Read the number that follows a colon; `whose` says in errors what the number belongs to."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise UsageError(f"{whose} needs a number from {low:g} to {high:g} after ':', not '{text}'")
    return value
