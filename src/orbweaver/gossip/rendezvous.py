"""Overlays in which a topic has a place, and trees lead to whoever is nearest to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Claims, Context
from orbweaver.gossip.descriptor import Aged, Descriptor
from orbweaver.gossip.dispatch import Handler
from orbweaver.gossip.profiles import Goodbye, Peer
from orbweaver.gossip.relays import Relay, Relays, Unrelay
from orbweaver.gossip.smallworld import Router, SmallWorld
from orbweaver.gossip.table import TableOverlay, TableParams


class RendezvousParams(TableParams, frozen=True):
    relay_ms: Annotated[
        int, Meta(ge=1, description="how often relay paths are asked for again", title="ours")
    ] = 5000


class Beside(Message, frozen=True, gc=False, tag="beside"):
    """You are next to me on the ring, as far as I know: whom do you know that is nearer?

    Asked when a successor or predecessor is new, and once a cycle of the successor, as in
    Chord. Gossip alone brings such news when it happens to come by; who asks, asks whom it is
    told of in turn, so that a ring closes as fast as lookups reach their ends."""

    purpose: ClassVar[Purpose] = "membership"


class RendezvousOverlay(TableOverlay):
    params: RendezvousParams
    messages = (*TableOverlay.part_messages, Beside, *Relays.messages)

    def __init__(self, context: Context, params: RendezvousParams, long_links: int) -> None:
        super().__init__(context, params)
        self.world = SmallWorld(context.me, context.places, long_links, context.rng)
        self._router = Router(context.me, context.places)
        self.relays = Relays(context, self._router.next_hop, params.relay_ms)

    @classmethod
    def claims(cls, params: RendezvousParams) -> Claims:
        return Claims(
            noiseless=False,
            topic_connected=False,
            total_delivery=params.repair,
            degree_bound="table_size links of its own; those of others to it are not bounded",
        )

    def status(self) -> dict[str, int]:
        relayed = sum(topic not in self._sharing for topic in self.relays.branches)
        return super().status() | {"relay_of": relayed}

    def _neighbors(self) -> Aged:
        """The table, and those that have put us in theirs: who likes us is likely to be liked
        by us. Without these it takes friends half as long again to find each other."""
        peers = self.peers.values()
        # There is no bound on how many choose us, but there is one on what is passed on.
        callers = [peer for peer in peers if not peer.chosen][-self.params.view_size :]
        return self._describe([*[peer for peer in peers if peer.chosen], *callers])

    def _called(self, peer: Peer) -> None:
        if self.world.improving([peer.about]):
            self._refresh_table(())  # a ring does not wait
        else:
            super()._called(peer)

    def _refresh_table(self, strangers: Iterable[tuple[Descriptor, int]]) -> None:
        before = self.world.ring
        super()._refresh_table(strangers)
        for node in self.world.ring:
            if node not in before:
                self.context.outbox.send(node, Beside())

    def _cycle(self) -> None:
        successor = next(iter(self.world.ring), None)
        if successor in self.peers:  # not since it was lost
            self.context.outbox.send(successor, Beside())
        self.relays.step()

    def on_beside(self, sender: NodeId, message: Beside) -> None:
        nearer = [self.peers[node] for node in self._router.beside(sender)]
        if nearer:
            self.tman.tell(sender, *self._describe(nearer))

    def _linked(self, peer: Peer) -> None:
        self._router.add(peer.node)
        self.relays.reroute()

    def _unlinked(self, peer: Peer) -> None:
        self._router.remove(peer.node)

    def _void(self, peer: Peer) -> None:
        self.relays.lost(peer.node)

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        if sender in self.peers:
            self.relays.on_relay(sender, message)
        else:
            # A link that is going down, or its introduction is still on its way here. So that
            # the other end asks again, or elsewhere.
            self.context.outbox.send(sender, Goodbye(leaving=False))

    handlers: ClassVar[dict[type, Handler]] = {
        **TableOverlay.handlers,
        Beside: on_beside,
        Relay: on_relay,
        Unrelay: lambda node, *m: node.relays.on_unrelay(*m),
    }
