"""Puts runs together into waves and tasks, by the time that they are expected to take.

A task costs something by itself, so short runs share one. A run is expected to take as long as
finished runs of its overlay did for the same work; the work is nodes times simulated time.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from orbweaver.study.run import Job, Result, run_id

TASK_S = 2.0
"""Seconds of runs in a task, at least, where there are enough short runs."""
TASKS_PER_CORE = 4
"""Fewest tasks of a wave for each core, so that no core is idle for long at its end."""
WAVE_S = 60.0
"""Seconds that a wave may take: what an interruption loses at most."""
GROWTH = 16
"""Most runs of a wave for each run of the wave before. Estimates can be wrong."""


def work(job: Job) -> float:
    """Return how much a run has to do, in node milliseconds."""
    scenario, _ = job
    return float(scenario.workload.nodes * scenario.end_ms(scenario.workload.topics))


class Pace:
    """Expects how long runs take, from finished ones."""

    def __init__(self) -> None:
        self._done: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def learn(self, jobs: Iterable[Job], results: Iterable[Result]) -> None:
        found = {result.run_id: result for result in results}
        for job in jobs:
            if (result := found.get(run_id(*job))) is not None:
                for group in (result.overlay, ""):
                    self._done[group][0] += result.wall_seconds
                    self._done[group][1] += work(job)

    def seconds(self, job: Job) -> float:
        """Return the seconds that a run is expected to take; `inf` before any run has finished."""
        for group in (job[0].overlay, ""):
            seconds, done = self._done.get(group, (0.0, 0.0))
            if done:
                return seconds / done * work(job)
        return math.inf


def wave_size(jobs: Sequence[Job], pace: Pace, cores: int, before: int) -> int:
    """Return how many of the jobs the next wave takes; `before` is the size of the last one."""
    size, seconds = 0, 0.0
    for job in jobs[: max(cores, before * GROWTH)]:
        seconds += pace.seconds(job)
        if size >= cores and seconds > cores * WAVE_S:
            break
        size += 1
    return size


def bundle(jobs: Sequence[Job], pace: Pace, cores: int) -> list[list[int]]:
    """Return the numbers of the jobs of each task. Each job goes to the task with the least to do
    so far, so the jobs should come in the order of their work, the largest first."""
    seconds = [pace.seconds(job) for job in jobs]
    wanted = max(TASKS_PER_CORE * cores, sum(seconds) / TASK_S)
    tasks: list[list[int]] = [[] for _ in range(math.ceil(min(len(jobs), wanted)))]
    least = [(0.0, task) for task in range(len(tasks))]
    for number, expected in enumerate(seconds):
        load, task = least[0]
        heapq.heapreplace(least, (load + expected, task))
        tasks[task].append(number)
    return tasks
