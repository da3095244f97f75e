"""Starts the server of a different system for the benchmark alone."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from wire.process import Failed, free_port

TICKS = os.sysconf("SC_CLK_TCK")


class Broker:
    """The server of a different system, with a new configuration, on a free port."""

    def __init__(self, program: str, option: str, config: str) -> None:
        found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
        if found is None:
            raise Failed(f"{program} is not installed")
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self._folder = Path(tempfile.mkdtemp(prefix="bench-wire-"))
        file = self._folder / "config"
        file.write_text(config.format(port=port))
        self._process = subprocess.Popen(
            [found, option, str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 10.0
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
                break
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.stop()
                    raise Failed(f"{program} does not start") from None
                time.sleep(0.05)

    def cpu_s(self) -> float:
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder)
