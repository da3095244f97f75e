"""Finding the components that are left, before a repair chooses edges (ours).

A coordinator enlists its shadow set. Each neighbour of the node that left starts a probe in the
topics it lost a link for. A probe crosses links whose two ends share a topic, carries the least
id of a starter, and is passed on only if it is less than what was seen before. Since each
component that is left has a neighbour of the node that left, two shadow nodes are in one
component if and only if they saw the same least label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest, TopicTable
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.omen.churn import ChurnEvent, Shadow
from orbweaver.overlays.omen.messages import Enlist, Probe, ProbeLabel, ShadowReport
from orbweaver.overlays.omen.repair import Joined
from orbweaver.overlays.omen.views import LocalView

PROBES_MAX = 128
"""How many probes a node takes part in at a time; the oldest one is dropped for one more."""
NEWS_MAX = 64
"""How many times a node passes on news of one probe: labels that fall for ever are lies."""
PROBE_AGE_MS = 10_000
"""How long a probe is remembered, in milliseconds."""


class SeenProbe:
    __slots__ = ("began", "enlisted", "labels", "told")

    def __init__(self, now: int) -> None:
        self.began = now
        self.enlisted = False
        """Whether this node reports the labels to the coordinator."""
        self.labels: dict[Topic, NodeId] = {}
        self.told = 0


class Probing:
    """The probes that a node takes part in."""

    def __init__(
        self, context: Context, interest: OwnInterest, neighbors: Mapping[NodeId, Interest]
    ) -> None:
        """`neighbors` is the live map of overlay neighbours."""
        self._context = context
        self._interest = interest
        self._neighbors = neighbors
        self._seen: dict[tuple[NodeId, int], SeenProbe] = {}

    def on_enlist(self, coordinator: NodeId, message: Enlist) -> ShadowReport:
        """Start a probe in the topics that were lost, and return the report."""
        probe = self._of(coordinator, message.number)
        probe.enlisted = True
        mask, mine = self._context.topics.mask, self._interest.topics
        starts = [t for t in message.starts if mask(t) & mine.mask]
        news = take_labels(probe, [ProbeLabel(t, self._context.me) for t in starts], mine)
        self._pass_on(coordinator, message.number, news, None)
        return self._report(message.number, probe)

    def on_probe(self, sender: NodeId, message: Probe) -> ShadowReport | None:
        """Pass on what is news. Return a new report if this node is in the shadow set."""
        if sender not in self._neighbors:
            return None
        probe = self._of(message.coordinator, message.number)
        news = take_labels(probe, message.labels, self._interest.topics)
        self._pass_on(message.coordinator, message.number, news, sender)
        return self._report(message.number, probe) if news and probe.enlisted else None

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
            if told and peer != source:
                self._context.outbox.send(peer, Probe(coordinator, number, told))

    def _report(self, number: int, probe: SeenProbe) -> ShadowReport:
        labels = tuple(ProbeLabel(topic, least) for topic, least in probe.labels.items())
        return ShadowReport(number, len(self._neighbors), tuple(self._neighbors), labels)

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


class Session:
    """One repair at its coordinator."""

    def __init__(self, event: ChurnEvent, number: int, views: Mapping[NodeId, LocalView]) -> None:
        self.event = event
        self.number = number
        self.views = dict(views)
        """Local views by node; those of chained nodes come in on request."""
        self.silent: dict[NodeId, None] = {}
        """Shadow nodes that did not report in time."""
        self.asked: dict[NodeId, None] = {}
        """Dead neighbours of which another node was asked for the local view."""
        self.shadow = Shadow((), 0, {}, {}, ())
        self.enlisted: dict[NodeId, None] = {}
        self.reports: dict[NodeId, ShadowReport] = {}
        self.began = self.changed = 0
        """When the present round began, and when the last news came, in milliseconds."""

    def missing(self) -> list[NodeId]:
        return [node for node in self.enlisted if node not in self.reports]


def components(
    session: Session, how: str, topics: TopicTable, interests: Mapping[NodeId, int]
) -> list[Joined]:
    """Return which shadow nodes are connected, by what they reported.

    `interests` are the topics of the shadow nodes that are there now. A node that has reported
    and left since is not among them, and connects nothing.
    """
    if session.event.kind == "join":  # what was there before is connected
        others = {n: mask for n, mask in interests.items() if n != session.event.node}
        return _alike((1 << t, n, 0) for n, mask in others.items() for t in bits_of(mask))
    reports = [(node, report) for node, report in session.reports.items() if node in interests]
    if how == "probe":
        return _alike(
            (topics.mask(label.topic), node, label.least)
            for node, report in reports
            for label in report.labels
        )
    return [
        (node, peer, interests[node] & interests[peer])
        for node, report in reports
        for peer in report.neighbors
        if peer in interests
    ]


def _alike(labels: Iterable[tuple[int, NodeId, int]]) -> list[Joined]:
    """Join the nodes that have the same label on a topic, given as a bit."""
    first: dict[tuple[int, int], NodeId] = {}
    joined: dict[tuple[NodeId, NodeId], int] = {}
    for bit, node, label in labels:
        start = first.setdefault((bit, label), node)
        if start != node:
            joined[start, node] = joined.get((start, node), 0) | bit
    return [(a, b, mask) for (a, b), mask in joined.items()]
