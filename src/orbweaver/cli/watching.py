"""Watches a node: keeps its readings and computes rates from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orbweaver.cli.reading import parse_address, read_memory, read_status, trouble
from orbweaver.core.errors import UsageError
from orbweaver.net.admin.status import Status

HISTORY = 120
"""How many rates of delivery are kept for each node."""


@dataclass(frozen=True)
class StatusReading:
    status: Status
    memory: float | None = None


Read = Callable[[str], StatusReading]
"""Read a node by its admin address. Raises `UsageError` if no node answers."""


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
    """The reading before `now`. None after a restart of the node, whose counts begin at zero."""
    error: str = ""
    """Why the last attempt to read failed; empty if it succeeded. `now` keeps the last reading."""
    delivered: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """Deliveries per second at each reading, the newest last."""

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
        """Return the growth of a counter per second between the last two readings."""
        if self.now is None or self.before is None or self.error:
            return None
        seconds = self.now.status.uptime_s - self.before.status.uptime_s
        return self._grown(counter) / seconds

    def trouble(self) -> dict[str, tuple[int, int]]:
        """Return the counters that should be zero and are not: value, and latest growth."""
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
    """Return the admin addresses of `admin` and of the file `swarm`, each once."""
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
            raise UsageError(
                f"{swarm} has no admin address; it should have one on each line, as 127.0.0.1:7701"
            )
    for address in named:
        parse_address(address)
    return list(dict.fromkeys(named))
