"""Makes the sentence that says which nodes were told of each other by an oracle."""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.study.run import Result

ORACLES = {
    ("medians", "exact"): "of the medians of all places on the ring",
    ("membership", "full"): "of all nodes",
    ("membership", "partial"): "of a random share of the nodes",
}
"""Parameter and its value -> what the oracle tells each node of."""


def told_oracle(results: Iterable[Result]) -> str:
    """Name the overlays that an oracle told of other nodes, or return an empty text."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        for name, value in ORACLES:
            if result.params.get(name) == value:
                found.setdefault((name, value), {})[result.overlay] = None
    told = [
        f"{', '.join(sorted(overlays))}: {ORACLES[name, value]} ({name}={value})"
        for (name, value), overlays in sorted(found.items())
    ]
    if not told:
        return ""
    return (
        "An oracle told nodes of each other. That costs no traffic, and no real network has one. "
        + "; ".join(told)
        + "."
    )
