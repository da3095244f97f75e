"""Beats: what a node tells its children in the multicast trees (Sec. 3.3, maintenance).

A beat has the range of the child, the root and its number (`trees.py`), and the streams of which
there are recent events. One beat for a child carries all trees that there is something to say of.
One of four beats names all trees, so that a child that was forgotten notices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.gossip.messages import Recent
from orbweaver.gossip.ring import KeptRing
from orbweaver.overlays.magnet.branch import Branch, end_of
from orbweaver.overlays.magnet.messages import Beat, Branching, in_parts
from orbweaver.overlays.magnet.params import MagnetParams

ALL_EVERY = 4
"""Beats of which one names all trees."""


class Beats:
    def __init__(
        self,
        context: Context,
        params: MagnetParams,
        skewed: KeptRing,
        recent: Callable[[Topic], tuple[Recent, ...]],
    ) -> None:
        """`recent` returns the events that a child may have missed."""
        self._outbox = context.outbox
        self._period_ms = params.beat_ms
        self._skewed = skewed
        self._recent = recent
        self._due_ms = 0
        self._count: int = context.me
        """Counts the beats, from a number at which not all nodes send the same kind."""
        self._moves = 0
        """Number of changes of the neighbours on the skewed ring at the last beat."""
        self._new: dict[tuple[Topic, NodeId], None] = {}
        """Children that have not been told yet what they may have missed."""

    def greet(self, topic: Topic, child: NodeId) -> None:
        """Tell a new child in the next cycle what it may have missed."""
        self._new[topic, child] = None

    def name_all_next(self, now: int) -> bool:
        """Return whether a beat that names all trees is due."""
        return now >= self._due_ms and self._count % ALL_EVERY == 0

    def step(self, branches: Mapping[Topic, Branch]) -> None:
        """Once a cycle: beat when it is time, and greet new children before."""
        now = self._outbox.now()
        if now >= self._due_ms:
            self._beat(branches, self.name_all_next(now), now)
            self._due_ms = now + self._period_ms
            self._count += 1
        else:
            self._greet(branches)
        self._new = {}

    def _beat(self, branches: Mapping[Topic, Branch], name_all: bool, now: int) -> None:
        """Tell the children of all trees, or of those of which there is news."""
        skewed = self._skewed
        moved, self._moves = self._moves != skewed.moves, skewed.moves
        out: dict[NodeId, list[Branching]] = {}
        for topic, branch in branches.items():
            if branch.rooted:
                branch.beat = branch.fresh_ms = now
            if not branch.children:
                continue
            recent = self._recent(topic)
            news = name_all or branch.changed or recent
            if not (news or moved):
                continue
            branch.changed = False
            for child, told in branch.children.items():
                end = end_of(skewed, branch, child)
                if news or end != told:
                    branch.children[child] = end
                    out.setdefault(child, []).append(_branching(topic, branch, end, recent))
        self._send(name_all, out)

    def _greet(self, branches: Mapping[Topic, Branch]) -> None:
        out: dict[NodeId, list[Branching]] = {}
        for topic, child in self._new:
            branch, recent = branches.get(topic), self._recent(topic)
            if branch is not None and child in branch.children and recent:
                end = branch.children[child]
                out.setdefault(child, []).append(_branching(topic, branch, end, recent))
        self._send(False, out)

    def _send(self, name_all: bool, out: dict[NodeId, list[Branching]]) -> None:
        for child, found in out.items():
            parts = in_parts(found)
            for part in parts:
                # A part does not name all trees.
                self._outbox.send(child, Beat(name_all and len(parts) == 1, part))


def _branching(topic: Topic, branch: Branch, end: int, recent: tuple[Recent, ...]) -> Branching:
    return Branching(topic, end, branch.root, max(0, branch.beat), branch.depth + 1, recent)
