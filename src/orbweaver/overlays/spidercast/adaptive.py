"""Adapt K_r (Sec. 3.3.1)."""

from __future__ import annotations

KR_MAX = 3
"""Largest K_r to which a node adapts."""


def next_kr(kr: int, kg: int, degree: int, subscriptions: int) -> int:
    """Return K_r for a node whose greedy and random coverage are both complete.

    A node that is covered by just K_g neighbours has interests too like theirs for the links to
    be random, so it starts random coverage, and raises K_r while it has fewer links than
    subscriptions. The paper raises it "if K_r <= 3". We read 3 as the largest K_r, since the
    paper's argument from regular graphs needs three random links.
    """
    if kr == 0:
        return 1 if degree == kg else 0
    if degree < subscriptions and kr < KR_MAX:
        return kr + 1
    return kr
