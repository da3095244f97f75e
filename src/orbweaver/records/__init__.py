"""Records hold what happened in a run, as facts: one schema for every host. Metrics judge them."""

from orbweaver.records.recorder import Recorder, Records

__all__ = ["Recorder", "Records"]
