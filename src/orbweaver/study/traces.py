"""Name a real trace that a study needs: its file, and how it is read and cut to size."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    name: str
    file: str
    """Path inside the folder of traces."""
    kind: str
    """Kind of trace, as `orbweaver ingest` names it."""
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    method: str = ""
    """Method of sampling, as `orbweaver sample` names it; none keeps the whole trace."""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    def folder(self, work: Path) -> Path:
        """Return the folder with the tables of the trace, cut to size."""
        return work / self.name.replace(" ", "-").lower()
