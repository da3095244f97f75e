"""Finding the components that are left, before a repair chooses edges (ours).

A coordinator enlists its shadow set. For each topic that was lost, one neighbour of the node that
left starts a probe. A probe crosses links whose two ends share a topic, carries the least id of a
starter, and is passed on only if it is less than what was seen before. Neighbours that it has not
reached in some topics then start one there. Each component that is left has a neighbour of the
node that left, so two shadow nodes are in one component if and only if they saw the same least
label. If all neighbours started at once, as many labels would cross most links.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.omen.messages import Enlist, Probe, ProbeLabel, ShadowReport, Tie

PROBES_MAX = 128
"""How many probes a node takes part in at a time; the oldest one is dropped for one more."""
NEWS_MAX = 64
"""How many times a node passes on news of one probe: labels that fall for ever are lies."""
PROBE_AGE_MS = 10_000
"""How long a probe is remembered, in milliseconds."""


class SeenProbe:
    __slots__ = ("began", "enlisted", "labels", "ties", "told")

    def __init__(self, now: int) -> None:
        self.began = now
        self.enlisted = False
        """Whether this node reports the labels to the coordinator."""
        self.ties = False
        """Whether it names its neighbours to the coordinator."""
        self.labels: dict[Topic, NodeId] = {}
        self.told = 0


class Probing:
    """The probes that a node takes part in."""

    def __init__(
        self,
        context: Context,
        interest: OwnInterest,
        neighbors: Mapping[NodeId, Interest],
        closed: Collection[NodeId],
    ) -> None:
        """`neighbors` is the live map of overlay neighbours, and `closed` has those whose links no
        probe may cross at the moment."""
        self._context = context
        self._interest = interest
        self._neighbors = neighbors
        self._closed = closed
        self._seen: dict[tuple[NodeId, int], SeenProbe] = {}

    def on_enlist(self, coordinator: NodeId, message: Enlist) -> ShadowReport:
        """Start a probe in the topics that were lost, and return the report."""
        probe = self._of(coordinator, message.number)
        probe.enlisted = True
        probe.ties = message.ties
        self.start(coordinator, message.number, message.starts, None)
        return self._report(message.number, probe)

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

    def on_probe(self, sender: NodeId, message: Probe) -> ShadowReport | None:
        """Pass on what is news. Return a new report if this node is in the shadow set."""
        if sender not in self._neighbors or sender in self._closed:
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
            if told and peer != source and peer not in self._closed:
                self._context.outbox.send(peer, Probe(coordinator, number, told))

    def _report(self, number: int, probe: SeenProbe) -> ShadowReport:
        labels = tuple(ProbeLabel(topic, least) for topic, least in probe.labels.items())
        mine, shared = self._interest.topics.mask, self._context.topics.of_mask
        ties = tuple(
            Tie(peer, shared(mine & interest.mask)) for peer, interest in self._neighbors.items()
        )
        return ShadowReport(number, len(self._neighbors), ties if probe.ties else (), labels)

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
