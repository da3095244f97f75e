"""Reads a node's admin page. Parts of the page, such as addresses, are text of other nodes, so the
text is made printable before it reaches a terminal."""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.net.admin.status import ADMIN_HOST, ADMIN_PORT, Status

DEFAULT = f"{ADMIN_HOST}:{ADMIN_PORT}"
TIMEOUT_S = 3.0
"""Seconds to wait for an admin page."""
PAGE_BYTES_MAX = 64 * 1024 * 1024
"""Most bytes that are read of an admin page."""

TROUBLE = (
    "dropped_",
    "bad_",
    "forged",
    "missed",
    "replayed",
    "not_allowed",
    "uncertified",
    "flooded",
)
"""Beginnings of the names of counters that should stay at zero."""


def parse_address(text: str) -> tuple[str, int]:
    """Split `HOST:PORT`, or `[HOST]:PORT` for a host with colons."""
    found = re.fullmatch(r"(?:\[([^\]\s]+)\]|([^:\s]+)):(\d{1,5})", text)
    if found is None or not 0 < int(found[3]) < 65536:
        raise UsageError(f"'{text}' is not an address: it should look like {DEFAULT}")
    return found[1] or found[2], int(found[3])


def fetch(address: str, path: str) -> bytes:
    """Return a page of the node. Proxies and redirections are not followed."""
    host, port = parse_address(address)
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read(PAGE_BYTES_MAX)
    except (OSError, UnicodeError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise UsageError(
            f"no node answers at {address} ({reason}); does it run, with its admin page there?"
        ) from None
    except http.client.HTTPException:
        raise UsageError(
            f"{address} answers, but not in HTTP; is this the port of the admin page?"
        ) from None
    finally:
        connection.close()
    if answer.status != 200:
        raise UsageError(
            f"{address} answered {path} with HTTP status {answer.status} in place of 200"
        )
    return body


def read_status(address: str) -> Status:
    try:
        return msgspec.json.decode(fetch(address, "/status"), type=Status)
    except msgspec.DecodeError as error:
        raise UsageError(f"{address} answers, but not with the status of a node: {error}") from None


def read_memory(address: str) -> float | None:
    """Return the node's resident bytes, or None if its system does not report them."""
    found = re.search(rb"(?m)^process_resident_memory_bytes (\S+)$", fetch(address, "/metrics"))
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None


def trouble(counters: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name, n in counters.items() if n and name.startswith(TROUBLE)}


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def duration(seconds: float) -> str:
    """Format seconds in the two largest units that are not zero."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
