"""The lean install: nothing of the lab is needed, or even loaded, to run overlays."""

import subprocess
import sys

import pytest

HEAVY = ["numpy", "pyspark", "pandas", "matplotlib", "pyarrow"]


@pytest.mark.parametrize(
    "modules",
    [
        ["orbweaver", "orbweaver.overlays.catalog", "orbweaver.sim.simulation"],
        ["orbweaver.metrics.summary", "orbweaver.records.writers", "orbweaver.workload.scenario"],
    ],
    ids=["overlays and simulator", "records and metrics"],
)
def test_the_lab_is_not_imported(modules: list[str]) -> None:
    code = f"import sys, {', '.join(modules)}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
