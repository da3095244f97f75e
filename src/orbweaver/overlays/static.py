"""Static links are given, and events spread over them.

This shows what an overlay with these links would do, for instance one that was planned in one
place (`orbweaver design`). Nothing is looked for and nothing is repaired. A node links to each of
the contacts that it is given when it starts, at both ends, and to no other peer. A scenario gives
each node its neighbours of `links.file`; without such a file contacts are random, and so are
the links. Contacts that a host finds later are ignored.

A link is down while one of its ends is. The end that comes up again asks for it, and an end that
was cut off from the other asks again with each heartbeat. Events spread by Plumtree.

The claims are only those that hold for any links. Whether topics are connected, and so whether
events reach all subscribers, depends on the links that were given.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, cast

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message, Purpose
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.params import Params
from orbweaver.core.seeds import below
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import Links


class Link(Message, frozen=True, gc=False, tag="link"):
    """The sender has a link to the receiver, and this interest. With `ask` the receiver answers
    with its own."""

    interest: Interest
    ask: bool


class LinkHeartbeat(Message, frozen=True, gc=False, tag="link-heartbeat"):
    purpose: ClassVar[Purpose] = "keepalive"


class LinkLeave(Message, frozen=True, gc=False, tag="link-leave"):
    """The sender leaves."""


class StaticParams(Params, frozen=True):
    heartbeat_ms: Annotated[
        int, Meta(ge=1, description="period of the heartbeats", title="as SpiderCast's")
    ] = 1000
    failure_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="silence after which a neighbour is suspected",
            title="as SpiderCast's",
        ),
    ] = 3500


class Static(Overlay):
    name: ClassVar[str] = "static"
    summary: ClassVar[str] = "the links that it is given, and no others"
    paper: ClassVar[str] = "ours, for designs made in one place"
    Params = StaticParams
    params: StaticParams
    messages = (Link, LinkHeartbeat, LinkLeave, *Links.messages)

    def __init__(self, context: Context, params: StaticParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.linked = Links(context, params.failure_ms)
        self.plumtree = self.linked.plumtree
        self.contacts: tuple[NodeId, ...] = ()
        self.running = False

    @classmethod
    def claims(cls, params: StaticParams) -> Claims:
        return Claims(noiseless=True, topic_connected=False, total_delivery=False)

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.running = True
        self.interest.start(self.context.outbox.now())
        self.plumtree.start()
        self.contacts = tuple(dict.fromkeys(contacts))
        self.ask_for_links()
        phase = 1 + below(self.context.rng, self.params.heartbeat_ms)
        self.context.outbox.set_timer(Heartbeats.TIMER, phase)

    def stop(self) -> None:
        self.running = False
        for peer in list(self.linked.neighbors):
            self.context.outbox.send(peer, LinkLeave())
            self.linked.remove(peer)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.plumtree.subscribe(topic)
        self.interest_changed()

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        self.plumtree.unsubscribe(topic)
        self.interest_changed()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        return self.publish_run(topic, (payload,))[0].event

    def publish_run(self, topic: Topic, payloads: Sequence[bytes]) -> Sequence[Carrier]:
        if self.interest.publish(topic):
            self.interest_changed()
        return (self.plumtree.publish_run(topic, payloads),)

    def reach(self, topic: Topic) -> int:
        return self.plumtree.reach(topic)

    def wake(self, timer: Timer) -> None:
        if timer == Heartbeats.TIMER:
            self.beat()
        else:
            self.plumtree.wake(cast(str, timer))

    def lost(self, peer: NodeId) -> None:
        self.linked.remove(peer)

    def links(self) -> Collection[NodeId]:
        return self.linked.neighbors.keys()

    def status(self) -> dict[str, int]:
        return {"contacts": len(self.contacts), "linked": len(self.linked.neighbors)}

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            changed = Link(self.interest.topics, ask=False)
            self.context.outbox.send_all(self.linked.neighbors, changed)

    def beat(self) -> None:
        outbox = self.context.outbox
        outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
        for peer in self.linked.silent():
            self.linked.remove(peer)
        outbox.send_all(self.linked.neighbors, LinkHeartbeat())
        self.ask_for_links()

    def ask_for_links(self) -> None:
        """Ask those contacts that this node has no link to."""
        link = Link(self.interest.topics, ask=True)
        missing = [peer for peer in self.contacts if peer not in self.linked.neighbors]
        self.context.outbox.send_all(missing, link)

    def on_link(self, sender: NodeId, message: Link) -> None:
        self.linked.set(sender, message.interest)
        self.linked.heard(sender)
        if message.ask:
            self.context.outbox.send(sender, Link(self.interest.topics, ask=False))

    def on_heartbeat(self, sender: NodeId, message: LinkHeartbeat) -> None:
        if sender in self.linked.neighbors:
            self.linked.heard(sender)
        else:
            # The far end has a link that this end has lost.
            self.context.outbox.send(sender, Link(self.interest.topics, ask=True))


Static.ON = {
    Link: Static.on_link,
    LinkHeartbeat: Static.on_heartbeat,
    LinkLeave: lambda node, sender, _: node.linked.remove(sender),
    **Links.HANDLERS,
}
