"""Amounts as people write them: 30m, 10/s, 1KB."""

from __future__ import annotations

import re

from orbweaver.core.errors import UsageError

TIMES_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
SIZES = {"B": 1, "KB": 1000, "MB": 1_000_000}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def parse_time_ms(what: str, text: str) -> float:
    """Read a time such as 30m, in milliseconds."""
    return _amount(what, text, TIMES_MS, "30m")


def parse_bytes(what: str, text: str) -> int:
    """Read a size such as 1KB; a number alone counts bytes."""
    units = {name.lower(): size for name, size in SIZES.items()} | {"": 1}
    return round(_amount(what, text.lower(), units, "1KB"))


def parse_rate(what: str, text: str) -> float:
    """Read a rate such as 10/s or 600/m, per second; a number alone is per second."""
    number, slash, unit = text.partition("/")
    per_ms = _amount(what, f"1{unit}" if slash else "1s", TIMES_MS, "10/s")
    rate = _amount(what, number, {"": 1}, "10/s") * 1000 / per_ms
    if not rate:
        raise UsageError(f"{what} '{text}' should be above 0, as in 10/s")
    return rate


def _amount(what: str, text: str, units: dict[str, int], example: str) -> float:
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or match[2] not in units:
        known = ", ".join(unit for unit in units if unit) or "no unit"
        raise UsageError(f"{what} '{text}' should look like {example} (units: {known})")
    return float(match[1]) * units[match[2]]
