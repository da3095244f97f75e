"""The safety net: which nodes are in one component of a topic (ours, not the paper's).

More than L concurrent events, or a coordinator that knew too little, can leave a topic cut. So
neighbours tell each other with their heartbeats, for each topic they share, the least id in
their component, unless the other one has told the same already. The
*root*, the node with that id, raises a sequence number each period. The news crosses one link a
period, but arrives at every node once a period, so a root that has gone is noticed everywhere
after the same time whatever the diameter is. The root looks for nodes outside its component.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orbweaver.core.ids import NodeId, Topic
from orbweaver.overlays.omen.messages import ComponentLabel

SILENT_PERIODS = 5
"""A root is given up after this many periods without news of it."""
STABLE_PERIODS = 2
"""How many periods a label must have stayed the same before it counts as known."""
TOLD_MS = 30_000
"""How long it is remembered when a node that is no neighbour any more last told labels."""
GONE_MAX = 1024
"""How many labels of roots that fell silent are remembered."""


class HeldLabel(NamedTuple):
    """What a node knows of its component of a topic. Times are in milliseconds."""

    root: NodeId
    seq: int
    """The sequence number of the root when it last spoke."""
    news: int
    """When that was news."""
    since: int
    """When the root was adopted."""
    before: int
    """When the news before that came, from the same root; 0 if there was none."""


class ComponentLabels:
    def __init__(self, me: NodeId, period_ms: int) -> None:
        self._me = me
        self._period_ms = period_ms
        self._held: dict[Topic, HeldLabel] = {}
        self._gone: dict[tuple[Topic, NodeId], int] = {}
        self._told: dict[NodeId, int] = {}
        """When each neighbour last told labels, or that it had none to tell."""
        self._known: dict[NodeId, dict[Topic, tuple[NodeId, int]]] = {}
        """The label of each topic that each neighbour is known to know."""

    def step(self, topics: Iterable[Topic], neighbors: Iterable[NodeId], now: int) -> None:
        """Speak as a root, and give up roots that have fallen silent."""
        self._known = {peer: self._known.get(peer, {}) for peer in neighbors}
        self._told = {
            peer: at for peer, at in self._told.items() if peer in self._known or now - at < TOLD_MS
        }
        held = {}
        for topic in topics:
            label = self._held.get(topic) or HeldLabel(self._me, now, now, now, 0)
            if label.root == self._me:
                label = label._replace(seq=now, news=now)
            elif now - label.news > SILENT_PERIODS * self._period_ms:
                self._give_up(topic, label.root, label.seq)
                label = HeldLabel(self._me, now, now, now, 0)
            held[topic] = label
        self._held = held

    def of(self, topics: Iterable[Topic]) -> tuple[ComponentLabel, ...]:
        return tuple(
            ComponentLabel(topic, *self._held[topic][:2]) for topic in topics if topic in self._held
        )

    def news_for(self, peer: NodeId, topics: Iterable[Topic]) -> tuple[ComponentLabel, ...]:
        """Return the labels of these topics that a neighbour may not know, which is then told.

        One that gets lost is told with the next number of its root.
        """
        known = self._known.setdefault(peer, {})
        news = []
        for label in self.of(topics):
            root, seq = known.get(label.topic, (None, 0))
            if root != label.root or seq < label.seq:
                known[label.topic] = (label.root, label.seq)
                news.append(label)
        return tuple(news)

    def take(self, sender: NodeId, labels: Iterable[ComponentLabel], now: int) -> bool:
        """Take note of a neighbour's labels. Return whether a root has changed."""
        changed = False
        self._told[sender] = now
        known = self._known.setdefault(sender, {})
        for label in labels:
            held = self._held.get(label.topic)
            if held is None or label.root == self._me:
                continue
            known[label.topic] = (label.root, label.seq)
            if label.root == held.root:
                if label.seq > held.seq:
                    news = held._replace(seq=label.seq, news=now, before=held.news)
                    self._held[label.topic] = news
            elif label.root < held.root and label.seq > self._gone_seq(label):
                self._held[label.topic] = HeldLabel(label.root, label.seq, now, now, 0)
                changed = True
        return changed

    def rooted(self, now: int) -> list[Topic]:
        """Return the topics of whose component this node is the root, and has been for a while."""
        return [topic for topic, held in self._held.items() if held.root == self._me
                and self._stable(held, now)]  # fmt: skip

    def fresh(self, left: NodeId) -> dict[Topic, NodeId]:
        """Return the roots whose news still comes without a neighbour that has left: it has come
        twice since that one last told labels. What passed through it may arrive once more by a
        longer way, but what comes after that comes another way."""
        told = self._told.get(left)
        if told is None:
            return {}
        return {
            topic: held.root
            for topic, held in self._held.items()
            if held.root == self._me or held.before > told
        }

    def strange(self, labels: Iterable[ComponentLabel], now: int) -> bool:
        """Return whether one of these labels is of another component than this node's."""
        for label in labels:
            held = self._held.get(label.topic)
            if held is not None and held.root != label.root and self._stable(held, now):
                return True
        return False

    def _gone_seq(self, label: ComponentLabel) -> int:
        return self._gone.get((label.topic, label.root), -1)

    def _stable(self, held: HeldLabel, now: int) -> bool:
        return now - held.since >= STABLE_PERIODS * self._period_ms

    def _give_up(self, topic: Topic, root: NodeId, seq: int) -> None:
        self._gone.pop((topic, root), None)
        self._gone[topic, root] = seq
        if len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]
