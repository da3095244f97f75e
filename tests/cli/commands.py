"""`orbweaver` commands as processes that are still running, and what they have said so far."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

DEADLINE_S = 60.0
"""For whatever is waited for; it is a bug, and not a busy machine, that takes longer."""


def until(what: str, done: Callable[[], bool], limit_s: float = DEADLINE_S) -> None:
    deadline = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


class Command:
    """Leaving the `with` block ends it, and whatever it has started."""

    def __init__(self, folder: Path, *arguments: str, stdin: bytes | None = None) -> None:
        self.mark = f"ORBWEAVER_TEST={uuid4().hex}"
        self._out, self._err = folder / f"{uuid4().hex}.out", folder / f"{uuid4().hex}.err"
        name, _, value = self.mark.partition("=")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "orbweaver", *arguments],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                env=os.environ | {name: value},
            )
        assert self.process.stdin is not None
        if stdin is not None:
            self.process.stdin.write(stdin)
        self.process.stdin.close()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pid in self.left_behind():
            os.kill(pid, signal.SIGKILL)

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def says(self, pattern: str) -> str:
        """Wait until it has said so, on either stream; what is in the brackets."""
        found: list[str] = []

        def look() -> bool:
            match = re.search(pattern, self.out + self.err)
            found.extend([match[1] if match.lastindex else match[0]] if match else [])
            return bool(found) or self.process.poll() is not None

        until(f"{pattern!r} was never said", look)
        assert found, f"it ended with {self.process.returncode}: {self.out}{self.err}"
        return found[0]

    def ends(self) -> int:
        return self.process.wait(timeout=DEADLINE_S)

    def left_behind(self) -> list[int]:
        """Processes that carry its mark, but for itself."""
        mark = self.mark.encode()
        pids = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environ.read_bytes().split(b"\0"):
                    pids.append(int(environ.parent.name))
            except OSError:
                continue
        return [pid for pid in pids if pid != self.process.pid]
