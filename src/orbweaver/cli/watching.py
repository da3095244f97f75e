"""A node as it is watched: its readings one after another, and what lies between two."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orbweaver.cli.reading import parse_address, read_memory, read_status, trouble
from orbweaver.core.errors import UsageError
from orbweaver.net.status import Status

HISTORY = 120


@dataclass(frozen=True)
class StatusReading:
    status: Status
    memory: float | None = None


Read = Callable[[str], StatusReading]
"""From an admin address. A `UsageError` if nobody answers."""


def read(address: str) -> StatusReading:
    status = read_status(address)
    try:
        return StatusReading(status, read_memory(address))
    except UsageError:
        return StatusReading(status)


@dataclass
class Watched:
    address: str
    now: StatusReading | None = None
    before: StatusReading | None = None
    """The reading before, of the same life of the node: counts begin anew when it restarts."""
    error: str = ""
    """Why the last attempt gave nothing. The last reading is kept."""
    delivered: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """Rates, the newest last."""

    def took(self, reading: StatusReading) -> None:
        last = self.now
        same = last is not None and (
            last.status.id == reading.status.id and last.status.uptime_s < reading.status.uptime_s
        )
        self.before, self.now, self.error = (last if same else None), reading, ""
        self.delivered.append(self.rate("delivered") or 0.0)

    def failed(self, error: str) -> None:
        self.error = error
        self.delivered.append(0.0)

    def rate(self, counter: str) -> float | None:
        """How often a second, between the last two readings."""
        if self.now is None or self.before is None or self.error:
            return None
        seconds = self.now.status.uptime_s - self.before.status.uptime_s
        return self._grown(counter) / seconds

    def trouble(self) -> dict[str, tuple[int, int]]:
        """Counters that should be zero and are not: how many, and how many of them new."""
        if self.now is None:
            return {}
        found = trouble(self.now.status.counters)
        return {name: (n, self._grown(name)) for name, n in found.items()}

    def _grown(self, counter: str) -> int:
        if self.now is None or self.before is None:
            return 0
        newer, older = self.now.status.counters, self.before.status.counters
        return max(0, newer.get(counter, 0) - older.get(counter, 0))


def addresses(admin: list[str], swarm: Path | None) -> list[str]:
    """Those named one by one and those in the file, each once."""
    named = list(admin)
    if swarm is not None:
        try:
            lines = swarm.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise UsageError(f"{swarm}: {reason.lower()}") from None
        stripped = [line.partition("#")[0].strip() for line in lines]
        named += [line for line in stripped if line]
        if not named:
            raise UsageError(f"{swarm} names no admin address, such as 127.0.0.1:7701")
    for address in named:
        parse_address(address)
    return list(dict.fromkeys(named))
