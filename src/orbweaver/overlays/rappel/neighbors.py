"""The neighbours of a node: every peer that is a friend, a fan, a parent or a child.

One link and one ping serve all relations to a peer (sections 3.3 and 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Outbox
from orbweaver.overlays.rappel.friends import Friends
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.trees import FeedTree

TRIES = 3
"""How often a ping is sent within the timeout before the peer is deemed failed."""


class Neighbors:
    """The links of one node, and which of them are alive."""

    def __init__(
        self,
        outbox: Outbox,
        params: RappelParams,
        friends: Friends,
        trees: Mapping[Topic, FeedTree],
    ) -> None:
        self._outbox = outbox
        self._silence_ms = params.ping_ms + params.timeout_ms
        self._friends = friends
        self._trees = trees
        self.linked: dict[NodeId, None] = {}
        self._heard: dict[NodeId, int] = {}
        """Fans and children -> when they last pinged."""
        self._unanswered: dict[NodeId, int] = {}
        """Peers whose ack is missing -> how often they were pinged."""

    def renew(self, peer: NodeId) -> None:
        """Tell the host of a link that has come or gone."""
        linked = (
            peer in self._friends.friends
            or peer in self._friends.fans
            or any(tree.touches(peer) for tree in self._trees.values())
        )
        if linked and peer not in self.linked:
            self.linked[peer] = None
            self._outbox.link_up(peer)
        elif not linked and peer in self.linked:
            del self.linked[peer]
            self._unanswered.pop(peer, None)
            self._outbox.link_down(peer)

    # -- liveness of friends and parents, which this node pings

    def begin_round(self) -> None:
        """Expect an ack of every friend and every parent."""
        for friend in self._friends.friends:
            self._unanswered.setdefault(friend, 0)
        for tree in self._trees.values():
            if tree.parent is not None:
                self._unanswered.setdefault(tree.parent, 0)

    def unanswered(self) -> list[tuple[NodeId, bool]]:
        """Return the peers whose ack is missing, and whether each has failed: `TRIES` pings were
        in vain."""
        return [(peer, tries >= TRIES) for peer, tries in self._unanswered.items()]

    def pinged(self, peer: NodeId) -> None:
        self._unanswered[peer] = self._unanswered.get(peer, 0) + 1

    def answered(self, peer: NodeId) -> bool:
        """Note an ack. Return whether it was expected."""
        return self._unanswered.pop(peer, None) is not None

    # -- liveness of fans and children, which ping this node

    def hear(self, peer: NodeId) -> None:
        self._heard[peer] = self._outbox.now()

    def expire(self) -> None:
        """Remove fans and children that have sent no ping for too long."""
        now, fans = self._outbox.now(), self._friends.fans
        for fan in list(fans):
            if now - self._heard.setdefault(fan, now) > self._silence_ms:
                del fans[fan]
                self.renew(fan)
        for tree in self._trees.values():
            for child in list(tree.children):
                heard = max(self._heard.get(child, 0), tree.child_since.get(child, 0))
                if now - heard > self._silence_ms:
                    del tree.children[child]
                    self.renew(child)
            for child, until in list(tree.leaving.items()):
                if now > until:
                    del tree.leaving[child]
                    self.renew(child)
            tree.forget_former_neighbors()
        wanted = {*fans, *(child for tree in self._trees.values() for child in tree.children)}
        self._heard = {peer: at for peer, at in self._heard.items() if peer in wanted}
