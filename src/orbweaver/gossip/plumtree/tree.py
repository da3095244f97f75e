"""The tree of a topic, as one node sees it: which neighbours push to it, and to which it pushes.

The idea of Plumtree (Leitao et al., 2007): a copy that arrives twice shows a link too many.
Plumtree prunes the link over which a copy comes, for both directions. When events follow each
other faster than queues drain, two neighbours are each first with some of them, and pruning both
would leave no neighbour that pushes. So here

- a node remembers which neighbour *feeds* it: the first that brought something new, until
  another brings a copy that came a shorter way, or something new before the feeder does. A node
  never prunes its feeder, and prunes no neighbour while it has none;
- PRUNE and GRAFT are each for one direction. The receiver of a PRUNE stops pushing, but keeps
  taking pushes until one of them is a copy. To prune in turn, before there is a copy, cuts links
  that are needed: two nodes that had each just taken the other for its feeder were left alone;
- a node that loses its feeder asks all its neighbours to push. The neighbours that it feeds have no
  events either, and ask theirs.
"""

from __future__ import annotations

from collections.abc import Container

from orbweaver.core.ids import NodeId

REMIND = 256
"""Copies from a pruned neighbour after which it is told again."""


class Tree:
    """What it takes in decides what to answer; sending the answer is up to the owner.
    `peers` are the neighbours as they are now."""

    __slots__ = ("feeder", "former", "lazy_push_peers", "pruned", "rival")

    def __init__(self) -> None:
        self.lazy_push_peers: dict[NodeId, None] = {}
        """Neighbours that have pruned this node: events are only announced to them. All others
        are eager."""
        self.pruned: dict[NodeId, int] = {}
        """Neighbours that this node has pruned, and how many copies still came from each."""
        self.feeder: NodeId | None = None
        self.rival: NodeId | None = None
        """The neighbour that brought something new after the feeder last did."""
        self.former: NodeId | None = None
        """The feeder before, while its queue may hold events that the feeder did not push."""

    def is_fed(self, peers: Container[NodeId]) -> bool:
        return self.feeder in peers and self.feeder not in self.pruned

    def follow(self, peer: NodeId) -> None:
        """Make `peer` the feeder."""
        if peer != self.feeder:
            self.feeder, self.former = peer, self.feeder

    def is_skipped(self, holder: NodeId, peers: Container[NodeId], late: bool) -> bool:
        """Return whether an event that `holder` has shown to exist will not come without a GRAFT:
        no neighbour feeds this node, or the feeder itself has passed the event over. `late` says
        that events come late, so that the feeder before may still have it in its queue."""
        if not self.is_fed(peers):
            return True
        return self.feeder == holder and not (late and self.former in peers)

    def take_ihave(self, sender: NodeId) -> None:
        """Note that all that the sender has pushed so far is here."""
        if self.former == sender:
            self.former = None

    def take_new(self, sender: NodeId, peers: Container[NodeId]) -> bool:
        """Take something new. Return whether to send a GRAFT to the sender, because it was
        pruned and feeds this node now."""
        if self.feeder == sender:
            self.rival = None
            return False
        if self.is_fed(peers) and self.rival != sender:
            self.rival = sender
            return False
        # No neighbour feeds this node, or the rival was first twice and the feeder brought
        # nothing since.
        self.rival = None
        self.follow(sender)
        return self.pruned.pop(sender, None) is not None

    def take_copy(self, sender: NodeId, nearer: bool, ours: bool, peers: Container[NodeId]) -> bool:
        """Take what is here already: `nearer` if it came a shorter way, `ours` if it began
        here. Return whether to prune the sender."""
        if self.feeder == sender:
            rival = self.rival
            if not nearer and rival is not None and rival in peers and rival not in self.pruned:
                self.follow(rival)
            return False
        if sender in self.pruned:
            # Some were on their way when it was pruned; more mean that it does not know.
            self.pruned[sender] += 1
            return self.pruned[sender] % REMIND == 0
        if nearer:
            self.follow(sender)
            return False
        if ours or self.is_fed(peers):
            self.pruned[sender] = 0
            return True
        return False

    def take_prune(self, sender: NodeId) -> None:
        """Note that the sender wants no more pushes."""
        self.lazy_push_peers[sender] = None

    def take_graft(self, sender: NodeId) -> None:
        """Note that the sender asks for pushes. That does not make it push to this node."""
        self.lazy_push_peers.pop(sender, None)

    def graft(self, peer: NodeId) -> None:
        """Record that `peer` is asked to push again."""
        self.pruned.pop(peer, None)

    def starve(self, peer: NodeId) -> bool:
        """Record that `peer` has nothing to push. Return whether it fed this node, which means that
        the owner has to ask all neighbours to push."""
        if self.feeder != peer:
            return False
        self.feeder = self.rival = self.former = None
        self.pruned.clear()
        return True

    def lose(self, peer: NodeId) -> bool:
        """Forget a link that is gone; should the peer come again, the link is a new one.
        Return whether the peer fed this node, as `starve` does."""
        self.lazy_push_peers.pop(peer, None)
        self.pruned.pop(peer, None)
        self.take_ihave(peer)
        return self.starve(peer)
