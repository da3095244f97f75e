"""How alike two interests are: the utility in Vitis (equation 1), `sim` in Magnet (Sec. 2.1)."""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.ids import Topic
from orbweaver.core.topics import Interest, TopicTable


def overlap(mine: Interest, other: Interest) -> float:
    """Return the share of common topics among all topics of either node: the utility if all rates
    are the same."""
    shared = (mine.mask & other.mask).bit_count()
    # Called more often than anything else; hence no len() of the interests.
    either = len(mine.topics) + len(other.topics) - shared
    return shared / either if either else 0.0


def weighted(
    mine: Interest, other: Interest, topics: TopicTable, rates: Mapping[Topic, float]
) -> float:
    """Return the same share with each topic weighted by its publication rate."""
    both = mine.mask & other.mask
    if not both:
        return 0.0  # as for most strangers; the rest takes long
    rate = rates.__getitem__
    shared = sum(map(rate, topics.of_mask(both).topics))
    either = sum(map(rate, mine.topics)) + sum(map(rate, other.topics)) - shared
    return shared / either if either else 0.0
