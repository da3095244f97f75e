"""Design an overlay: subscriptions go in; links, degrees and bounds come out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from orbweaver.core.seeds import generator, shuffled
from orbweaver.design.bounds import LowerBounds, lower_bounds
from orbweaver.design.fast import as_arrays, choose_links, count_contributions
from orbweaver.design.rules import Rule
from orbweaver.workload.links import Link


@dataclasses.dataclass(frozen=True)
class Plan:
    given: tuple[Link, ...]
    """The links that the design started from."""
    added: tuple[Link, ...]
    """The chosen links, in the order in which they were chosen."""
    degrees: tuple[int, ...]
    """The degree of each node."""
    bounds: LowerBounds
    """Bounds that hold for every topic-connected overlay for these subscriptions, whatever links
    it started from."""

    @property
    def links(self) -> tuple[Link, ...]:
        return self.given + self.added

    @property
    def degree_max(self) -> int:
        return max(self.degrees)

    @property
    def degree_mean(self) -> float:
        return sum(self.degrees) / len(self.degrees)


def design(
    interests: Sequence[Iterable[str]], rule: Rule, seed: int = 0, given: Iterable[Link] = ()
) -> Plan:
    """Choose links under which each topic is connected.

    `interests` says what each node subscribes to, and nodes are numbers in it. Start from the
    `given` links (LowODA-Inc), or from none (LowODA-Re). The seed decides among links that
    are equally good.
    """
    order = drawn_order(len(interests), seed)
    place = [0] * len(order)
    for i, node in enumerate(order):
        place[node] = i
    start = tuple(dict.fromkeys(_link(a, b) for a, b in given))
    topics = numbered(interests)
    arrays = as_arrays([topics[node] for node in order])
    contributions = count_contributions(arrays)
    bounds = lower_bounds(contributions, arrays)
    chosen = choose_links(contributions, arrays, rule, [(place[a], place[b]) for a, b in start])
    added = tuple(_link(order[u], order[v]) for u, v in chosen)
    degrees = [0] * len(order)
    for a, b in start + added:
        degrees[a] += 1
        degrees[b] += 1
    return Plan(start, added, tuple(degrees), bounds)


def drawn_order(nodes: int, seed: int) -> list[int]:
    """Return all nodes in the order in which rules look at them."""
    return shuffled(generator("design", seed), range(nodes))


def numbered(interests: Iterable[Iterable[str]]) -> list[list[int]]:
    """Return the same interests with numbers in place of topics, in the order of first mention.

    Other numbers would give the same links. These are faster: nodes that are next to each other
    in a table are often alike, so topics of the same nodes get numbers next to each other.
    """
    number: dict[str, int] = {}
    return [sorted({number.setdefault(t, len(number)) for t in topics}) for topics in interests]


def _link(a: int, b: int) -> Link:
    return (a, b) if a < b else (b, a)
