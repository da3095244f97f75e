"""Runs a process that gets orders by lines of JSON in and out (see `wire.talk`)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
PATIENCE_S = 60.0


class Failed(Exception):
    """Raised if a process gave no answer, or too many."""


class Worker:
    """A process that gets orders."""

    def __init__(self, *arguments: str) -> None:
        # Not a pipe: it would fill up, since no process reads it.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *_path()])},
        )
        self._rest = b""

    def order(self, **order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        deadline = time.monotonic() + patience_s
        while b"\n" not in self._rest:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(pipe, 1 << 20) if ready else b""
            if not data:
                raise Failed(self._last_words())
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        facts: dict[str, Any] = json.loads(line)
        return facts

    def _last_words(self) -> str:
        self.process.kill()
        self.process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "a process did not answer"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.order(do="stop")
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._errors):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _path() -> list[str]:
    given = os.environ.get("PYTHONPATH")
    return [given] if given else []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
