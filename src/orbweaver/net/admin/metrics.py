"""Serve counters and status as metrics for Prometheus.

The metrics are made anew for each request, so that counting costs the node only an integer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, PROCESS_COLLECTOR, CollectorRegistry
from prometheus_client import generate_latest as _text
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from orbweaver.net.admin.status import Status
from orbweaver.net.counters import Counters

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

GAUGES: dict[str, tuple[str, Callable[[Status], float]]] = {
    "uptime_seconds": ("seconds since the node started", lambda s: s.uptime_s),
    "links": ("links of the overlay", lambda s: len(s.links)),
    "links_connected": ("links whose connection is open", lambda s: s.links_connected),
    "connections": ("open connections", lambda s: s.connections),
    "peers_known": ("peers whose address is known", lambda s: s.peers_known),
    "queued_messages": ("messages that wait to be sent", lambda s: s.queued_messages),
    "queued_bytes": ("bytes that wait to be sent", lambda s: s.queued_bytes),
    "topics": ("topics with a local subscriber", lambda s: len(s.topics)),
    "subscriptions": ("local subscribers of all topics", lambda s: s.subscriptions),
    "log_events": ("events in the window", lambda s: s.log.get("events", 0)),
    "log_bytes": ("bytes of the events in the window", lambda s: s.log.get("bytes", 0)),
}
"""Name of each gauge, without `orbweaver_` -> its meaning, and how to get it from the status."""


class NodeCollector(Collector):
    def __init__(self, counters: Counters, status: Callable[[], Status]) -> None:
        self._counters = counters
        self._status = status

    def describe(self) -> Iterable[Metric]:
        """Return nothing: else registering would call `collect` on a node that may not run yet."""
        return ()

    def collect(self) -> Iterable[Metric]:
        for field in dataclasses.fields(self._counters):
            value = getattr(self._counters, field.name)
            meaning = field.metadata.get("meaning", field.name)
            yield CounterMetricFamily(f"orbweaver_{field.name}", meaning, value=value)
        status = self._status()
        for name, (meaning, of) in GAUGES.items():
            yield GaugeMetricFamily(f"orbweaver_{name}", meaning, value=of(status))
        state = GaugeMetricFamily(
            "orbweaver_overlay_state", "sizes that the overlay reports", labels=["of"]
        )
        for name, value in status.overlay_state.items():
            state.add_metric([name], value)
        yield state
        yield InfoMetricFamily(
            "orbweaver_node",
            "id, overlay and security of the node",
            value={"id": status.id, "overlay": status.overlay, "secure": status.secure},
        )


class Metrics:
    """The metrics of one node, in a registry of its own, since several nodes may run in one
    process."""

    def __init__(self, counters: Counters, status: Callable[[], Status]) -> None:
        self._collectors = CollectorRegistry()
        self._collectors.register(NodeCollector(counters, status))
        self._collectors.register(PROCESS_COLLECTOR)

    def page(self) -> bytes:
        return _text(self._collectors)
