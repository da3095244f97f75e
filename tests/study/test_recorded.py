"""Records that are measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbweaver.records.writers import write_records
from orbweaver.study.recorded import about_run, read_recorded
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario_files import build_scenario

SCENARIOS = {
    "calm": {"run": {"warmup_ms": 2000, "tdi": 3}},
    "churn": {
        "churn": {"model": "exponential", "on_ms": 4000, "off_ms": 1000},
        "run": {"warmup_ms": 2000, "young_ms": 500, "snapshots_ms": [1000, 4000]},
    },
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_simulation_is_measured_as_it_was(tmp_path: Path, name: str) -> None:
    workload = {"nodes": 40, "topics": 6, "subscriptions_per_node": "2"}
    parts = {"overlay": "vitis", "workload": workload} | SCENARIOS[name]
    run = run_scenario(build_scenario(parts, "test"), 3)
    write_records(run.outcome.records, tmp_path / "out", "csv", about_run(run))
    (again,) = read_recorded(tmp_path / "out")
    assert again.result.metrics == run.result.metrics
    assert again.result.snapshots == run.result.snapshots
    assert again.result.states == run.result.states
