"""Identifier acquisition: which place on the skewed ring a node takes (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, zip_longest
from random import Random

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import pick
from orbweaver.overlays.magnet.messages import Sample


def most_similar(
    view: Iterable[Sample],
    similarity: Callable[[Sample], float],
    rng: Random,
    excluded: Collection[NodeId] = (),
) -> Sample | None:
    """Return the node of the view whose interest is most similar, ties broken randomly (line 2).
    None if the view is empty."""
    best, ties = -1.0, []
    for sample in view:
        if sample.node in excluded:
            continue
        alike = similarity(sample)
        if alike > best:
            best, ties = alike, [sample]
        elif alike == best:
            ties.append(sample)
    return pick(rng, ties) if ties else None


def mean(place: int, after: int) -> int | None:
    """Return the place halfway from one to the next, clockwise (line 3). None if there is none in
    between. A node that stands alone has the whole ring between itself and itself."""
    gap = (after - place) % SPACE or SPACE
    return (place + gap // 2) % SPACE if gap > 1 else None


def place_beside(here: int, ahead: Sequence[int], behind: Sequence[int]) -> int | None:
    """Return a place next to `here`, given the next places that are taken ahead of it and behind
    it, the nearest first.

    It is halfway to the next place ahead. Midpoints eat the bits of identifiers, one each time;
    where no number is left in between, the gaps further away are tried, the nearest first. None if
    all of them are closed.
    """
    if not ahead:
        return mean(here, here)
    forward = list(zip((here, *ahead), ahead, strict=False))
    backward = list(zip(behind, (here, *behind), strict=False))
    for start, end in chain.from_iterable(zip_longest(forward, backward, fillvalue=(here, here))):
        if start != end and (found := mean(start, end)) is not None:
            return found
    return None


def bits_in_use(here: int, after: int) -> int:
    """Return how many bits of the identifiers are used up to tell a node from the next one."""
    gap = (after - here) % SPACE or SPACE
    return 65 - gap.bit_length()
