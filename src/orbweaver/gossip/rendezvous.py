"""Overlays in which a topic has a place, and trees lead to whoever is nearest to it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Claims, Context
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.dispatch import Handler
from orbweaver.gossip.profiles import Peer
from orbweaver.gossip.relays import Relay, Relays, Unrelay
from orbweaver.gossip.smallworld import Router, SmallWorld
from orbweaver.gossip.table import TableOverlay, TableParams


class RendezvousParams(TableParams, frozen=True):
    relay_ms: Annotated[
        int, Meta(ge=1, description="how often relay paths are asked for again", title="ours")
    ] = 5000


class RendezvousOverlay(TableOverlay):
    params: RendezvousParams
    messages = TableOverlay.part_messages + Relays.messages

    def __init__(self, context: Context, params: RendezvousParams, long_links: int) -> None:
        super().__init__(context, params)
        self.world = SmallWorld(context.me, long_links, context.rng)
        self._router = Router(context.me)
        self.relays = Relays(context, self._router.next_hop, params.relay_ms)

    @classmethod
    def claims(cls, params: RendezvousParams) -> Claims:
        return Claims(
            noiseless=False,
            topic_connected=False,
            total_delivery=True,
            degree_bound="table_size links of its own; those of others to it are not bounded",
        )

    def status(self) -> dict[str, int]:
        relayed = sum(topic not in self._sharing for topic in self.relays.branches)
        return super().status() | {"relay_of": relayed}

    def _neighbors(self) -> list[Descriptor]:
        """The table, and those that have put us in theirs: who finds us near is near to us.
        Without these it takes a ring twice as long to close."""
        peers = self.peers.values()
        # There is no bound on how many choose us, but there is one on what is passed on.
        callers = [peer for peer in peers if not peer.chosen][-self.params.view_size :]
        return self._describe([*[peer for peer in peers if peer.chosen], *callers])

    def _called(self, peer: Peer) -> None:
        if self.world.improves(peer.node):
            self._refresh_table(self._describe([peer]))

    def _linked(self, peer: Peer) -> None:
        self._router.add(peer.node)
        self.relays.reroute()

    def _unlinked(self, peer: Peer) -> None:
        self._router.remove(peer.node)
        self.relays.lost(peer.node)

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        # A link that is going down; its other end will hear of it and ask elsewhere.
        if sender in self.peers:
            self.relays.on_relay(sender, message)

    handlers: ClassVar[dict[type, Handler]] = {
        **TableOverlay.handlers,
        Relay: on_relay,
        Unrelay: lambda node, *m: node.relays.on_unrelay(*m),
    }
