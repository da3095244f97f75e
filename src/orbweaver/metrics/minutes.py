"""Minutes: what became of the events that were published in each minute, topic by topic.

Where a run has an end, `metrics.deliveries` judges all of it. A cluster that goes on running is
judged minute by minute. Everything is counted in the minute of the publication, also a delivery
that happened later, so that the numbers of a minute belong together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from orbweaver.metrics.delays import percentile
from orbweaver.metrics.deliveries import owed_nodes, subscribed
from orbweaver.records import Records
from orbweaver.records.following import minute_of

ALL = ""
"""The topic of a row that sums up all topics; no topic has this name."""


@dataclasses.dataclass(frozen=True)
class Minute:
    minute_ms: int
    """When the minute began, in milliseconds since 1970."""
    topic: str
    """The topic, or `ALL` topics."""
    published: int
    """Events published."""
    delivered: int
    """Deliveries of these events."""
    duplicates: int
    """Copies of these events at interested nodes, beyond one for each delivery."""
    owed: int
    """Deliveries owed: one to each node that subscribed to the topic at the time of publication
    and for five seconds afterwards, except the publisher."""
    met: int
    """Deliveries among those owed."""
    delivery_ratio: float
    """`met` over `owed`; unknown where nothing is owed."""
    delay_ms_p50: float
    """Time from publication to a delivery that was owed, median; unknown where there is none."""
    delay_ms_p95: float
    """The same, 95th percentile."""
    delay_ms_p99: float
    """The same, 99th percentile."""
    delay_ms_max: float
    """The same, the longest."""


def minutes(records: Records, start_ms: int = 0) -> list[Minute]:
    """Return a row for each minute and topic with a publication, and one for all topics of the
    minute, in the order of minutes and topics.

    `start_ms` is the moment from which the times of the records count, since 1970.
    """
    intervals = subscribed(records)
    got: dict[str, dict[int, int]] = {}
    for _, event, node, _, latency_ms in records["deliveries"].rows():
        got.setdefault(event, {}).setdefault(node, latency_ms)
    sums: dict[tuple[int, str], _Sum] = {}
    for time, event, topic, publisher, copies, _, delivered, *_ in records["publications"].rows():
        owed = owed_nodes(intervals.get(topic, ()), time, publisher)
        delays = [ms for node, ms in got.get(event, {}).items() if node in owed]
        minute = minute_of(start_ms + time)
        for name in (topic, ALL):
            one = sums.setdefault((minute, name), _Sum())
            one.add(delivered, copies - delivered, len(owed), delays)
    return [one.row(minute, topic) for (minute, topic), one in sorted(sums.items())]


@dataclasses.dataclass
class _Sum:
    published: int = 0
    delivered: int = 0
    duplicates: int = 0
    owed: int = 0
    delays: list[int] = dataclasses.field(default_factory=list)

    def add(self, delivered: int, duplicates: int, owed: int, delays: Iterable[int]) -> None:
        self.published += 1
        self.delivered += delivered
        self.duplicates += duplicates
        self.owed += owed
        self.delays += delays

    def row(self, minute_ms: int, topic: str) -> Minute:
        met = len(self.delays)
        return Minute(
            minute_ms, topic, self.published, self.delivered, self.duplicates, self.owed, met,
            met / self.owed if self.owed else math.nan,
            *(percentile(self.delays, share) for share in (0.5, 0.95, 0.99, 1.0)),
        )  # fmt: skip
