"""Finding the components that are left, before a repair chooses edges (ours).

A probe crosses links whose two ends share a topic, carries the least id of a starter, and is passed
on only if it is less than what was seen before. So two nodes that a probe has reached in a topic
are in one component if and only if they saw the same least label. Which nodes start a probe, and
in which topics, is for the coordinator to say (`survey`). A node that is enlisted reports the
labels that it has seen, once no news has come for a moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.omen.labels import ComponentLabels
from orbweaver.overlays.omen.messages import Enlist, Probe, ProbeLabel, ShadowReport, Tie

PROBES_MAX = 128
"""How many probes a node takes part in at a time; the oldest one is dropped for one more."""
NEWS_MAX = 64
"""How many times a node passes on news of one probe: labels that fall for ever are lies."""
SETTLE_MS = 100
"""An enlisted node reports when a probe has brought no news for so long, in milliseconds."""
PROBE_AGE_MS = 10_000
"""How long a probe is remembered, in milliseconds."""


class SeenProbe:
    __slots__ = ("began", "due", "enlisted", "labels", "left", "ties", "told")

    def __init__(self, now: int) -> None:
        self.began = now
        self.due: int | None = None
        """When the next report is due, in milliseconds."""
        self.enlisted = False
        """Whether this node reports the labels to the coordinator."""
        self.ties = False
        """Whether it names its neighbours to the coordinator."""
        self.left: NodeId | None = None
        """The node without which the news of roots is to come that it reports."""
        self.labels: dict[Topic, NodeId] = {}
        self.told = 0


class Probing:
    """The probes that a node takes part in."""

    TIMER = "probing"

    def __init__(
        self,
        context: Context,
        interest: OwnInterest,
        neighbors: Mapping[NodeId, Interest],
        closed: Collection[NodeId],
        labels: ComponentLabels,
    ) -> None:
        """`neighbors` is the live map of overlay neighbours, and `closed` has those whose links no
        probe may cross at the moment."""
        self._context = context
        self._interest = interest
        self._neighbors = neighbors
        self._closed = closed
        self._labels = labels
        self._seen: dict[tuple[NodeId, int], SeenProbe] = {}

    def on_enlist(self, coordinator: NodeId, message: Enlist) -> None:
        """Start a probe in these topics, and report: in a moment, since the probe may bring news,
        or at once if none is to start here."""
        probe = self._of(coordinator, message.number)
        probe.enlisted = True
        probe.ties = message.ties
        probe.left = message.left
        self.start(coordinator, message.number, message.starts, None)
        self._report_in(probe, SETTLE_MS if message.starts else 0)

    def reports(self) -> list[tuple[NodeId, ShadowReport]]:
        """Return the reports that are due, each with the coordinator that it is for."""
        now = self._context.outbox.now()
        due = [(k, p) for k, p in self._seen.items() if p.due is not None and p.due <= now]
        for _, probe in due:
            probe.due = None
        self._wake_for_next(now)
        return [(coordinator, self._report(number, probe)) for (coordinator, number), probe in due]

    def start(
        self, coordinator: NodeId, number: int, topics: Iterable[Topic], but: NodeId | None
    ) -> None:
        """Start a probe in those of these topics that this node wants, on all links but one."""
        labels = [ProbeLabel(topic, self._context.me) for topic in topics]
        news = take_labels(self._of(coordinator, number), labels, self._interest.topics)
        self._pass_on(coordinator, number, news, but)

    def reached(self, coordinator: NodeId, number: int) -> int:
        """Return the mask of the topics in which a probe has reached this node."""
        probe = self._seen.get((coordinator, number))
        return 0 if probe is None else sum(map(self._context.topics.mask, probe.labels))

    def on_probe(self, sender: NodeId, message: Probe) -> None:
        """Pass on what is news. If this node is in the shadow set, it is due to report again."""
        if sender not in self._neighbors or sender in self._closed:
            return
        probe = self._of(message.coordinator, message.number)
        news = take_labels(probe, message.labels, self._interest.topics)
        self._pass_on(message.coordinator, message.number, news, sender)
        if news and probe.enlisted:
            self._report_in(probe, SETTLE_MS)

    def _pass_on(
        self,
        coordinator: NodeId,
        number: int,
        labels: tuple[ProbeLabel, ...],
        source: NodeId | None,
    ) -> None:
        if not labels:
            return
        for peer, interest in self._neighbors.items():
            told = tuple(label for label in labels if label.topic in interest)
            if told and peer != source and peer not in self._closed:
                self._context.outbox.send(peer, Probe(coordinator, number, told))

    def _report_in(self, probe: SeenProbe, delay_ms: int) -> None:
        now = self._context.outbox.now()
        probe.due = now + delay_ms
        self._wake_for_next(now)

    def _wake_for_next(self, now: int) -> None:
        waiting = [probe.due for probe in self._seen.values() if probe.due is not None]
        if waiting:
            self._context.outbox.set_timer(self.TIMER, max(0, min(waiting) - now))

    def _report(self, number: int, probe: SeenProbe) -> ShadowReport:
        labels = tuple(ProbeLabel(topic, least) for topic, least in probe.labels.items())
        mine, shared = self._interest.topics.mask, self._context.topics.of_mask
        ties = tuple(
            Tie(peer, shared(mine & interest.mask))
            for peer, interest in self._neighbors.items()
            if peer not in self._closed
        )
        fresh = self._labels.fresh(probe.left) if probe.left is not None else {}
        return ShadowReport(
            number,
            len(self._neighbors),
            ties if probe.ties else (),
            labels,
            tuple(ProbeLabel(topic, root) for topic, root in fresh.items()),
        )

    def _of(self, coordinator: NodeId, number: int) -> SeenProbe:
        now = self._context.outbox.now()
        key = (coordinator, number)
        probe = self._seen.get(key)
        if probe is None:
            for old in [k for k, p in self._seen.items() if now - p.began > PROBE_AGE_MS]:
                del self._seen[old]
            if len(self._seen) >= PROBES_MAX:
                del self._seen[next(iter(self._seen))]
            probe = self._seen[key] = SeenProbe(now)
        return probe


def take_labels(
    probe: SeenProbe, labels: Iterable[ProbeLabel], wanted: Iterable[Topic]
) -> tuple[ProbeLabel, ...]:
    """Take note of labels on topics that the node wants. Return those that are news."""
    news = []
    for label in labels:
        seen = probe.labels.get(label.topic)
        if label.topic in wanted and (seen is None or label.least < seen):
            probe.labels[label.topic] = label.least
            news.append(label)
    if not news or probe.told >= NEWS_MAX:
        return ()
    probe.told += 1
    return tuple(news)
