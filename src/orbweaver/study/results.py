"""Store results: a line for each run, in a file or in memory.

A run is named by its scenario and seed (`study.run.run_id`). Beside its result stands the
version of the code that made it. A sweep takes results of its own code only. A page may be made
of results by several versions, and then says so. A line has a few kilobytes, so that a file of
results can stay beside the page when everything else about its runs is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.records.files import whole_file
from orbweaver.study.run import Job, Result, run_id
from orbweaver.study.version import run_code

Codes = Mapping[str, str]
"""Identity of a run -> the version of the code that made it."""


class Stored(msgspec.Struct, frozen=True):
    """A stored result is one line of the store."""

    code: str
    """The version of the code that made the run."""
    result: Result


class Results:
    """Holds results by the identity of their runs, and for each run by the version of the code."""

    def __init__(self, stored: Iterable[Stored] = ()) -> None:
        self._stored: dict[str, dict[str, Stored]] = {}
        self.add(stored)

    def __len__(self) -> int:
        return sum(map(len, self._stored.values()))

    def add(self, stored: Iterable[Stored]) -> None:
        """Add results. One that is there already, by the same code, stays as it is."""
        for one in stored:
            self._stored.setdefault(one.result.run_id, {}).setdefault(one.code, one)

    def missing(self, jobs: Iterable[Job], any_code: bool = True) -> list[Job]:
        """Return the jobs that have no result here, each run once. Without `any_code`, only results
        by the present code count."""
        runs = {run_id(*job): job for job in jobs}
        return [job for run, job in runs.items() if self._find(run, job, any_code) is None]

    def of(self, jobs: Iterable[Job], any_code: bool = True) -> list[Stored]:
        """Return the results of the jobs that have one, in their order, each under the name and
        in the study of its job's scenario."""
        found = ((job[0], self._find(run_id(*job), job, any_code)) for job in jobs)
        return [Stored(one.code, one.result.placed(s)) for s, one in found if one is not None]

    def each(self) -> list[Stored]:
        return [one for by_code in self._stored.values() for one in by_code.values()]

    def write(self, path: Path) -> None:
        lines = sorted(self.each(), key=lambda one: (one.result.name, one.result.seed))
        with whole_file(path) as temporary:
            temporary.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))

    def _find(self, run: str, job: Job, any_code: bool) -> Stored | None:
        by_code = self._stored.get(run, {})
        if any_code:
            return next(iter(by_code.values()), None)  # the first of several versions
        return by_code.get(run_code(job[0].overlay))


def made_here(results: Iterable[Result]) -> list[Stored]:
    """Return results of this code as lines of the store."""
    return [Stored(run_code(result.overlay), result) for result in results]


def read_results(path: Path) -> Results:
    """Read a file of results. A file that does not exist yet holds none. A last line that a crash
    cut short while it was added is left out."""
    data = path.read_bytes() if path.exists() else b""
    stored = []
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            stored.append(msgspec.json.decode(line, type=Stored))
        except msgspec.MsgspecError as error:
            raise UsageError(f"{path}, line {number}: not a result: {error}") from None
    return Results(stored)


def append_results(path: Path, stored: Iterable[Stored]) -> None:
    """Add results to a file. They replace a last line that was cut short."""
    with path.open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(b"".join(msgspec.json.encode(one) + b"\n" for one in stored))


def codes_of(stored: Iterable[Stored]) -> Codes:
    return {one.result.run_id: one.code for one in stored}


def told_codes(codes: Codes) -> str:
    """Return the version of the code that made the runs, as text; if there are several, each with
    its number of runs."""
    counts = Counter(codes.values())
    if len(counts) <= 1:
        return next(iter(counts), "")
    return ", ".join(f"{code} ({n} of {len(codes)} runs)" for code, n in counts.most_common())
