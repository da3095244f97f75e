"""The local view of a node (Algorithm 2): what it keeps of the nodes whose churn it may handle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import Interest, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.overlays.omen.backups import BackupsReady
from orbweaver.overlays.omen.messages import HeldNeighbor, Local, ViewTold


class LocalView:
    """What a node keeps of one node whose churn it may have to handle (Algorithm 2)."""

    def __init__(self, rounds: int) -> None:
        self.topics = 0
        """The topics of the node, as a mask."""
        self.number = 0
        """Of the LOCAL that this is from, or 0."""
        self.incarnation = 0
        self.neighbors: dict[NodeId, int] = {}
        """N(v'): the neighbours of the node, and the masks of their topics."""
        self.contacts: dict[NodeId, tuple[NodeId, ...]] = {}
        """The successors of each neighbour, which can be asked about it when it has left too."""
        self.backups: dict[NodeId, int] = {}
        """B(v'): its backup set, and the masks of their topics."""
        self.ready = BackupsReady(rounds)
        """R(v')."""


class LocalViews:
    """The local views of a node, for at most 2L others (Alg. 5: gcChurnEvent)."""

    def __init__(self, resilience: int, rounds: int) -> None:
        self._most = 2 * resilience
        self._size = resilience + 1
        self._rounds = rounds
        self.of: dict[NodeId, LocalView] = {}

    def keep(self, predecessors: Iterable[NodeId], pending: Iterable[NodeId]) -> None:
        """Keep views of the L predecessors, and of nodes whose events wait, in this order of
        importance, and drop all others."""
        kept = list(dict.fromkeys([*predecessors, *pending]))[: self._most]
        old = self.of
        self.of = {node: old.get(node) or LocalView(self._rounds) for node in kept}

    def take(self, told: Local) -> bool:
        """Note what a node says of itself, if it is one that this node may have to answer for."""
        view = self.of.get(told.about.node)
        if view is None:
            return False
        view.number = told.number
        view.incarnation = told.incarnation
        view.topics = told.about.interest.mask
        view.neighbors = {held.about.node: held.about.interest.mask for held in told.neighbors}
        view.contacts = {held.about.node: held.successors[: self._size] for held in told.neighbors}
        return True

    def number_of(self, node: NodeId) -> int:
        """Return the number of the LOCAL that this node holds of another one, or 0."""
        view = self.of.get(node)
        return 0 if view is None else view.number

    def tell(self, node: NodeId, topics: TopicTable) -> ViewTold | None:
        """Return what this node knows of another one, for a coordinator that asks."""
        view = self.of.get(node)
        if view is None:
            return None

        def told(masks: dict[NodeId, int]) -> tuple[Descriptor, ...]:
            return tuple(Descriptor(n, topics.of_mask(mask), 0) for n, mask in masks.items())

        return ViewTold(node, topics.of_mask(view.topics), told(view.neighbors), told(view.backups))

    def ready(self) -> list[NodeId]:
        return [node for node, view in self.of.items() if view.ready.flag]


class OwnLocal:
    """What a node has its L successors know, and which of them hold it as it is now."""

    def __init__(self) -> None:
        self._local: Local | None = None
        self._held: dict[NodeId, int] = {}

    def renew(
        self, incarnation: int, about: Descriptor, neighbors: tuple[HeldNeighbor, ...], now: int
    ) -> Local:
        """Return what successors should hold, with a new number if it has changed."""
        old = self._local
        if old is None or (old.about, old.neighbors) != (about, neighbors):
            old = self._local = Local(now, incarnation, about, neighbors)
        return old

    def held(self, successor: NodeId, number: int) -> None:
        """Note what a ring neighbour holds of this node."""
        self._held[successor] = number

    def lacking(self, local: Local, successors: Iterable[NodeId]) -> list[NodeId]:
        """Return the successors that do not hold this yet, as far as is known."""
        self._held = {peer: self._held.get(peer, 0) for peer in successors}
        return [peer for peer, number in self._held.items() if number != local.number]


def given_up(topics: int, neighbors: Mapping[NodeId, Interest]) -> LocalView:
    """Return the view by which a node repairs what it held together in topics that it gives up.
    It leaves those topics, and knows best what that cuts."""
    view = LocalView(1)
    view.topics = topics
    view.neighbors = {
        p: interest.mask for p, interest in neighbors.items() if interest.mask & topics
    }
    return view
