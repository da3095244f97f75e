"""Audits of candidates, and the requests of friendship that follow (section 3.4)."""

from __future__ import annotations

from collections.abc import Collection

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.gossip.bloom import from_bytes, to_bytes
from orbweaver.overlays.rappel.friends import Friends, Portrait
from orbweaver.overlays.rappel.landmarks import check_place
from orbweaver.overlays.rappel.messages import (
    NODES_MAX,
    Befriend,
    BefriendDeny,
    BefriendOk,
    Fetch,
    Fetched,
    Unfriend,
)
from orbweaver.overlays.rappel.neighbors import Neighbors
from orbweaver.overlays.rappel.params import RappelParams


class Audits:
    """The audits of one node. `Friends` decides, and the messages are sent here."""

    def __init__(
        self, context: Context, params: RappelParams, friends: Friends, neighbors: Neighbors
    ) -> None:
        self._outbox = context.outbox
        self._params = params
        self._friends = friends
        self._neighbors = neighbors
        self._online = False
        self._stale: Collection[NodeId] = ()
        """Friends of the last session."""
        self._auditing: NodeId | None = None
        """The candidate whose answer the present audit waits for."""
        self._repeats = 0

    def begin(self, stale: Collection[NodeId]) -> None:
        """Go online, and probe the friends of the last session (section 5.3)."""
        self._online = True
        self._stale = stale
        for node in stale:
            self._friends.vote([node])
            self._outbox.send(node, Fetch())

    def audit(self) -> None:
        """Audit the candidate that has most votes."""
        self._repeats = self._params.repeats
        self._audit_next()

    def _audit_next(self) -> None:
        node = self._auditing = self._friends.next_audit()
        if node is None:
            return
        known = self._friends.known.get(node)
        if known is None:
            self._outbox.send(node, Fetch())
        elif self._friends.viable(known):
            self._outbox.send(node, Befriend())

    def on_fetch(self, sender: NodeId) -> None:
        if self._online:
            own = self._friends.own
            self._outbox.send(sender, Fetched(own.version, own.place, to_bytes(own.bloom)))

    def on_fetched(self, sender: NodeId, message: Fetched) -> None:
        check_place(message.place, self._params.dimensions)
        friends = self._friends
        known = Portrait(message.place, from_bytes(message.bloom), message.version)
        held = friends.friends.get(sender)
        if held is not None and held.version <= known.version:
            friends.friends[sender] = known
        if sender not in friends.candidates:
            return
        friends.known[sender] = known
        stale = sender in self._stale and not friends.full
        if (sender == self._auditing or stale) and friends.viable(known):
            self._outbox.send(sender, Befriend())

    def on_befriend(self, sender: NodeId) -> None:
        friends = self._friends
        mine = tuple(friends.friends)[:NODES_MAX]
        if self._online and friends.approve(sender):
            self._neighbors.hear(sender)
            self._outbox.send(sender, BefriendOk(mine))
        else:
            self._outbox.send(sender, BefriendDeny(mine))
        friends.vote([sender])
        self._neighbors.renew(sender)

    def on_befriend_ok(self, sender: NodeId, message: BefriendOk) -> None:
        friends = self._friends
        known = friends.known.get(sender)
        taken, victim = sender in friends.friends, None
        if known is not None:
            taken, victim = friends.add(sender, known)
        if victim is not None:
            self._outbox.send(victim, Unfriend())
            self._neighbors.renew(victim)
        if not taken:
            self._outbox.send(sender, Unfriend())
        friends.vote(message.friends)
        self._neighbors.renew(sender)

    def on_befriend_deny(self, sender: NodeId, message: BefriendDeny) -> None:
        self._friends.vote(message.friends)
        if sender == self._auditing and not self._friends.full and self._repeats > 0:
            self._repeats -= 1
            self._audit_next()

    def on_unfriend(self, sender: NodeId) -> None:
        self._friends.fans.pop(sender, None)
        self._neighbors.renew(sender)
