"""What a coordinator asks before a repair, and which nodes: no more than it takes (ours).

A node that has left can have cut a topic only if two of its neighbours share that topic: with one
neighbour it was at the end, and nothing was behind it. In each such *lost* topic the neighbours
fall into *pieces*, which grow as more is known:

1. All neighbours with lost topics are enlisted, and name their own neighbours. Two that name each
   other are in one piece. So are two to which news of the same root still comes: the safety net
   tells labels all the time, and when a crash is noticed the last of them that can have passed
   through that node is seconds old (`labels`). A piece is closed if no link leads out of it.
2. If several pieces of a topic are open, one starts a probe (`probing`), and then those that it has
   not reached do, except for one of each topic. That one need not: each component that is left has
   a neighbour of the node that left, so a piece that no probe reaches is in a component of its own.
   The one is a piece with a root, or else with high degrees, since its component may be large.
3. A topic is *cut* if it still has several pieces, and only for such topics backups are enlisted.
   A backup counts where a probe has reached it, or where it is a neighbour of a piece. Elsewhere it
   may be in the component that no probe was in, or behind another node that has left.

All of this takes for granted that the neighbours are known. In the topics of a dead neighbour of
which no node has told the local view, they are not (`Shadow.unsure`): every open piece starts a
probe there, and backups that none has reached count as cut off.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.overlays.omen.backups import build_backups_greedy
from orbweaver.overlays.omen.churn import Shadow
from orbweaver.overlays.omen.components import joined_alike, joined_by_probe
from orbweaver.overlays.omen.messages import ProbeLabel, ShadowReport
from orbweaver.overlays.omen.repair import Joined

Masks = dict[NodeId, int]
"""Nodes, and topics of each as a mask."""
Reports = Mapping[NodeId, ShadowReport]


class Piece(NamedTuple):
    """Neighbours of the chain that are known to be connected in a topic."""

    fresh: bool
    """Whether its component has a root of the safety net, and so is likely to be the largest."""
    degree: int
    """The sum of the degrees of its members."""
    members: tuple[NodeId, ...]
    closed: bool
    """Whether all of its component is known: a probe has reached it, or no link leads out of it."""


def lost_topics(shadow: Shadow) -> int:
    """Return the topics that two neighbours share, or that one has and others may have."""
    once = twice = 0
    for mask in shadow.neighbors.values():
        twice |= once & mask
        once |= mask
    return (twice | once & shadow.unsure) & shadow.topics


class ShadowSurvey:
    """What the reports of a shadow set say, and what they leave open."""

    def __init__(
        self, shadow: Shadow, reports: Reports, dead: Collection[NodeId], topics: TopicTable
    ) -> None:
        """`dead` are nodes that have left, besides those of the chain."""
        there = shadow.interests()
        self._shadow = shadow
        # A node that has reported and left since connects nothing.
        self._reports = reports = {n: report for n, report in reports.items() if n in there}
        self._reached = {node: told_mask(report.labels, topics) for node, report in reports.items()}
        gone = {*shadow.dead, *dead}
        self._ties = {
            node: {tie.node: tie.topics.mask for tie in report.ties if tie.node not in gone}
            for node, report in reports.items()
        }
        self._gone = gone
        # News that comes without the first node of a chain may have come through the others.
        alone = len(shadow.dead) == 1
        fresh = {node: report.fresh if alone else () for node, report in reports.items()}
        self._fresh = {node: told_mask(labels, topics) for node, labels in fresh.items()}
        self.joined = [
            *joined_by_probe(reports.items(), topics),
            *joined_alike(
                (topics.mask(label.topic), node, label.least)
                for node, labels in fresh.items()
                for label in labels
            ),
            *self._tied(),
        ]
        self._pieces = dict(self._all_pieces())

    def starts(self, started: Mapping[NodeId, int]) -> Masks:
        """Return the nodes that are to start a probe, and in which topics. `started` has the
        topics in which each node was asked to."""
        may: Masks = {}
        must: Masks = {}
        for bit, pieces in self._pieces.items():
            asked = [node for node, mask in started.items() if mask & bit]
            waiting = [
                p for p in sorted(pieces) if not p.closed and not set(asked) & set(p.members)
            ]
            if not bit & self._shadow.unsure:
                del waiting[-1:]
            for piece in waiting:
                for node in piece.members[:1] if asked else piece.members:
                    to = must if asked else may
                    to[node] = to.get(node, 0) | bit
        first = 0
        for mask in may.values():
            first |= mask
        for node, mask in build_backups_greedy(first, list(may.items()), 1):
            must[node] = must.get(node, 0) | mask & first
            first &= ~mask
        return must

    def cut(self) -> int:
        """Return the lost topics of which not all neighbours are known to be connected."""
        cut = 0
        for bit, pieces in self._pieces.items():
            if len(pieces) > 1 or bit & self._shadow.unsure:
                cut |= bit
        return cut

    def usable(self) -> Masks:
        """Return the shadow nodes that have reported, each with the topics in which it is known
        what the node is connected to."""
        neighbors = self._shadow.neighbors
        found = {node: mask for node, mask in neighbors.items() if node in self._reports}
        tied: Masks = {}
        for a, b, mask in self._tied():
            for node, other in ((a, b), (b, a)):
                if other in neighbors:
                    tied[node] = tied.get(node, 0) | mask & neighbors[other]
        for node, mask in self._shadow.backups.items():
            if node in self._reports:
                known = self._reached[node] | tied.get(node, 0) | self._shadow.unsure
                found[node] = mask & known
        return found

    def _tied(self) -> list[Joined]:
        """Return the links between nodes that both name."""
        return [
            (a, b, mask & self._ties[b][a])
            for a, ties in self._ties.items()
            for b, mask in ties.items()
            if a < b and a in self._ties.get(b, ())
        ]

    def _all_pieces(self) -> list[tuple[int, list[Piece]]]:
        lost, neighbors = lost_topics(self._shadow), self._shadow.neighbors
        there = {n: mask & lost for n, mask in neighbors.items() if n in self._reports}
        edges = [(a, b, mask) for a, b, mask in self.joined if a in there and b in there]
        found = []
        for topic in bits_of(lost):
            bit = 1 << topic
            piece_of = {node: [node] for node, mask in there.items() if mask & bit}
            for a, b, mask in edges:
                if mask & bit and a in piece_of and b in piece_of:
                    here, other = piece_of[a], piece_of[b]
                    if here is not other:
                        here += other
                        piece_of.update(dict.fromkeys(other, here))
            unique = {id(piece): piece for piece in piece_of.values()}.values()
            found.append((bit, [self._piece(piece, bit) for piece in unique]))
        return found

    def _piece(self, members: list[NodeId], bit: int) -> Piece:
        inside = {*members, *self._gone}
        leads_out = any(
            mask & bit and other not in inside
            for node in members
            for other, mask in self._ties[node].items()
        )
        return Piece(
            any(self._fresh[node] & bit for node in members),
            sum(self._reports[node].degree for node in members),
            tuple(members),
            not leads_out or any(self._reached[node] & bit for node in members),
        )


def told_mask(labels: Iterable[ProbeLabel], topics: TopicTable) -> int:
    """Return the topics of labels as a mask."""
    mask = 0
    for label in labels:
        mask |= topics.mask(label.topic)
    return mask
