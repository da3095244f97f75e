"""Places names beside discs, so that none lies on a disc or on another name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

LETTER = 0.6
"""The width of a letter over the height of its font."""
GAP = 3.0
"""Pixels between a disc and its name."""


class Spot(NamedTuple):
    """A disc in pixels, from the top left."""

    name: str
    x: float
    y: float
    radius: float


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def place_labels(
    named: Sequence[Spot], discs: Sequence[Spot], font: float, width: float, height: float
) -> list[tuple[float, float] | None]:
    """Return where the name of each spot begins, as its left end and the middle of its height;
    None where there is no room for it. `discs` are what no name may cover. Hovering still shows a
    name without room."""
    taken = [Box(d.x - d.radius, d.y - d.radius, d.x + d.radius, d.y + d.radius) for d in discs]
    found: list[tuple[float, float] | None] = []
    for spot in named:
        at = None
        for box in _places(spot, _reach(spot, discs), font):
            inside = box.left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                at = (box.left, (box.top + box.bottom) / 2)
                break
        found.append(at)
    return found


def _reach(spot: Spot, discs: Sequence[Spot]) -> float:
    """Return the distance from a spot at which it, and all larger discs that it lies on, end."""
    apart = [(math.hypot(spot.x - disc.x, spot.y - disc.y), disc.radius) for disc in discs]
    return max([spot.radius, *(away + radius for away, radius in apart if away < radius)])


def _places(spot: Spot, reach: float, font: float) -> list[Box]:
    """Return the places for a name, the best first: right, left, above, below, and the corners."""
    wide, tall = LETTER * font * len(spot.name), 1.2 * font
    out = reach + GAP
    lefts = {"right": spot.x + out, "left": spot.x - out - wide, "middle": spot.x - wide / 2}
    tops = {"above": spot.y - out - tall, "below": spot.y + out, "middle": spot.y - tall / 2}
    order = (
        ("right", "middle"), ("left", "middle"), ("middle", "above"), ("middle", "below"),
        ("right", "above"), ("right", "below"), ("left", "above"), ("left", "below"),
    )  # fmt: skip
    return [Box(lefts[x], tops[y], lefts[x] + wide, tops[y] + tall) for x, y in order]
