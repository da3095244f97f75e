"""What happened, as facts: one schema for every host. Judging is left to metrics."""

from orbweaver.records.recorder import Recorder, Records

__all__ = ["Recorder", "Records"]
