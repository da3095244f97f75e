"""Makes the sentence that says which nodes were told of each other by an oracle."""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.study.run import Result

ORACLES = {"full": "of all nodes", "partial": "of a random share of the nodes"}
"""Setting of `membership` -> which nodes the oracle tells each node of."""


def told_oracle(results: Iterable[Result]) -> str:
    """Name the overlays that an oracle told of other nodes, or return an empty text."""
    found: dict[str, dict[str, None]] = {}
    for result in results:
        membership = result.params.get("membership")
        if membership in ORACLES:
            found.setdefault(membership, {})[result.overlay] = None
    told = [
        f"{', '.join(sorted(overlays))}: {ORACLES[membership]} (membership={membership})"
        for membership, overlays in sorted(found.items())
    ]
    if not told:
        return ""
    return (
        "An oracle told nodes of each other. That costs no traffic, and no real network has one. "
        + "; ".join(told)
        + "."
    )
