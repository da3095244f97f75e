"""Results in a file of their own, a line for each run.

A store has all that was seen of a run and belongs to one version of the code; when it is gone,
so are hours of work. This is what a page is made of, a few kilobytes for each run, and stays
beside the page: seeds can be added to it, by later code too, and the page says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.overlays.catalog import find
from orbweaver.records.files import whole_file
from orbweaver.sim.simulation import plainly
from orbweaver.study.pool import Job
from orbweaver.study.run import Result
from orbweaver.workload.scenario import Scenario

Codes = Mapping[tuple[str, int], str]
"""Fingerprint and seed of a run -> the version of the code that made it."""


class Kept(msgspec.Struct, frozen=True):
    code: str
    """The version of the code that made the run."""
    result: Result


class KeptResults:
    """By scenario and seed: one that is named in two series is there once."""

    def __init__(self, kept: Iterable[Kept] = ()) -> None:
        self._kept = {(one.result.fingerprint, one.result.seed): one for one in kept}

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, code: str, results: Iterable[Result]) -> None:
        for result in results:
            self._kept.setdefault((result.fingerprint, result.seed), Kept(code, result))

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        return [job for job in jobs if _key(*job) not in self._kept]

    def of(self, jobs: Iterable[Job]) -> list[Kept]:
        """Those that are there, in the order of the jobs and by their names."""
        found = []
        for scenario, seed in jobs:
            one = self._kept.get(_key(scenario, seed))
            if one is not None:
                result = msgspec.structs.replace(one.result, name=scenario.name)
                found.append(Kept(one.code, result))
        return found

    def write(self, path: Path) -> None:
        lines = sorted(self._kept.values(), key=lambda one: (one.result.name, one.result.seed))
        with whole_file(path) as temporary:
            temporary.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))


def _key(scenario: Scenario, seed: int) -> tuple[str, int]:
    return plainly(scenario, find(scenario.overlay)).fingerprint(), seed


def read_kept(path: Path) -> KeptResults:
    """None, if there is no such file yet."""
    return KeptResults(read_lines(path))


def read_lines(path: Path) -> list[Kept]:
    """All that is in a file, also of one run by several versions of the code. A last line that
    was cut short, by a crash while it was added, is left out."""
    data = path.read_bytes() if path.exists() else b""
    kept = []
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            kept.append(msgspec.json.decode(line, type=Kept))
        except msgspec.MsgspecError as error:
            raise UsageError(f"{path}, line {number}: not a result: {error}") from None
    return kept


def append_kept(path: Path, one: Kept) -> None:
    """Add a result to a file, in the place of a last line that was cut short."""
    with path.open("ab+") as file:
        file.seek(0)
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)
        file.write(msgspec.json.encode(one) + b"\n")


def codes_of(kept: Iterable[Kept]) -> Codes:
    return {(one.result.fingerprint, one.result.seed): one.code for one in kept}


def told_codes(kept: Iterable[Kept]) -> str:
    """Which code made these; with how many by each, if there is more than one."""
    made = codes_of(kept)
    counts = Counter(made.values())
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{code} ({n} of {len(made)} runs)" for code, n in counts.most_common())
