"""The same seed gives the same records, byte for byte, in any process."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from orbweaver.overlays.catalog import find
from orbweaver.sim.simulation import simulate
from orbweaver.workload.scenario_files import build_scenario

CASES = {
    "spidercast full": ("spidercast", {}),
    "spidercast not adaptive": ("spidercast", {"adaptive": False, "kr": 1}),
    "spidercast partial": ("spidercast", {"membership": "partial", "view_share": 0.4}),
    "spidercast gossip": ("spidercast", {"membership": "gossip", "view_size": 20}),
    "similarity": ("similarity", {"random": 2}),
    "random": ("random", {}),
    "ring-per-topic": ("ring-per-topic", {}),
    "ring-per-topic gossip": ("ring-per-topic", {"membership": "gossip", "view_size": 20}),
}
ROUGH = {
    "workload": {"nodes": 40, "topics": 10, "subscriptions_per_node": "2:4"},
    "latency": {"model": "uniform", "low_ms": 1, "high_ms": 30},
    "faults": {
        "loss": 0.02,
        "duplicate": 0.02,
        "reorder": 0.05,
        "slow_share": 0.1,
        "partitions": [{"start_ms": 4000, "end_ms": 6000, "share": 0.3}],
    },
    "churn": {"model": "weibull", "on_ms": 8000, "off_ms": 2000, "new_interest": True},
    "publish": {"by": "anyone"},
}
"""Everything that draws from chance, at once."""

CHILD = """
import json, sys
from orbweaver.overlays.catalog import find
from orbweaver.sim.simulation import simulate
from orbweaver.workload.scenario_files import build_scenario
cases, rough = json.loads(sys.argv[1])
digests = {}
for name, (overlay, params) in cases.items():
    scenario = build_scenario({"overlay": overlay, "params": params} | rough, name)
    digests[name] = simulate(scenario, 3, find(overlay)).records.digest()
print(json.dumps(digests))
"""


@pytest.fixture(scope="module")
def digests() -> list[dict[str, str]]:
    """Of every case, in two processes that hash strings differently."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, json.dumps([CASES, ROUGH])],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "4242")
    ]
    return [json.loads(child.communicate()[0]) for child in children]


def run(case: str, seed: int, **parts: Any):
    overlay, params = CASES[case]
    scenario = build_scenario({"overlay": overlay, "params": params} | ROUGH | parts, case)
    return simulate(scenario, seed, find(overlay)).records


@pytest.mark.parametrize("case", CASES)
def test_processes_agree(digests: list[dict[str, str]], case: str) -> None:
    assert digests[0][case] == digests[1][case]


@pytest.mark.parametrize("case", ["spidercast full", "ring-per-topic"])
def test_this_process_agrees_too(digests: list[dict[str, str]], case: str) -> None:
    assert run(case, 3).digest() == digests[0][case]


@pytest.mark.parametrize("case", CASES)
def test_cases_and_seeds_differ(digests: list[dict[str, str]], case: str) -> None:
    others = [digest for name, digest in digests[0].items() if name != case]
    assert digests[0][case] not in others
    assert run(case, 4).digest() != digests[0][case]


def test_two_overlays_meet_the_same_churn_and_publications() -> None:
    """The surroundings are drawn without regard to the overlay."""
    one, other = run("spidercast full", 3), run("ring-per-topic", 3)
    assert list(one["nodes"].rows()) == list(other["nodes"].rows())
    assert list(one["interests"].rows()) == list(other["interests"].rows())
    columns = ("time_ms", "event", "topic", "node")
    for column in columns:
        assert list(one["publications"][column]) == list(other["publications"][column])
