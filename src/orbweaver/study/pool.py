"""Run many simulations on the cores of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from orbweaver.study.run import Job, Result, run_scenario


def run_all(
    jobs: Sequence[Job],
    workers: int = 0,
    done: Callable[[Result], None] | None = None,
    running: Callable[[Sequence[Job], Sequence[Job]], None] | None = None,
) -> list[Result]:
    """Run the jobs, and return their results in the same order.

    `workers` is the number of processes; 0 means one for each core. `done` is called with each
    result. `running` is called at the start and after each result, with the jobs under way and
    the jobs that wait.
    """
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    results: dict[int, Result] = {}
    if workers <= 1:
        for i, job in enumerate(jobs):
            if running is not None:
                running([job], jobs[i + 1 :])
            results[i] = _run(job)
            if done is not None:
                done(results[i])
        return [results[i] for i in range(len(jobs))]
    # Large runs first, so that no worker is left with one at the end.
    order = sorted(range(len(jobs)), key=lambda i: -jobs[i][0].workload.nodes)
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupt)

    def tell() -> None:
        # Jobs are taken in order, so that those under way are the first that are not done.
        left = [jobs[i] for i in order if i not in results]
        if running is not None and left:
            running(left[:workers], left[workers:])

    try:
        futures = {pool.submit(_run, jobs[i]): i for i in order}
        tell()
        for future in as_completed(futures):
            result = future.result()
            results[futures[future]] = result
            if done is not None:
                done(result)
            tell()
    except BaseException:
        # Do not wait for the runs under way: a run may take an hour, and leaves nothing behind.
        for worker in multiprocessing.active_children():
            if worker not in others:
                worker.kill()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [results[i] for i in range(len(jobs))]


def _ignore_interrupt() -> None:
    """Ignore Ctrl-C, which goes to all processes of a terminal: the parent process ends the
    others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(job: Job) -> Result:
    scenario, seed = job
    return run_scenario(scenario, seed).result
