"""How a node joins (Pastry 2.4): it looks itself up, and takes rows of the routing tables of the
nodes on the way."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import below, pick
from orbweaver.overlays.scribe.links import PastryLinks
from orbweaver.overlays.scribe.messages import PastryJoin, PastryRows
from orbweaver.overlays.scribe.pastry import PastryState, pastry_id

HOPS_MAX = 64
"""Most hops of a routed message. Routes of a million nodes have six."""
CONTACTS_MAX = 64
"""Most contacts that are remembered."""
JOINS_LOG2 = 7
"""How often the time until a node looks itself up again doubles: up to 128 times `join_ms`."""


class Arrival:
    """The requests to join of one node, and its part in those of others."""

    def __init__(
        self, context: Context, join_ms: int, state: PastryState, links: PastryLinks
    ) -> None:
        self._context = context
        self._join_ms = join_ms
        self._state = state
        self._links = links
        self._joined = False
        self._contacts: dict[NodeId, None] = {}
        self._joins = 0
        """How often this node has looked itself up since it joined."""

    def learn(self, contacts: Iterable[NodeId]) -> None:
        self._contacts.update((node, None) for node in contacts if node != self._context.me)
        while len(self._contacts) > CONTACTS_MAX:
            del self._contacts[next(iter(self._contacts))]

    def forget(self, node: NodeId) -> None:
        self._contacts.pop(node, None)

    def look_self_up(self) -> None:
        """Send a request to join through some node, and again later. Nodes that joined at the same
        time were not there the first time, and each contact may know a ring of its own."""
        rng = self._context.rng
        known = self._strangers(self._contacts) or list(self._links.peers)
        if known:
            through = pick(rng, known)
            self._context.outbox.send(through, PastryJoin(self._context.me, 0))
            if self._joined:
                self._contacts.pop(through, None)
        self._joins = min(self._joins + 1, JOINS_LOG2) if self._joined else 0
        wait_ms = self._join_ms << self._joins
        self._context.outbox.set_timer("join", wait_ms // 2 + below(rng, wait_ms))

    def look_self_up_through(self, contacts: Collection[NodeId]) -> None:
        """Send a request to join through a stranger: it may belong to another ring."""
        self.learn(contacts)
        strangers = self._strangers(contacts)
        if strangers:
            through = pick(self._context.rng, strangers)
            self._context.outbox.send(through, PastryJoin(self._context.me, 0))

    def _strangers(self, nodes: Iterable[NodeId]) -> list[NodeId]:
        return [n for n in nodes if n not in self._links.peers and n != self._context.me]

    def on_join(self, message: PastryJoin) -> None:
        """Send a node that joins the row in which it belongs, and its request on its way. The
        last node on the way adds its leaf set."""
        node, outbox = message.node, self._context.outbox
        if node == self._context.me or message.hops >= HOPS_MAX:
            return
        hop = self._state.next_hop(pastry_id(self._context.places[node]), but=node)
        row = self._state.row_of(node)
        found: list[NodeId] = []
        for number in range(row + 1) if message.hops == 0 else [row]:
            found += self._state.row(number)
        if hop is None:
            found += self._state.leaves
        else:
            outbox.send(hop, PastryJoin(node, message.hops + 1))
        outbox.send(node, PastryRows(tuple(dict.fromkeys(found)), hop is None))
        self._links.notice([node])

    def on_rows(self, sender: NodeId, message: PastryRows) -> None:
        self._joined = self._joined or message.last
        self._links.consider(sender)
        self._links.notice(message.nodes)
