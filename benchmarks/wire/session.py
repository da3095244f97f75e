"""One publisher and its subscribers, each a process of its own, and a broker if it takes one."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 60.0
REPORT_S = 20.0
"""How long a subscriber waits for what is missing before it says that it is lost."""


class Failed(Exception):
    """A process said nothing, or too much."""


class Worker:
    """A process that is given orders."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if not os.environ.get("WIRE_DEBUG") else None,
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
        _, errors = self.process.communicate()
        lines = (errors or b"").decode().strip().splitlines()
        return lines[-1] if lines else "a process did not answer"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.order(do="stop")
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@dataclasses.dataclass(frozen=True)
class Result:
    """Of one round."""

    sent: int
    got: int
    each: list[int]
    lost: int
    repeated: int
    seconds: float
    latencies_us: list[int]
    publisher_cpu_s: float
    each_cpu_s: list[float]
    """Of each subscriber."""
    broker_cpu_s: float
    counters: dict[str, int]

    @property
    def per_s(self) -> float:
        """Deliveries, over all subscribers, in a second."""
        return self.got / self.seconds if self.seconds > 0 else 0.0


class Session:
    def __init__(
        self, system: str, spec: dict[str, Any], subscribers: int, broker: Broker | None = None
    ) -> None:
        self._broker = broker
        self._round = 0
        spec = {**spec, "port": free_port()}
        if broker is not None:
            spec["address"] = broker.address
        self.publisher = self._worker(system, "publisher", spec)
        self.subscribers: list[Worker] = []
        try:
            spec["address"] = self.publisher.hear()["address"]
            self.subscribers += [
                self._worker(system, "subscriber", spec) for _ in range(subscribers)
            ]
            for worker in self.subscribers:
                worker.hear()
            self._connect()
        except BaseException:
            self.stop()
            raise

    def _worker(self, system: str, role: str, spec: dict[str, Any]) -> Worker:
        return Worker("-m", "wire.worker", system, role, json.dumps(spec))

    def _connect(self) -> None:
        """Probe until every subscriber has got something."""
        deadline = time.monotonic() + PATIENCE_S
        waiting = list(self.subscribers)
        while waiting:
            if time.monotonic() > deadline:
                raise Failed(f"{len(waiting)} subscribers get nothing")
            self.publisher.order(do="probe")
            self.publisher.hear()
            time.sleep(0.05)
            waiting = [worker for worker in waiting if not self._begin(worker)["probed"]]

    def _begin(self, worker: Worker, latency: bool = False) -> dict[str, Any]:
        worker.order(do="begin", round=self._round, latency=latency)
        return worker.hear()

    def round(self, size: int, seconds: float, rate: float = 0.0) -> Result:
        """Payloads of `size` for `seconds`: at a rate, with latencies, or at full speed."""
        self._round += 1
        for worker in self.subscribers:
            self._begin(worker, latency=bool(rate))
        broker_cpu = self._broker.cpu_s() if self._broker else 0.0
        self.publisher.order(do="round", round=self._round, size=size, seconds=seconds, rate=rate)
        sent = self.publisher.hear(PATIENCE_S + seconds)
        for worker in self.subscribers:
            worker.order(do="report", expect=sent["sent"], patience_s=REPORT_S)
        reports = [worker.hear() for worker in self.subscribers]
        counters: dict[str, int] = {}
        for report in (sent, *reports):
            for name, value in report.get("counters", {}).items():
                counters[name] = counters.get(name, 0) + value
        return Result(
            sent=sent["sent"],
            got=sum(report["got"] for report in reports),
            each=[report["got"] for report in reports],
            lost=sent["sent"] * len(reports) - sum(report["got"] for report in reports),
            repeated=sum(report["repeated"] for report in reports),
            seconds=(max(report["last_ns"] for report in reports) - sent["start_ns"]) / 1e9,
            latencies_us=[us for report in reports for us in report["latencies_us"]],
            publisher_cpu_s=sent["cpu_s"],
            each_cpu_s=[report["cpu_s"] for report in reports],
            broker_cpu_s=self._broker.cpu_s() - broker_cpu if self._broker else 0.0,
            counters=counters,
        )

    def stop(self) -> None:
        for worker in (self.publisher, *self.subscribers):
            worker.stop()


class Broker:
    """A server of another system, with a configuration of its own, on a free port."""

    def __init__(self, program: str, option: str, config: str) -> None:
        found = find_program(program)
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


@contextlib.contextmanager
def session(
    system: str, spec: dict[str, Any], subscribers: int, broker: tuple[str, str, str] | None
) -> Iterator[Session]:
    server = Broker(*broker) if broker is not None else None
    try:
        made = Session(system, spec, subscribers, server)
        try:
            yield made
        finally:
            made.stop()
    finally:
        if server is not None:
            server.stop()


def _path() -> list[str]:
    given = os.environ.get("PYTHONPATH")
    return [given] if given else []


def find_program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
