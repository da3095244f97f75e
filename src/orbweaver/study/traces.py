"""Real traces that a study needs: which file, and how it is read and cut to size."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    name: str
    file: str
    """Inside the folder of traces."""
    kind: str
    """As for `orbweaver ingest`."""
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    method: str = ""
    """As for `orbweaver sample`; none keeps the whole trace."""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    def folder(self, work: Path) -> Path:
        """Where its tables are, cut to size."""
        return work / self.name.replace(" ", "-").lower()
