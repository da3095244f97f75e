"""The tree of a topic, as one node sees it: who pushes to it, and to whom it pushes.

The idea of Plumtree (Leitao et al., 2007): a copy that arrives twice shows a link too many.
Plumtree prunes whoever brings a copy, for both directions. When events follow each other
faster than queues drain, two neighbours are each first with some of them, and pruning both
would leave nobody who pushes. So a node remembers who *feeds* it: the first that brought
something new, until another brings a copy that had come a shorter way, or something new
before the feeder does. It never prunes that one, nor anybody while there is none. And a PRUNE
is for one direction: who gets it stops to push, and prunes in turn, unless the other one feeds
it. Else a node that got something faster another way, for once, would be cut off by who feeds
it until it has said so, which takes as long as queues do.
"""

from __future__ import annotations

from collections.abc import Container

from orbweaver.core.ids import NodeId

REMIND = 256
"""Copies from somebody who was pruned after which it is told again."""


class Tree:
    """What is taken in says what to answer; sending it is the business of the owner.
    `peers` are the neighbours as they are now."""

    __slots__ = ("feeder", "lazy", "pruned", "rival")

    def __init__(self) -> None:
        self.lazy: dict[NodeId, None] = {}
        """Those who have pruned us: they are only told what there is."""
        self.pruned: dict[NodeId, int] = {}
        """Those whom we have pruned, and how many copies still came from each."""
        self.feeder: NodeId | None = None
        self.rival: NodeId | None = None
        """Who, besides, brought something new last."""

    def is_fed(self, peers: Container[NodeId]) -> bool:
        return self.feeder in peers and self.feeder not in self.pruned

    def take_new(self, sender: NodeId, peers: Container[NodeId]) -> bool:
        """Something new. Whether the sender should be told to go on: it was pruned, and
        nobody else brings anything."""
        if self.feeder == sender:
            return False
        if self.is_fed(peers):
            self.rival = sender
            return False
        self.feeder = sender
        return self.pruned.pop(sender, None) is not None

    def take_copy(self, sender: NodeId, nearer: bool, ours: bool, peers: Container[NodeId]) -> bool:
        """Of what is here already; `nearer` if it came a shorter way, `ours` if it began
        here. Whether to prune the sender."""
        if self.feeder == sender:
            if not nearer and self.rival in peers and self.rival not in self.pruned:
                self.feeder = self.rival
            return False
        if sender in self.pruned:
            # Some were on their way when it was pruned; more mean that it does not know.
            self.pruned[sender] += 1
            return self.pruned[sender] % REMIND == 0
        if nearer:
            self.feeder = sender
            return False
        if ours or self.is_fed(peers):
            self.pruned[sender] = 0
            return True
        return False

    def take_prune(self, sender: NodeId, peers: Container[NodeId]) -> bool:
        """It wants no more from us. Whether to prune it in turn."""
        self.lazy[sender] = None
        if self.feeder == sender or sender in self.pruned or not self.is_fed(peers):
            return False
        self.pruned[sender] = 0
        return True

    def take_graft(self, sender: NodeId) -> None:
        """The sender asks us to push to it. Like a PRUNE, a GRAFT is for one direction: it does
        not make the sender push to us."""
        self.lazy.pop(sender, None)

    def graft(self, peer: NodeId) -> None:
        """Record that `peer` is asked to push to us again."""
        self.pruned.pop(peer, None)

    def lose(self, peer: NodeId, peers: Container[NodeId]) -> list[NodeId]:
        """Forget a link that is gone. Should the peer come again, the link is a new one.

        Return the neighbours to send a GRAFT. Without its feeder, a node asks all that it has
        pruned. One is not enough, because it may get its events through this very node; the
        neighbours that turn out to be too many are pruned with the next event."""
        self.lazy.pop(peer, None)
        self.pruned.pop(peer, None)
        if self.feeder != peer:
            return []
        self.feeder = None
        asked = [pruned for pruned in self.pruned if pruned in peers]
        self.pruned.clear()
        return asked
