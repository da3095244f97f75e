"""Ring-per-topic with merged links (Sec. 3.9.2).

The nodes of each topic form a ring in the order of their ids. A node looks for its successor on
each of its topics and asks it for a link; it is asked in turn by its predecessors. Topics whose
ring neighbours are the same node share one link. With a partial view the successor that a node
knows may not be the true one. A node that has two predecessors on a topic therefore points the
further one to the nearer, so the rings close up as in any ring maintenance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, cast

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import LinkParams, Links
from orbweaver.gossip.membership import MembershipService
from orbweaver.overlays.spidercast.messages import (
    Closer,
    Follow,
    Followed,
    RingHeartbeat,
    RingLeave,
)

TOLD_TIMES = 3
"""With how many heartbeats a change of interest is told again, since messages can be lost."""


class RingParams(LinkParams, frozen=True):
    stabilise_ms: Annotated[
        int, Meta(ge=1, description="how often successors are looked up again", title="ours")
    ] = 500


class RingPerTopic(Overlay):
    name: ClassVar[str] = "ring-per-topic"
    summary: ClassVar[str] = "one ring of subscribers for each topic, equal links merged"
    paper: ClassVar[str] = "baseline of SpiderCast, Sec. 3.9.2"
    Params = RingParams
    params: RingParams
    messages = (Follow, Followed, Closer, RingLeave, RingHeartbeat,
                *Links.messages, *MembershipService.messages)  # fmt: skip
    TIMER = "stabilise"

    def __init__(self, context: Context, params: RingParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.linked = Links(context, params.failure_ms)
        self.neighbors = self.linked.neighbors
        self.plumtree = self.linked.plumtree
        self.membership = MembershipService(context, params, self.interest)
        self.running = False
        self._tell = 0
        """With how many heartbeats the interest is told yet."""
        self._successors: dict[Topic, NodeId] = {}
        self._predecessors: dict[NodeId, Interest] = {}
        """The peers that follow this node, and on which topics."""
        self._hints: dict[Topic, NodeId] = {}
        self._interests: dict[NodeId, Interest] = {}

    @classmethod
    def claims(cls, params: RingParams) -> Claims:
        # A partial view never changes, and may not hold the next node of a ring.
        closes = params.membership != "partial"
        return Claims(
            noiseless=True,
            topic_connected=closes,
            total_delivery=closes,
            degree_bound="2 * interests once the rings are closed",
        )

    def start(self, contacts: Sequence[NodeId]) -> None:
        outbox, rng = self.context.outbox, self.context.rng
        self.running = True
        self.interest.start(outbox.now())
        self.plumtree.start()
        self.membership.start(contacts)
        outbox.set_timer(Heartbeats.TIMER, 1 + below(rng, self.params.heartbeat_ms))
        outbox.set_timer(self.TIMER, 1 + below(rng, self.params.stabilise_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.membership.meet(contacts)

    def stop(self) -> None:
        self.running = False
        for peer in list(self.neighbors):
            self.context.outbox.send(peer, RingLeave())
            self.linked.remove(peer)
        self.context.outbox.cancel_timer(self.TIMER)

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
        if timer == self.TIMER:
            self.context.outbox.set_timer(self.TIMER, self.params.stabilise_ms)
            self.stabilise()
        elif timer == Heartbeats.TIMER:
            self.context.outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
            for peer in self.linked.silent():
                self.lost(peer)
            if self.neighbors:
                self.context.outbox.send_all(self.neighbors, RingHeartbeat())
            if self._tell > 0:
                self._tell -= 1
                self._tell_interest()
        elif timer == MembershipService.TIMER:
            self.membership.wake()
        else:
            self.plumtree.wake(cast(str, timer))

    def lost(self, peer: NodeId) -> None:
        self.membership.forget(peer)
        self._drop(peer)

    def links(self) -> Collection[NodeId]:
        return self.neighbors.keys()

    def interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            self._tell = TOLD_TIMES
            self._tell_interest()

    def _tell_interest(self) -> None:
        self.context.outbox.send_all(self.neighbors, Followed(self.interest.topics))

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        self._interests[sender] = message.interest
        if message.topics:
            self._predecessors[sender] = message.topics
            self.context.outbox.send(sender, Followed(self.interest.topics))
            # A peer may name any number of topics that are not rings of this node.
            ours = message.topics.mask & self.interest.topics.mask
            for topic in self.context.topics.of_mask(ours):
                self._point_out_closer(sender, topic)
        else:
            self._predecessors.pop(sender, None)
        self._refresh(sender)

    def on_followed(self, sender: NodeId, message: Followed) -> None:
        self._interests[sender] = message.interest
        self._refresh(sender)

    def on_closer(self, sender: NodeId, message: Closer) -> None:
        topic, peer = message.topic, message.peer
        if topic not in self.interest.topics or peer == self.context.me:
            return
        if self._between(peer, self._successors.get(topic)):
            self._hints[topic] = peer

    def on_heartbeat(self, sender: NodeId, message: RingHeartbeat) -> None:
        if sender in self.neighbors:
            self.linked.heard(sender)
        else:
            # The far end holds a link that this end does not: say again which ones there are.
            self._follow(sender)

    def on_leave(self, sender: NodeId, message: RingLeave) -> None:
        self._drop(sender)

    def stabilise(self) -> None:
        """Find each topic's successor, and tell the peers that become or cease to be one."""
        before = self._by_peer()
        for topic in self.interest.topics:
            best = self.membership.view.successor(topic, self.context.me)
            for other in (self._hints.pop(topic, None), self._current(topic)):
                if other is not None and self._between(other, best):
                    best = other
            if best is None:
                self._successors.pop(topic, None)
            else:
                self._successors[topic] = best
        for topic in [t for t in self._successors if t not in self.interest.topics]:
            del self._successors[topic]
        after = self._by_peer()
        for peer in dict.fromkeys([*before, *after]):
            topics = after.get(peer, [])
            if topics != before.get(peer, []) or (topics and peer not in self.neighbors):
                self._follow(peer)
                self._refresh(peer)

    def _current(self, topic: Topic) -> NodeId | None:
        """Return the successor followed so far, unless it is known to have lost interest."""
        peer = self._successors.get(topic)
        if peer is None or topic not in self.neighbors.get(peer, ()):
            return None
        return peer

    def _follow(self, peer: NodeId) -> None:
        topics = self.context.topics.interest(self._by_peer().get(peer, []))
        self.context.outbox.send(peer, Follow(topics, self.interest.topics))

    def _by_peer(self) -> dict[NodeId, list[Topic]]:
        topics: dict[NodeId, list[Topic]] = {}
        for topic, peer in self._successors.items():
            topics.setdefault(peer, []).append(topic)
        return topics

    def _point_out_closer(self, sender: NodeId, topic: Topic) -> None:
        """Tell the further of two predecessors on a topic to follow the nearer."""
        bit = self.context.topics.mask(topic)
        for other, topics in self._predecessors.items():
            if other != sender and topics.mask & bit:
                if _clockwise(sender, other, self.context.me):
                    self.context.outbox.send(sender, Closer(topic, other))
                else:
                    self.context.outbox.send(other, Closer(topic, sender))

    def _between(self, peer: NodeId, successor: NodeId | None) -> bool:
        return successor is None or _clockwise(self.context.me, peer, successor)

    def _refresh(self, peer: NodeId) -> None:
        """Keep a link while either end follows the other, once the peer's interest is known."""
        wanted = peer in self._predecessors or peer in self._successors.values()
        interest = self._interests.get(peer)
        if wanted and interest is not None:
            self.linked.set(peer, interest)
        else:
            self.linked.remove(peer)
        if not wanted:
            self._interests.pop(peer, None)

    def _drop(self, peer: NodeId) -> None:
        self._predecessors.pop(peer, None)
        for topic in [t for t, p in self._successors.items() if p == peer]:
            del self._successors[topic]
        self._refresh(peer)


def _clockwise(start: NodeId, middle: NodeId, end: NodeId) -> bool:
    """Return whether `middle` comes strictly before `end`, going up from `start` and round."""
    if start < end:
        return start < middle < end
    return middle > start or middle < end


RingPerTopic.ON = {
    Follow: RingPerTopic.on_follow,
    Followed: RingPerTopic.on_followed,
    Closer: RingPerTopic.on_closer,
    RingLeave: RingPerTopic.on_leave,
    RingHeartbeat: RingPerTopic.on_heartbeat,
    **Links.HANDLERS,
    **MembershipService.HANDLERS,
}
