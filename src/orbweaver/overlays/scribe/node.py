"""One node's side of Scribe and Pastry: its life, and what follows when its links change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import Pull, Relay, Unrelay
from orbweaver.gossip.relays import Relays
from orbweaver.overlays.scribe.arrival import Arrival
from orbweaver.overlays.scribe.links import PastryLinks
from orbweaver.overlays.scribe.messages import (
    MESSAGES,
    PastryAlive,
    PastryGone,
    PastryJoin,
    PastryProbe,
    PastryProbeOk,
    PastryRows,
    RowRequest,
    ScribeMulticast,
    ScribePublish,
    ScribePublished,
    ScribeRecent,
)
from orbweaver.overlays.scribe.multicast import Dissemination, TopicKeys
from orbweaver.overlays.scribe.params import ScribeParams
from orbweaver.overlays.scribe.pastry import PastryState

COMPARED = 4
"""How many nodes of a leaf set that has changed are told of it."""
TIMERS = ("join", "heartbeat", "check", "probe", "table", "step", "beat")


class Scribe(Overlay):
    name: ClassVar[str] = "scribe"
    summary: ClassVar[str] = "multicast trees of the routes of Pastry, with relays"
    paper: ClassVar[str] = "Scribe, IEEE JSAC 2002, over Pastry, Middleware 2001"
    Params = ScribeParams
    params: ScribeParams
    messages = (*MESSAGES, Relay, Unrelay, Pull)

    def __init__(self, context: Context, params: ScribeParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.pastry = PastryState(context.me, context.places, params.leaf_set, params.proximity)
        self.keys = TopicKeys(context, params.root == "publisher")
        self.relays = Relays(context, self.pastry.next_hop, params.relay_ms, self.keys)
        self.neighbors = PastryLinks(context, params, self.pastry, self.relays)
        self.arrival = Arrival(context, params.join_ms, self.pastry, self.neighbors)
        self.multicast = Dissemination(
            context,
            params,
            self.pastry,
            self.keys,
            self.relays,
            self.neighbors,
            self.interest.subscribed,
        )
        self.running = False

    @classmethod
    def claims(cls, params: ScribeParams) -> Claims:
        return Claims(
            noiseless=False,
            topic_connected=False,
            total_delivery=True,
            degree_bound="leaf_set links and 15 for each of about log16 N rows of its own; those "
            "of others to it are not bounded",
        )

    # -- life

    def start(self, contacts: Sequence[NodeId]) -> None:
        outbox, rng, params = self.context.outbox, self.context.rng, self.params
        self.running = True
        self.interest.start(outbox.now())
        self.multicast.start()
        self.relays.want(self.interest.subscribed)
        self.neighbors.start()
        self.arrival.learn(contacts)
        outbox.set_timer("heartbeat", 1 + below(rng, params.heartbeat_ms))
        outbox.set_timer("check", 1 + below(rng, params.heartbeat_ms))
        outbox.set_timer("table", 1 + below(rng, params.table_ms))
        self.arrival.look_self_up()

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.arrival.look_self_up_through(contacts)

    def stop(self) -> None:
        self.running = False
        self.neighbors.stop()
        for timer in TIMERS:
            self.context.outbox.cancel_timer(timer)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        if self.running:
            self.relays.want(self.interest.subscribed)
            self.neighbors.step_soon()

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        if self.running:
            self.relays.want(self.interest.subscribed)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        return self.multicast.publish(topic, payload)

    # -- what comes in, and what is due

    def receive(self, sender: NodeId, message: Message) -> None:
        peer = self.neighbors.peers.get(sender)
        if peer is not None:
            peer.heard_ms = self.context.outbox.now()
        super().receive(sender, message)

    def wake(self, timer: Timer) -> None:
        match timer:
            case "join":
                self.arrival.look_self_up()
            case "heartbeat":
                self.context.outbox.set_timer(timer, self.params.heartbeat_ms)
                self.neighbors.beat_hearts()
                self.relays.step()
            case "check":
                self.neighbors.check_silent()
            case "probe":
                for peer in self.neighbors.probe_again():
                    self.failed(peer)
            case "table":
                self.neighbors.refresh_table()
            case "step":
                self.step()
            case "beat":
                self.multicast.beat()

    def step(self) -> None:
        """Let trees and events follow the changes of the last moments."""
        self.neighbors.stepping()
        self.neighbors.compare_changed(COMPARED)
        self.relays.step()
        self.multicast.resign()
        self.multicast.send_to_roots()
        self.multicast.tell_new_neighbors()

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        """Take JOIN from a child. It would not send it if this node were not in its state."""
        self.neighbors.chosen_by(sender)
        self.relays.on_relay(sender, message)
        self.neighbors.step_soon()

    def on_gone(self, sender: NodeId, message: PastryGone) -> None:
        if message.leaving:
            self.failed(sender)
        else:
            self.neighbors.on_gone(sender)

    def failed(self, peer: NodeId) -> None:
        self.arrival.forget(peer)
        self.neighbors.failed(peer)

    def lost(self, peer: NodeId) -> None:
        self.failed(peer)

    # -- what hosts ask

    def backlog(self) -> int:
        return self.multicast.backlog()

    def links(self) -> Collection[NodeId]:
        return self.neighbors.peers.keys()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        found = dict.fromkeys(self.relays.peers(topic))
        hop = self.pastry.next_hop(self.keys[topic])
        return found if found or hop is None else {hop: None}

    def status(self) -> dict[str, int]:
        branches = self.relays.branches
        return {
            "leaves": len(self.pastry.leaves),
            "table": len(self.pastry.table),
            "in_links": sum(not peer.chosen for peer in self.neighbors.peers.values()),
            "relay_of": sum(topic not in self.interest.subscribed for topic in branches),
            "root_of": sum(branch.parent is None for branch in branches.values()),
            "children": sum(len(branch.children) for branch in branches.values()),
        }


Scribe.ON = {
    PastryJoin: lambda node, _, message: node.arrival.on_join(message),
    PastryRows: lambda node, sender, message: node.arrival.on_rows(sender, message),
    RowRequest: lambda node, sender, message: node.neighbors.on_row_request(sender, message),
    PastryProbe: lambda node, sender, message: node.neighbors.on_probe(sender, message),
    PastryProbeOk: lambda node, sender, message: node.neighbors.on_probe_ok(sender, message),
    PastryAlive: lambda node, sender, message: node.neighbors.on_alive(sender, message),
    PastryGone: Scribe.on_gone,
    Relay: Scribe.on_relay,
    Unrelay: lambda node, sender, message: node.relays.on_unrelay(sender, message),
    ScribePublish: lambda node, _, message: node.multicast.on_publish(message),
    ScribePublished: lambda node, sender, message: node.multicast.on_published(sender, message),
    ScribeMulticast: lambda node, sender, message: node.multicast.on_multicast(sender, message),
    ScribeRecent: lambda node, sender, message: node.multicast.on_recent(sender, message),
    Pull: lambda node, sender, message: node.multicast.on_pull(sender, message),
}
