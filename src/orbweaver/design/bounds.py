"""How low the degrees of a topic-connected overlay can be at best.

What a link between two nodes can do is limited by the topics that they share, their overlap.

- A node has a neighbour for each of its topics that others want too, so the overlaps with its
  neighbours add up to the number of these topics at least.
- A topic with n subscribers needs n - 1 links among them, so the overlaps of all links add up
  to the sum of these numbers at least.

Both are filled with the largest overlaps first. No overlay can have lower degrees; whether
one can have these is not known.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from orbweaver.design.fast import Array, Interests, compiled


@dataclasses.dataclass(frozen=True)
class LowerBounds:
    """No topic-connected overlay has lower degrees."""

    degree_max: int
    degree_mean: float


def lower_bounds(overlaps: Array, interests: Interests) -> LowerBounds:
    """Return the bounds, from the topics that each two nodes share."""
    members = np.diff(interests.first_member)
    merges = int(np.maximum(members - 1, 0).sum())
    wanted_by_others = members[interests.slot_topic] > 1
    needs = np.bincount(interests.slot_node[wanted_by_others], minlength=interests.nodes)
    least, reach, count = _fill(overlaps, needs)
    # Each overlap counts at both ends of its link.
    degree_max = int(np.searchsorted(np.cumsum(reach), 2 * merges)) + 1 if merges else 0
    ends = max(int(least.sum()), largest_needed(count, 2 * merges))
    links = -(-ends // 2)
    return LowerBounds(
        max(degree_max, int(least.max(initial=0))), 2 * links / max(1, interests.nodes)
    )


def largest_needed(count: Array, total: int) -> int:
    """Return how many numbers add up to `total`, the largest first; `count` says how many
    there are of each."""
    taken = 0
    for value in range(len(count) - 1, 0, -1):
        of_this = min(int(count[value]), -(-total // value))
        taken += of_this
        total -= of_this * value
        if total <= 0:
            break
    return taken


@compiled
def _fill(overlaps: Array, needs: Array) -> tuple[Array, Array, Array]:
    """Return the least degree of each node; what all first neighbours could share with their
    nodes at best, all second neighbours and so on; and how many overlaps there are of each
    size."""
    nodes = len(overlaps)
    largest = needs.max()
    least = np.zeros(nodes, np.int64)
    reach = np.zeros(nodes, np.int64)
    count = np.zeros(largest + 1, np.int64)
    in_row = np.zeros(largest + 1, np.int64)
    for u in range(nodes):
        in_row[:] = 0
        for overlap in overlaps[u]:
            in_row[overlap] += 1
        degree = 0
        total = 0
        for overlap in range(needs[u], 0, -1):
            count[overlap] += in_row[overlap]
            for _ in range(in_row[overlap]):
                reach[degree] += overlap
                degree += 1
                if total < needs[u]:
                    least[u] = degree
                total += overlap
    return least, reach, count
