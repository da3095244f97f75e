"""One node's side of Rappel: its life, and what concerns several parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.core.topics import Interest
from orbweaver.gossip.bloom import make_filter
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import News, NewsReply
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.vivaldi import distance_ms
from orbweaver.overlays.rappel.audits import Audits
from orbweaver.overlays.rappel.friends import Friends, Portrait
from orbweaver.overlays.rappel.landmarks import Landmarks
from orbweaver.overlays.rappel.messages import (
    MESSAGES,
    NODES_MAX,
    Adopt,
    Befriend,
    BefriendDeny,
    BefriendOk,
    ChangeParent,
    Departing,
    FeedPull,
    Fetch,
    Fetched,
    JoinDeny,
    JoinForward,
    JoinOk,
    JoinRequest,
    LeaveParent,
    Lineage,
    OtherRoot,
    PingAck,
    PingRequest,
    PlaceProbe,
    PlaceProbeOk,
    Unfriend,
    Update,
)
from orbweaver.overlays.rappel.neighbors import TRIES, Neighbors
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.parents import Parents
from orbweaver.overlays.rappel.sessions import Sessions
from orbweaver.overlays.rappel.trees import FeedTree
from orbweaver.overlays.rappel.updates import Updates


class Rappel(Overlay):
    name: ClassVar[str] = "rappel"
    summary: ClassVar[str] = "noiseless trees by network coordinates, found through near friends"
    paper: ClassVar[str] = "Rappel, Computer Networks 2009"
    Params = RappelParams
    params: RappelParams
    messages = (*MESSAGES, News, NewsReply)

    def __init__(self, context: Context, params: RappelParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.landmarks = Landmarks(context, params)
        self.friends = Friends(
            context.me,
            params.friends,
            params.fans,
            params.candidates,
            params.delta,
            params.proximity,
        )
        self.trees: dict[Topic, FeedTree] = {}
        self.newscast = Newscast(context, self.interest, params.view_size)
        self.neighbors = Neighbors(context.outbox, params, self.friends, self.trees)
        self.updates = Updates(context, params, self.interest.subscribed, self.trees)
        self.audits = Audits(context, params, self.friends, self.neighbors)
        self.parents = Parents(
            context, params, self.friends, self.trees, self.newscast, self.neighbors, self.updates
        )
        self.sessions = Sessions(context, params, self.interest, self.friends, self.trees)
        self.running = False
        self.online = False
        self._gossiping = False

    @classmethod
    def claims(cls, params: RappelParams) -> Claims:
        return Claims(
            noiseless=True,
            topic_connected=True,
            total_delivery=True,
            degree_bound="3 alpha, and a parent and at most 2 beta + 2 children for each feed",
            always_zero=("misplaced",),
        )

    @classmethod
    def degree_bound(cls, params: RappelParams, interest: Interest) -> int | None:
        return 3 * params.friends + len(interest) * (2 * params.children + 3)

    # -- life (section 5)

    def start(self, contacts: Sequence[NodeId]) -> None:
        outbox, rng = self.context.outbox, self.context.rng
        self.running = True
        self.interest.start(outbox.now())
        self.sessions.resume()
        self.newscast.meet(contacts)
        self.friends.vote(contacts)
        self.landmarks.meet(contacts)
        self._describe(outbox.now() + 1)
        outbox.set_timer("probe", 1 + below(rng, self.params.probe_ms))
        outbox.set_timer("online", self.params.warmup_ms)
        self._gossiping = True
        outbox.set_timer("gossip", 1 + below(rng, self.params.gossip_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.newscast.meet(contacts)
        self.friends.vote(contacts)

    def go_online(self) -> None:
        """Freeze the coordinates and begin to join trees (sections 5.2, 5.3 and 6.1.4)."""
        if self.online:
            return
        self.online = True
        outbox, rng, params = self.context.outbox, self.context.rng, self.params
        self.landmarks.vivaldi.freeze()
        self._describe(self.friends.own.version + 1)
        self.parents.begin()
        self.audits.begin(self.sessions.stale_friends())
        self.sessions.begin()
        outbox.cancel_timer("online")
        outbox.cancel_timer("probe")
        outbox.set_timer("stagger", 1 + below(rng, min(1000, params.stagger_ms)))
        outbox.set_timer("ping", 1 + below(rng, params.ping_ms))
        outbox.set_timer("audit", 1 + below(rng, params.rapid_audit_ms))
        outbox.set_timer("rejoin", 1 + below(rng, params.rejoin_ms))

    def stop(self) -> None:
        """Leave every tree and every friend properly (section 4.4)."""
        self.sessions.keep()
        for tree in list(self.trees.values()):
            self.parents.leave(tree)
        self.context.outbox.send_all(
            dict.fromkeys([*self.friends.friends, *self.friends.fans]), Departing()
        )
        self.running = self.online = False
        for timer in ("probe", "online", "gossip", "stagger", "ping", "timeout", "audit", "rejoin"):
            self.context.outbox.cancel_timer(timer)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.sessions.forget(topic)
        self._enter(topic)

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        tree = self.trees.pop(topic, None)
        if tree is not None:
            self.parents.leave(tree)
        self._interest_changed()
        self.sessions.forget(topic)
        self.sessions.keep()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        self.interest.publish(topic)
        self._enter(topic)
        event = self.updates.publish(self.trees[topic], self.sessions.epoch, payload)
        self.sessions.keep(topic)
        return event

    def _enter(self, topic: Topic) -> None:
        if topic not in self.trees:
            self._interest_changed()
            self.parents.enter(topic)
            if self.running and not self._gossiping:
                self.gossip()

    def _interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self._describe(self.friends.own.version + 1)

    def _describe(self, version: int) -> None:
        """Renew what this node tells of itself."""
        place = self.landmarks.vivaldi.coordinates
        self.friends.own = Portrait(place, make_filter(self.interest.topics), version)

    # -- what is due

    def wake(self, timer: Timer) -> None:
        outbox, params = self.context.outbox, self.params
        match timer:
            case "probe" if self.landmarks.done:
                self.go_online()
            case "probe":
                outbox.set_timer(timer, params.probe_ms)
                self.landmarks.probe()
            case "online":
                self.go_online()
            case "stagger":
                for topic in self.sessions.stagger():
                    if topic in self.trees and self.trees[topic].parent is None:
                        self.parents.seek(self.trees[topic])
                if self.sessions.pending:
                    outbox.set_timer(timer, params.stagger_ms)
            case "ping":
                outbox.set_timer(timer, params.ping_ms)
                self.neighbors.expire()
                self.neighbors.begin_round()
                self.ping()
            case "timeout":
                self.ping()
            case "audit":
                rapid = bool(self.sessions.pending) or not self.friends.full
                outbox.set_timer(timer, params.rapid_audit_ms if rapid else params.audit_ms)
                self.sessions.keep()
                self.audits.audit()
            case "rejoin":
                outbox.set_timer(timer, params.rejoin_ms)
                self.parents.rejoin()
            case "gossip":
                self.gossip()
            case ("join", str() as topic):
                self.parents.time_out(topic)

    # -- liveness and gossip (sections 3.3 and 4.1)

    def ping(self) -> None:
        """Ping each peer whose ack is missing. It has failed after `TRIES` pings in vain."""
        waiting = False
        version = self.friends.own.version
        plain = {friend: PingRequest(version, friend, (), ()) for friend in (False, True)}
        for peer, failed in self.neighbors.unanswered():
            if failed:
                self.failed(peer)
                continue
            waiting = True
            self.neighbors.pinged(peer)
            friend = peer in self.friends.friends
            trees = [tree for tree in self.trees.values() if tree.parent == peer]
            if trees:
                feeds, have = tuple([tree.topic for tree in trees]), self.updates.have(trees)
                self.context.outbox.send(peer, PingRequest(version, friend, feeds, have))
            else:
                self.context.outbox.send(peer, plain[friend])
        if waiting:
            self.context.outbox.set_timer("timeout", self.params.timeout_ms // TRIES)

    def on_ping(self, sender: NodeId, message: PingRequest) -> None:
        outbox, friends = self.context.outbox, self.friends
        now = outbox.now()
        self.neighbors.hear(sender)
        if not message.friend:
            friends.fans.pop(sender, None)
        elif sender not in friends.fans:
            friends.approve(sender)
        mine: list[FeedTree] = []
        for topic, tree in self.trees.items():
            if sender not in tree.children:
                continue
            if topic in message.feeds:
                mine.append(tree)
            elif now - tree.child_since.get(sender, 0) > self.params.join_ms:
                del tree.children[sender]  # it has another parent, and LeaveParent was lost
        own = friends.own
        told = tuple(friends.friends)[:NODES_MAX]
        if mine:
            lines = [line for tree in mine if (line := tree.descent(own.place)) is not None]
            have = self.updates.have(mine)
            ack = PingAck(own.version, sender in friends.fans, told, tuple(lines), have)
        else:
            ack = PingAck(own.version, sender in friends.fans, told, (), ())
        outbox.send(sender, ack)
        self.neighbors.renew(sender)
        self.updates.pull(sender, message.have)

    def on_ping_ack(self, sender: NodeId, message: PingAck) -> None:
        if not self.neighbors.answered(sender):
            return
        friends = self.friends
        friends.vote([*message.friends, *friends.fans])
        known = friends.friends.get(sender)
        if known is not None and not message.fan:
            friends.drop(sender)
        elif known is not None and known.version < message.version:
            self.context.outbox.send(sender, Fetch())
        fed = [tree for tree in self.trees.values() if tree.parent == sender]
        if fed:
            lines = {line.topic: line for line in message.lines}
            for tree in fed:
                if tree.topic in lines:
                    self.parents.descend(tree, sender, lines[tree.topic])
                else:
                    self.parents.orphaned(tree)
        self.neighbors.renew(sender)
        self.updates.pull(sender, message.have)

    def on_update(self, sender: NodeId, message: Update) -> None:
        if self.updates.on_update(sender, message):
            self.sessions.keep(message.event.topic)

    def failed(self, peer: NodeId) -> None:
        """Forget a peer, and replace it where it was a friend or a parent."""
        self.neighbors.answered(peer)
        self.newscast.forget(peer)
        self.landmarks.forget(peer)
        if self.friends.forget(peer) and self.online:
            self.context.outbox.set_timer("audit", 1)
        self.parents.failed(peer)
        self.neighbors.renew(peer)

    def lost(self, peer: NodeId) -> None:
        self.failed(peer)

    # -- peer sampling, for feeds without a named publisher

    def gossip(self) -> None:
        """Gossip, and again from time to time, as long as there is such a feed."""
        unnamed = [tree for tree in self.trees.values() if self.parents.unnamed(tree)]
        self._gossiping = bool(unnamed)
        if unnamed:
            self.context.outbox.set_timer("gossip", self.params.gossip_ms)
            self.newscast.step()
        for tree in unnamed:
            if tree.parent is None:
                self.parents.seek(tree)

    # -- what hosts ask

    def links(self) -> Collection[NodeId]:
        return self.neighbors.linked.keys()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        tree = self.trees.get(topic)
        return tree.neighbors() if tree is not None else ()

    def status(self) -> dict[str, int]:
        trees = self.trees.values()
        return {
            "friends": len(self.friends.friends),
            "fans": len(self.friends.fans),
            "candidates": len(self.friends.candidates),
            "parents": sum(tree.parent is not None for tree in trees),
            "children": sum(len(tree.children) for tree in trees),
            "misplaced": sum(self.parents.misplaced(tree) for tree in trees),
            "height_max": max((len(tree.ancestors) for tree in trees), default=0),
            "feeds_covered": sum(bool(self.friends.covering(topic)) for topic in self.trees),
        }

    def distance_ms(self, topic: Topic) -> float | None:
        """Return the distance from the publisher in coordinates, one way."""
        tree = self.trees.get(topic)
        if tree is None or tree.root_place is None:
            return None
        return distance_ms(self.friends.own.place, tree.root_place)


Rappel.ON = {
    PlaceProbe: lambda node, sender, _: node.landmarks.on_probe(sender, node.neighbors.linked),
    PlaceProbeOk: lambda node, sender, message: node.landmarks.on_probe_ok(sender, message),
    PingRequest: Rappel.on_ping,
    PingAck: Rappel.on_ping_ack,
    Fetch: lambda node, sender, _: node.audits.on_fetch(sender),
    Fetched: lambda node, sender, message: node.audits.on_fetched(sender, message),
    Befriend: lambda node, sender, _: node.audits.on_befriend(sender),
    BefriendOk: lambda node, sender, message: node.audits.on_befriend_ok(sender, message),
    BefriendDeny: lambda node, sender, message: node.audits.on_befriend_deny(sender, message),
    Unfriend: lambda node, sender, _: node.audits.on_unfriend(sender),
    Departing: lambda node, sender, _: node.failed(sender),
    JoinRequest: lambda node, sender, message: node.parents.on_join(sender, message),
    JoinOk: lambda node, sender, message: node.parents.on_join_ok(sender, message),
    JoinForward: lambda node, sender, message: node.parents.on_join_forward(sender, message),
    JoinDeny: lambda node, sender, message: node.parents.on_join_deny(sender, message),
    ChangeParent: lambda node, sender, message: node.parents.on_change_parent(sender, message),
    Adopt: lambda node, sender, message: node.parents.on_adopt(sender, message),
    LeaveParent: lambda node, sender, message: node.parents.on_leave_parent(sender, message),
    Lineage: lambda node, sender, message: node.parents.on_lineage(sender, message),
    OtherRoot: lambda node, _, message: node.parents.on_other_root(message),
    Update: Rappel.on_update,
    FeedPull: lambda node, sender, message: node.updates.on_feed_pull(sender, message),
    News: lambda node, sender, message: node.newscast.on_news(sender, message),
    NewsReply: lambda node, sender, message: node.newscast.on_news_reply(sender, message),
}
