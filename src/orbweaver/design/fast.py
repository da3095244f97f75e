"""Do what `textbook` does on arrays, compiled: in seconds for 10,000 nodes.

- Contributions are a dense matrix of small integers. Counting them, and lowering them as
  components merge, costs one step for each pair of subscribers of each topic, once.
- A *slot* is one subscription: a node with a topic of its own. Components of a topic are rings
  of slots with a representative, and the smaller one is renamed when two merge.
- Contributions only fall, so the highest value of a row that was seen once is a bound for
  ever. A row is read again only when its bound is the highest of all; if the bound still
  holds, no other row has a better link. Nodes that have the maximum degree must be told from
  those below it, so two bounds are kept: over all columns, and over those of nodes below.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from orbweaver.core.errors import UsageError
from orbweaver.design.rules import Rule

Array = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

CHUNK = 256
"""How many values are compared at once, before one looks for the place of the highest."""


def compiled(function: F) -> F:
    """Compile a function, and keep the result on disk beside its file.

    A compiled function must not call one of another file: a change of the called function would
    not be noticed.
    """
    return cast(F, numba.njit(cache=True)(function))


@dataclasses.dataclass(frozen=True)
class Interests:
    """Hold subscriptions as arrays, by node and by topic."""

    first_slot: Array
    """For each node, its first slot; and one more entry, where the slots end."""
    slot_topic: Array
    """For each slot, its topic; ascending within a node."""
    slot_node: Array
    first_member: Array
    """For each topic, the place of its first member; and one more entry, where the members end."""
    member: Array
    """The subscribers, topic by topic."""

    @property
    def nodes(self) -> int:
        return len(self.first_slot) - 1


def as_arrays(interests: Sequence[Collection[int]]) -> Interests:
    sizes = np.array([len(topics) for topics in interests], dtype=np.int64)
    topic = np.fromiter((t for topics in interests for t in topics), np.int64, sizes.sum())
    node = np.repeat(np.arange(len(interests)), sizes)
    topic = topic[np.lexsort((topic, node))]
    by_topic = np.argsort(topic, kind="stable")
    counts = np.bincount(topic)
    return Interests(
        np.concatenate(([0], np.cumsum(sizes))),
        topic,
        node,
        np.concatenate(([0], np.cumsum(counts))),
        node[by_topic],
    )


def count_contributions(interests: Interests) -> Array:
    """Return in how many topics a link would merge two components, for each pair of nodes,
    while there are no links: the number of topics that the two share."""
    nodes = interests.nodes
    largest = int(np.diff(interests.first_slot).max(initial=0))
    kind = np.int16 if largest <= np.iinfo(np.int16).max else np.int32
    check_memory(nodes, np.dtype(kind).itemsize)
    contributions = np.zeros((nodes, nodes), dtype=kind)
    _count(contributions, interests.first_member, interests.member)
    return contributions


def check_memory(nodes: int, bytes_per_pair: int) -> None:
    needed = nodes * nodes * bytes_per_pair
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise UsageError(
            f"a design for {nodes:,} nodes needs {needed / 1e9:,.0f} GB, a number for each pair "
            f"of nodes, and this machine has {there / 1e9:,.0f} GB: take a sample of the nodes "
            "(orbweaver sample)"
        )


def choose_links(
    contributions: Array, interests: Interests, rule: Rule, given: Sequence[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """Return the links to add to the given ones, in the order in which they are chosen. This uses
    up `contributions`, which `count_contributions` made: they are zero afterwards."""
    rho = np.inf if rule.algorithm == "minmaxoda" else float(rule.rho)
    links = np.array(given, dtype=np.int64).reshape(-1, 2)
    chosen = _choose(
        contributions,
        interests.first_slot,
        interests.slot_topic,
        interests.slot_node,
        links,
        rule.algorithm != "gm",
        rho,
    )
    return [(int(u), int(v)) for u, v in chosen]


@compiled
def _count(contributions: Array, first_member: Array, member: Array) -> None:
    for topic in range(len(first_member) - 1):
        members = member[first_member[topic] : first_member[topic + 1]]
        for u in members:
            row = contributions[u]
            for v in members:
                row[v] += 1
    for u in range(len(contributions)):
        contributions[u, u] = 0


@compiled
def _highest(values: Array) -> Any:
    highest = values[0]
    for i in range(len(values)):
        highest = max(highest, values[i])
    return highest


@compiled
def _first_highest(values: Array) -> int:
    """Return where the highest value is first."""
    best = values[0]
    place = 0
    for start in range(0, len(values), CHUNK):
        highest = _highest(values[start : start + CHUNK])
        if highest > best:
            best = highest
            place = start
    while values[place] != best:
        place += 1
    return place


@compiled
def _row_bounds(row: Array, cap: Array) -> tuple[Any, Any]:
    """Return the highest value of a row, and the highest one where it is capped."""
    highest = row[0]
    highest_capped = min(row[0], cap[0])
    for v in range(len(row)):
        highest = max(highest, row[v])
        highest_capped = max(highest_capped, min(row[v], cap[v]))
    return highest, highest_capped


@compiled
def _merge(
    contributions: Array,
    one: int,
    other: int,
    slot_node: Array,
    component: Array,
    following: Array,
    size: Array,
    room: Array,
) -> None:
    """Merge the components of two slots, and lower by one each contribution between them."""
    large = component[one]
    small = component[other]
    if large == small:
        return
    if size[large] < size[small]:
        large, small = small, large
    many = room[0, : size[large]]
    few = room[1, : size[small]]
    slot = large
    for i in range(len(many)):
        many[i] = slot_node[slot]
        slot = following[slot]
    slot = small
    for i in range(len(few)):
        few[i] = slot_node[slot]
        component[slot] = large
        slot = following[slot]
    for a in few:
        row = contributions[a]
        for b in many:
            row[b] -= 1
    for b in many:
        row = contributions[b]
        for a in few:
            row[a] -= 1
    size[large] += size[small]
    following[large], following[small] = following[small], following[large]


@compiled
def _connect(
    contributions: Array,
    u: int,
    v: int,
    first_slot: Array,
    slot_topic: Array,
    slot_node: Array,
    component: Array,
    following: Array,
    size: Array,
    room: Array,
) -> None:
    """Merge what a link from `u` to `v` connects, on each topic that they share."""
    i, j = first_slot[u], first_slot[v]
    while i < first_slot[u + 1] and j < first_slot[v + 1]:
        if slot_topic[i] < slot_topic[j]:
            i += 1
        elif slot_topic[i] > slot_topic[j]:
            j += 1
        else:
            _merge(contributions, i, j, slot_node, component, following, size, room)
            i += 1
            j += 1


@compiled
def _choose(
    contributions: Array,
    first_slot: Array,
    slot_topic: Array,
    slot_node: Array,
    given: Array,
    heeds_degrees: bool,
    rho: float,
) -> list[tuple[int, int]]:
    nodes = len(contributions)
    slots = len(slot_topic)
    component = np.arange(slots)
    following = np.arange(slots)
    size = np.ones(slots, np.int64)
    room = np.empty((2, nodes), np.int64)
    degree = np.zeros(nodes, np.int64)
    for u, v in given:
        degree[u] += 1
        degree[v] += 1
        _connect(
            contributions,
            u,
            v,
            first_slot,
            slot_topic,
            slot_node,
            component,
            following,
            size,
            room,
        )

    # Bounds of rows. `full` is over all columns, for each node; `raising` is the same for nodes
    # that have the maximum degree, and zero for others; `keeping` is over the columns of nodes
    # below the maximum degree, for nodes below it, and zero for others. `cap` hides the columns
    # of nodes that are not below. GM treats all nodes as if they had the maximum degree.
    unlimited = np.iinfo(contributions.dtype).max
    cap = np.zeros(nodes, contributions.dtype)
    full = np.zeros(nodes, contributions.dtype)
    for u in range(nodes):
        full[u] = _row_bounds(contributions[u], cap)[0]
    raising = full.copy()
    keeping = np.zeros(nodes, contributions.dtype)
    most = degree.max()
    if heeds_degrees:
        for u in range(nodes):
            if degree[u] < most:
                cap[u], keeping[u], raising[u] = unlimited, full[u], 0

    chosen: list[tuple[int, int]] = []
    while True:
        e2 = _first_highest(keeping)
        while keeping[e2] > 0:
            bound = keeping[e2]
            full[e2], keeping[e2] = _row_bounds(contributions[e2], cap)
            if keeping[e2] == bound:
                break
            e2 = _first_highest(keeping)
        least = rho * keeping[e2] if keeping[e2] > 0 else 0.0
        e1 = _first_highest(raising)
        while raising[e1] > least:
            bound = raising[e1]
            full[e1] = _row_bounds(contributions[e1], cap)[0]
            raising[e1] = full[e1]
            if raising[e1] == bound:
                break
            e1 = _first_highest(raising)

        if raising[e1] > least:
            u = e1
            v = _first_highest(contributions[u])
        elif keeping[e2] > 0:
            u = e2
            v = _first_highest(np.minimum(contributions[u], cap))
        else:
            return chosen
        chosen.append((u, v))
        _connect(
            contributions,
            u,
            v,
            first_slot,
            slot_topic,
            slot_node,
            component,
            following,
            size,
            room,
        )
        degree[u] += 1
        degree[v] += 1
        if not heeds_degrees:
            continue
        if max(degree[u], degree[v]) > most:
            most += 1
            for w in range(nodes):
                cap[w], keeping[w], raising[w] = unlimited, full[w], 0
        for w in (u, v):
            if degree[w] == most:
                cap[w], keeping[w], raising[w] = 0, 0, full[w]
