"""The adaptive setting of K_r (Sec. 3.3.1)."""

from __future__ import annotations

KR_MAX = 3


def next_kr(kr: int, kg: int, degree: int, subscriptions: int) -> int:
    """Return K_r for a node whose greedy and random coverage are both complete.

    A node covered by just K_g neighbours has interests too like theirs for the links to
    be random, so it starts random coverage; it goes on while it has fewer links than
    subscriptions. The paper goes on "if K_r <= 3"; we read the bound as the largest K_r,
    since three random links are what its argument from regular graphs asks for.
    """
    if kr == 0:
        return 1 if degree == kg else 0
    if degree < subscriptions and kr < KR_MAX:
        return kr + 1
    return kr
