"""Runs one publisher and its subscribers, each in its own process, and a broker if needed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator
from typing import Any

from wire.broker import Broker
from wire.process import PATIENCE_S, Failed, Worker, free_port

QUIET_S = 15.0
"""Seconds without a new message after which missing messages count as lost."""
REPORT_S = 300.0


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of one round."""

    sent: int
    each: list[int]
    """How many messages each subscriber got."""
    repeated: int
    seconds: float
    latencies_us: list[int]
    publisher_cpu_s: float
    each_cpu_s: list[float]
    broker_cpu_s: float
    counters: dict[str, int]

    @property
    def got(self) -> int:
        return sum(self.each)

    @property
    def lost(self) -> int:
        return self.sent * len(self.each) - self.got

    @property
    def per_s(self) -> float:
        """Return deliveries per second, over all subscribers."""
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
        """Probe until every subscriber has got a message."""
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
        """Publish payloads of `size` for `seconds`: at a rate, measuring latencies, or at full
        speed."""
        self._round += 1
        for worker in self.subscribers:
            self._begin(worker, latency=bool(rate))
        broker_cpu = self._broker.cpu_s() if self._broker else 0.0
        self.publisher.order(do="round", round=self._round, size=size, seconds=seconds, rate=rate)
        sent = self.publisher.hear(PATIENCE_S + seconds)
        for worker in self.subscribers:
            worker.order(do="report", expect=sent["sent"], patience_s=QUIET_S)
        reports = [worker.hear(REPORT_S) for worker in self.subscribers]
        counters: dict[str, int] = {}
        for report in (sent, *reports):
            for name, value in report.get("counters", {}).items():
                counters[name] = counters.get(name, 0) + value
        return Result(
            sent=sent["sent"],
            each=[report["got"] for report in reports],
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
