"""The degree of a node is how many links it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from orbweaver.metrics.snapshot import Snapshot


def degrees(overlay: Snapshot) -> list[int]:
    return [len(peers) for peers in overlay.links.values()]


def histogram(values: Sequence[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))
