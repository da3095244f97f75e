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

from orbweaver.core.ids import NodeId, Topic
from orbweaver.overlays.omen.messages import ComponentLabel

SILENT_PERIODS = 5
"""A root is given up after this many periods without news of it."""
STABLE_PERIODS = 2
"""How many periods a label must have stayed the same before it counts as known."""
GONE_MAX = 1024
"""How many labels of roots that fell silent are remembered."""


class ComponentLabels:
    def __init__(self, me: NodeId, period_ms: int) -> None:
        self._me = me
        self._period_ms = period_ms
        self._held: dict[Topic, tuple[NodeId, int, int, int]] = {}
        """Topic -> (root, its sequence number, when it was news, when the root was adopted)."""
        self._gone: dict[tuple[Topic, NodeId], int] = {}
        self._known: dict[NodeId, dict[Topic, tuple[NodeId, int]]] = {}
        """The label of each topic that each neighbour is known to know."""

    def step(self, topics: Iterable[Topic], neighbors: Iterable[NodeId], now: int) -> None:
        """Speak as a root, and give up roots that have fallen silent."""
        self._known = {peer: self._known.get(peer, {}) for peer in neighbors}
        held = {}
        for topic in topics:
            root, seq, news, since = self._held.get(topic) or (self._me, now, now, now)
            if root == self._me:
                seq, news = now, now
            elif now - news > SILENT_PERIODS * self._period_ms:
                self._give_up(topic, root, seq)
                root, seq, news, since = self._me, now, now, now
            held[topic] = (root, seq, news, since)
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
        known = self._known.setdefault(sender, {})
        for label in labels:
            held = self._held.get(label.topic)
            if held is None or label.root == self._me:
                continue
            known[label.topic] = (label.root, label.seq)
            root, seq, _, since = held
            if label.root == root:
                if label.seq > seq:
                    self._held[label.topic] = (root, label.seq, now, since)
            elif label.root < root and label.seq > self._gone.get((label.topic, label.root), -1):
                self._held[label.topic] = (label.root, label.seq, now, now)
                changed = True
        return changed

    def rooted(self, now: int) -> list[Topic]:
        """Return the topics of whose component this node is the root, and has been for a while."""
        return [topic for topic, held in self._held.items() if held[0] == self._me
                and self._stable(held, now)]  # fmt: skip

    def strange(self, labels: Iterable[ComponentLabel], now: int) -> bool:
        """Return whether one of these labels is of another component than this node's."""
        for label in labels:
            held = self._held.get(label.topic)
            if held is not None and held[0] != label.root and self._stable(held, now):
                return True
        return False

    def _stable(self, held: tuple[NodeId, int, int, int], now: int) -> bool:
        return now - held[3] >= STABLE_PERIODS * self._period_ms

    def _give_up(self, topic: Topic, root: NodeId, seq: int) -> None:
        self._gone.pop((topic, root), None)
        self._gone[topic, root] = seq
        if len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]
