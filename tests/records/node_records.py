"""Records of live nodes for tests: recorders whose clock is set by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.records import Records
from orbweaver.records.live import LiveRecorder

BORN = 1_700_000_000_000
EVENT = Event("news/sport", NodeId(1), 70, 2, b"payload")


class Clock:
    def __init__(self) -> None:
        self.now = BORN

    def __call__(self) -> int:
        return self.now


class Nodes:
    """Some nodes that write into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()

    def at(self, now: int) -> None:
        """So many milliseconds after the first."""
        self.clock.now = BORN + now

    def begin(self, node: int, overlay: str = "spidercast", **params: Any) -> LiveRecorder:
        made = LiveRecorder(self.folder, NodeId(node), overlay, params, clock_ms=self.clock)
        made.joined()
        return made

    def end(self, recorder: LiveRecorder) -> None:
        recorder.left()
        recorder.close()


def rows(records: Records, table: str) -> list[tuple[Any, ...]]:
    return list(records[table].rows())
