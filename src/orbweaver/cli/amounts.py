"""Amounts as people write them: 30m, 10/s, 1KB."""

from __future__ import annotations

import re

from orbweaver.core.errors import UsageError

TIMES_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
SIZES = {"B": 1, "KB": 1000, "MB": 1_000_000}
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/\s*([a-z]+))?")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def parse_time_ms(what: str, text: str) -> float:
    """Read a time such as 30m, in milliseconds."""
    return _amount(what, text, TIMES_MS, "30m")


def parse_bytes(what: str, text: str, most: int) -> int:
    """Read a size such as 1KB, of at most `most` bytes; a number alone counts bytes."""
    size = round(_amount(what, text, SIZES | {"": 1}, "1KB"))
    if size > most:
        raise UsageError(f"{what} '{text}' should be at most {most:,} bytes")
    return size


def parse_rate(what: str, text: str) -> float:
    """Read a rate such as 10/s or 600/m, per second; a number alone is per second."""
    match = _RATE.fullmatch(text.strip())
    unit = match[2] or "s" if match else ""
    if match is None or unit not in TIMES_MS:
        raise UsageError(f"{what} '{text}' should look like 10/s (per {', '.join(TIMES_MS)})")
    if not float(match[1]):
        raise UsageError(f"{what} '{text}' should be above 0, as in 10/s")
    return float(match[1]) * 1000 / TIMES_MS[unit]


def _amount(what: str, text: str, units: dict[str, int], example: str) -> float:
    match = _AMOUNT.fullmatch(text.strip())
    sizes = {unit.lower(): size for unit, size in units.items()}
    if match is None or match[2].lower() not in sizes:
        known = ", ".join(unit for unit in units if unit)
        raise UsageError(f"{what} '{text}' should look like {example} (units: {known})")
    return float(match[1]) * sizes[match[2].lower()]
