"""Runs jobs of `orbweaver compare` and `advise`, keeps each result at once and shows a bar."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from orbweaver.cli.terminal import progress
from orbweaver.metrics.averages import mean
from orbweaver.study.pool import run_all
from orbweaver.study.results import append_results, made_here, read_results
from orbweaver.study.run import Job, Result

SHOWN = 3
"""Most running jobs that are named beside the bar."""


def run_kept(jobs: Sequence[Job], path: Path, workers: int) -> tuple[list[Result], int]:
    """Return the results in the order of the jobs, and how many jobs were run.

    Results of this version of the code are taken from the file `path`. Each new result is added to
    the file at once, so that an interrupted comparison goes on where it stopped."""
    known = read_results(path)
    missing = known.missing(jobs, any_code=False)
    finished = [one.result for one in known.of(jobs, any_code=False)]
    with progress("running", len(jobs), count=True) as bar:

        def running(at_work: Sequence[Job], others: Sequence[Job]) -> None:
            left = [*at_work, *others]
            bar(len(jobs) - len(left), told(at_work, remaining_s(left, finished, workers)))

        def done(result: Result) -> None:
            new = made_here([result])
            append_results(path, new)
            known.add(new)
            finished.append(result)

        if missing:
            run_all(missing, workers, done, running)
    return [one.result for one in known.of(jobs, any_code=False)], len(missing)


def remaining_s(left: Sequence[Job], finished: Sequence[Result], workers: int) -> float | None:
    """Estimate the seconds until all jobs are done, or None before one has finished.

    A job takes as long as the finished runs of its scenario did on average, else those of its
    overlay, else all."""
    if not finished:
        return None
    seconds: dict[str, list[float]] = defaultdict(list)
    for result in finished:
        for group in (result.name, result.overlay, ""):
            seconds[group].append(result.wall_seconds)
    total = 0.0
    for scenario, _ in left:
        group = next(g for g in (scenario.name, scenario.overlay, "") if g in seconds)
        total += mean(seconds[group])
    at_once = min(workers or os.cpu_count() or 1, max(1, len(left)))
    return total / at_once


def told(under_way: Sequence[Job], remaining: float | None) -> str:
    """Return the label of the bar: the running jobs and the time left."""
    names = [f"{scenario.name}, seed {seed}" for scenario, seed in under_way]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    text = f"{'; '.join(names[:SHOWN])}{more}"
    if remaining is None:
        return text
    left = f"{remaining / 60:.0f} min" if remaining >= 90 else f"{remaining:.0f} s"
    return f"{text}; about {left} left"
