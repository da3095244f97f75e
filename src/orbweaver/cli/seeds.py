"""Parses seeds as they are written on the command line."""

from __future__ import annotations

from orbweaver.core.errors import UsageError


def parse_seeds(text: str) -> list[int]:
    """Parse seeds such as `0-4`, `7` or `1,3,5`."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UsageError(f"seeds '{text}' should look like 0-2 or 1,5,9")
        if int(last or first) - int(first) >= 10_000:
            raise UsageError(f"seeds '{text}' are too many: a range has at most 10,000")
        seeds.extend(range(int(first), int(last or first) + 1))
    if not seeds:
        raise UsageError(f"seeds '{text}' name no seed; they should look like 0-2 or 1,5,9")
    return list(dict.fromkeys(seeds))  # a seed that is named twice runs once
