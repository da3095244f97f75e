"""What a sweep asks of the session that is made for it."""

from __future__ import annotations

import pytest

from orbweaver.pipeline import session
from orbweaver.pipeline.memory import LEAST_MB, NODE_KB, WORKER_MB, overhead_mb, sweep_settings
from orbweaver.study.run import Job
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec


def job(nodes: int) -> Job:
    return (
        Scenario(
            overlay="spidercast",
            workload=WorkloadSpec(nodes=nodes, topics=4, subscriptions_per_node="2"),
            publish=PublishSpec(per_topic=0),
            run=RunSpec(warmup_ms=1000, drain_ms=0),
        ),
        0,
    )


def test_the_overhead_is_that_of_the_largest_run_on_every_core() -> None:
    grown = WORKER_MB + 4096 * NODE_KB // 1024
    assert overhead_mb([job(10), job(4096)], 6.0, 1) == LEAST_MB + grown
    assert overhead_mb([job(4096)], 6.0, 4) == LEAST_MB + 4 * grown
    assert overhead_mb([job(10**6)], 6.0, 2) == LEAST_MB + 2 * 6 * 1024, "a run is ended there"


@pytest.mark.parametrize(
    ("master", "given", "expected"),
    [
        ("yarn", {}, overhead_mb([job(4096)], 6.0, 1)),
        ("k8s://https://h:6443", {"spark.executor.cores": "3"}, overhead_mb([job(4096)], 6.0, 3)),
        ("spark://h:7077", {}, None),
        ("sc://h", {}, None),
        (None, {}, None),
    ],
)
def test_who_is_asked_for_memory(
    master: str | None, given: dict[str, str], expected: int | None
) -> None:
    found = sweep_settings(master, [job(4096)], 6.0, given)
    wanted = None if expected is None else f"{expected}m"
    assert found.get("spark.executor.memoryOverhead") == wanted


@pytest.mark.parametrize(
    ("megabytes", "expected"), [(1000, "1024m"), (8000, "2000m"), (100_000, "8192m")]
)
def test_the_driver_takes_a_quarter_of_what_the_control_group_allows(
    monkeypatch: pytest.MonkeyPatch, megabytes: int, expected: str
) -> None:
    monkeypatch.setattr(session, "memory_bytes", lambda: megabytes << 20)
    assert session._driver_memory() == expected
