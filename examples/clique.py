"""A toy overlay: every node links to every node that shares a topic with it.

Each node says hello once a second to all nodes it knows, with its interest and the other nodes
it knows. A node that has been silent for three periods is forgotten. Events spread by Plumtree.
That is all it takes to be run by every host and judged by every metric:

    PYTHONPATH=examples orbweaver simulate --overlay clique:Clique --nodes 100

docs/write-your-own-overlay.md walks through this file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message, Purpose
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.params import Params
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.plumtree import Plumtree
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Prune, Push


class CliqueParams(Params, frozen=True):
    hello_ms: Annotated[int, Meta(ge=1, description="period of the hellos", title="ours")] = 1000


class Hello(Message, frozen=True, gc=False, tag="hello"):
    """The sender's interest, and the nodes that it knows."""

    purpose: ClassVar[Purpose] = "membership"
    interest: Interest
    known: tuple[NodeId, ...]


class Bye(Message, frozen=True, gc=False, tag="bye"):
    """The sender leaves."""


class Clique(Overlay):
    name: ClassVar[str] = "clique"
    summary: ClassVar[str] = "every node links to every node that shares a topic with it"
    Params = CliqueParams
    params: CliqueParams
    messages = (*Plumtree.messages, Hello, Bye)

    def __init__(self, context: Context, params: CliqueParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.known: dict[NodeId, None] = {}
        self.heartbeats = Heartbeats(3 * params.hello_ms)
        self.neighbors: dict[NodeId, Interest] = {}
        self.plumtree = Plumtree(context, self.neighbors)

    @classmethod
    def claims(cls, params: CliqueParams) -> Claims:
        return Claims(noiseless=True, topic_connected=True, total_delivery=True)

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.interest.start(self.context.outbox.now())
        self.plumtree.start()
        for contact in contacts:
            self.heard(contact, self.context.outbox.now())
        self.wake(Heartbeats.TIMER)

    def stop(self) -> None:
        for peer in list(self.known):
            self.context.outbox.send(peer, Bye())
            self.lost(peer)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.interest.renew()
        self.plumtree.subscribe(topic)

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        self.interest.renew()
        self.plumtree.unsubscribe(topic)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        if self.interest.publish(topic):
            self.interest.renew()
        return self.plumtree.publish(topic, payload)

    def reach(self, topic: Topic) -> int:
        return self.plumtree.reach(topic)

    def wake(self, timer: Timer) -> None:
        if timer != Heartbeats.TIMER:
            self.plumtree.wake(str(timer))
            return
        self.context.outbox.set_timer(Heartbeats.TIMER, self.params.hello_ms)
        for peer in self.heartbeats.suspects(self.known, self.context.outbox.now()):
            self.lost(peer)
        self.context.outbox.send_all(self.known, Hello(self.interest.topics, tuple(self.known)))

    def lost(self, peer: NodeId) -> None:
        self.known.pop(peer, None)
        self.heartbeats.forget(peer)
        self.unlink(peer)

    def links(self) -> Collection[NodeId]:
        return self.neighbors.keys()

    def on_hello(self, sender: NodeId, message: Hello) -> None:
        now = self.context.outbox.now()
        self.heard(sender, now)
        for peer in message.known:
            if peer != self.context.me and peer not in self.known:
                self.heard(peer, now - 2 * self.params.hello_ms)  # hearsay is forgotten sooner
        if not message.interest.mask & self.interest.topics.mask:
            self.unlink(sender)
        elif self.neighbors.get(sender) != message.interest:
            if sender not in self.neighbors:
                self.context.outbox.link_up(sender)
            self.neighbors[sender] = message.interest
            self.plumtree.peer_up(sender, message.interest)

    def on_bye(self, sender: NodeId, message: Bye) -> None:
        self.lost(sender)

    def heard(self, peer: NodeId, when_ms: int) -> None:
        self.known[peer] = None
        self.heartbeats.heard(peer, when_ms)

    def unlink(self, peer: NodeId) -> None:
        if self.neighbors.pop(peer, None) is not None:
            self.plumtree.peer_down(peer)
            self.context.outbox.link_down(peer)


Clique.ON = {
    Hello: Clique.on_hello,
    Bye: Clique.on_bye,
    Push: lambda node, sender, message: node.plumtree.on_push(sender, message),
    IHave: lambda node, sender, message: node.plumtree.on_ihave(sender, message),
    Graft: lambda node, sender, message: node.plumtree.on_graft(sender, message),
    Gone: lambda node, sender, message: node.plumtree.on_gone(sender, message),
    Prune: lambda node, sender, message: node.plumtree.on_prune(sender, message),
}
