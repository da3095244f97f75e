"""Runs in a pool are the runs one would get alone."""

from __future__ import annotations

import multiprocessing

import msgspec
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.study.pool import run_all
from orbweaver.study.run import Result, run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec


def small(overlay: str = "spidercast", nodes: int = 40) -> Scenario:
    return Scenario(
        overlay=overlay,
        workload=WorkloadSpec(nodes=nodes, topics=10, subscriptions_per_node="3"),
        publish=PublishSpec(per_topic=1),
        run=RunSpec(warmup_ms=2000, drain_ms=1000),
    )


def timeless(result: Result) -> Result:
    return msgspec.structs.replace(result, wall_seconds=0)


def test_a_pool_changes_nothing_but_the_time() -> None:
    jobs = [(small(nodes=n), seed) for n in (30, 60, 40) for seed in (0, 1)]
    done: list[Result] = []
    pooled = run_all(jobs, 2, done.append)
    alone = [run_scenario(scenario, seed).result for scenario, seed in jobs]
    assert [timeless(r) for r in pooled] == [timeless(r) for r in alone]
    assert len(done) == len(jobs)


def test_an_interrupted_pool_leaves_no_process_at_work() -> None:
    def interrupt(_: Result) -> None:
        raise KeyboardInterrupt

    long = small(nodes=3000)
    others = set(multiprocessing.active_children())  # of an earlier pool, on their way out
    with pytest.raises(KeyboardInterrupt):
        run_all([(small(), 0), (long, 0), (long, 1), (long, 2)], 2, interrupt)
    for worker in {*multiprocessing.active_children()} - others:
        worker.join(20)
    assert not {*multiprocessing.active_children()} - others


def test_a_failing_run_is_told() -> None:
    with pytest.raises(UsageError, match="did you mean 'spidercast'"):
        run_all([(small(), 0), (small("spidercas"), 0)], 2)
