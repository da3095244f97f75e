"""Waves and tasks of runs, by the time that they are expected to take."""

from __future__ import annotations

import math

import msgspec
import pytest

from orbweaver.pipeline.bundles import GROWTH, TASK_S, TASKS_PER_CORE, Pace, bundle, wave_size, work
from orbweaver.study.run import Job, Result, run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

CORES = 2


def job(nodes: int, seed: int = 0, overlay: str = "spidercast") -> Job:
    return (
        Scenario(
            overlay=overlay,
            workload=WorkloadSpec(nodes=nodes, topics=4, subscriptions_per_node="2"),
            publish=PublishSpec(per_topic=0),
            run=RunSpec(warmup_ms=1000, drain_ms=0),
        ),
        seed,
    )


@pytest.fixture(scope="module")
def result() -> Result:
    return run_scenario(*job(10)).result


def paced(result: Result, seconds: float) -> Pace:
    pace = Pace()
    pace.learn([job(10)], [msgspec.structs.replace(result, wall_seconds=seconds)])
    return pace


def test_a_run_is_expected_to_take_as_long_as_others_for_the_same_work(result: Result) -> None:
    assert work(job(20)) == 2 * work(job(10))
    pace = paced(result, 3.0)
    assert pace.seconds(job(20)) == pytest.approx(6.0)
    assert pace.seconds(job(20, overlay="vitis")) == pytest.approx(6.0), "all that is known"
    vitis = msgspec.structs.replace(
        result, overlay="vitis", wall_seconds=5.0, fingerprint="", seed=0
    )
    assert Pace().seconds(job(10)) == math.inf
    pace.learn([job(10)], [vitis])
    assert pace.seconds(job(10)) == pytest.approx(3.0), "a result of another run says nothing"


def test_before_anything_is_known_a_run_is_a_task_and_a_wave_has_one_for_each_core() -> None:
    jobs = [job(10, seed) for seed in range(7)]
    assert wave_size(jobs, Pace(), CORES, 0) == CORES
    assert sorted(bundle(jobs, Pace(), CORES)) == [[n] for n in range(7)]


def test_waves_grow_to_a_minute_and_not_at_once(result: Result) -> None:
    jobs = [job(10, seed) for seed in range(2000)]
    assert wave_size(jobs, paced(result, 0.01), CORES, 2) == 2 * GROWTH
    assert wave_size(jobs, paced(result, 0.5), CORES, 1000) == 240
    assert wave_size(jobs, paced(result, 500.0), CORES, 1000) == CORES, "long runs, one a core"
    assert wave_size(jobs[:5], paced(result, 0.5), CORES, 1000) == 5


def test_short_runs_share_tasks_of_equal_length(result: Result) -> None:
    jobs = [job(40), *(job(10, seed) for seed in range(99))]
    tasks = bundle(jobs, paced(result, 0.5), CORES)
    assert sorted(number for task in tasks for number in task) == list(range(100))
    seconds = [sum(0.5 * jobs[n][0].workload.nodes / 10 for n in task) for task in tasks]
    assert len(tasks) == math.ceil(sum(seconds) / TASK_S)
    assert max(seconds) - min(seconds) <= 0.5
    few = bundle(jobs[1:20], paced(result, 0.001), CORES)
    assert len(few) == TASKS_PER_CORE * CORES, "every core has some"
