"""Ring-per-topic with merged links (Sec. 3.9.2).

The nodes of each topic form a ring in the order of their ids. A node looks for its
successor on each of its topics and asks it for a link; it is asked in turn by its
predecessors. Topics whose ring neighbours are the same node share one link. With a
partial view the successor one knows may not be the true one: whoever is asked by a
predecessor that is further away than the one it has points it to that one, so the rings
close up as in any ring maintenance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Claims, Context, Timer
from orbweaver.core.seeds import below
from orbweaver.core.topics import Interest
from orbweaver.gossip.mesh import Mesh, MeshParams


class RingParams(MeshParams, frozen=True):
    stabilise_ms: Annotated[
        int, Meta(ge=1, description="how often successors are looked up again", title="ours")
    ] = 500


class Follow(Message, frozen=True, gc=False, tag="ring-follow"):
    """You are my successor on these topics, and on no others."""

    topics: Interest
    interest: Interest


class Followed(Message, frozen=True, gc=False, tag="ring-followed"):
    interest: Interest


class Closer(Message, frozen=True, gc=False, tag="ring-closer"):
    """On this topic there is somebody between you and me."""

    topic: Topic
    peer: NodeId


class RingLeave(Message, frozen=True, gc=False, tag="ring-leave"):
    pass


class RingHeartbeat(Message, frozen=True, gc=False, tag="ring-heartbeat"):
    purpose: ClassVar[Purpose] = "keepalive"


class RingPerTopic(Mesh):
    name: ClassVar[str] = "ring-per-topic"
    summary: ClassVar[str] = "one ring of subscribers for each topic, equal links merged"
    paper: ClassVar[str] = "baseline of SpiderCast, Sec. 3.9.2"
    Params = RingParams
    params: RingParams
    messages = Mesh.part_messages + (Follow, Followed, Closer, RingLeave, RingHeartbeat)
    TIMER = "stabilise"

    def __init__(self, context: Context, params: RingParams) -> None:
        super().__init__(context, params)
        self._successors: dict[Topic, NodeId] = {}
        self._predecessors: dict[NodeId, Interest] = {}
        """Who follows us, and on which topics."""
        self._hints: dict[Topic, NodeId] = {}
        self._interests: dict[NodeId, Interest] = {}

    @classmethod
    def claims(cls, params: RingParams) -> Claims:
        # A view that never changes may not hold a ring's next node.
        closes = params.membership != "partial"
        return Claims(
            noiseless=True,
            topic_connected=closes,
            total_delivery=closes,
            degree_bound="2 * interests once the rings are closed",
        )

    def start(self, contacts: Sequence[NodeId]) -> None:
        super().start(contacts)
        self.context.outbox.set_timer(
            self.TIMER, 1 + below(self.context.rng, self.params.stabilise_ms)
        )

    def stop(self) -> None:
        super().stop()
        for peer in list(self.links()):
            self.context.outbox.send(peer, RingLeave())
            self._relink(peer, None)
        self.context.outbox.cancel_timer(self.TIMER)

    def wake(self, timer: Timer) -> None:
        if timer == self.TIMER:
            self.context.outbox.set_timer(self.TIMER, self.params.stabilise_ms)
            self._stabilise()
        else:
            super().wake(timer)

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        self._interests[sender] = message.interest
        if message.topics:
            self._predecessors[sender] = message.topics
            self.context.outbox.send(sender, Followed(self.interest))
            # Others are none of our rings; a peer may name as many as it likes.
            ours = message.topics.mask & self.interest.mask
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
        if topic not in self.interest or peer == self.context.me:
            return
        if self._between(peer, self._successors.get(topic)):
            self._hints[topic] = peer

    def on_heartbeat(self, sender: NodeId, message: RingHeartbeat) -> None:
        if sender in self._peers:
            self.heartbeats.heard(sender, self.context.outbox.now())
        else:
            # The far end holds a link that we do not: say again what we hold.
            self._follow(sender)

    def on_leave(self, sender: NodeId, message: RingLeave) -> None:
        self._drop(sender)

    def _stabilise(self) -> None:
        """Find each topic's successor; tell whoever becomes or ceases to be one."""
        before = self._by_peer()
        for topic in self.interest:
            best = self.view.successor(topic, self.context.me)
            for other in (self._hints.pop(topic, None), self._current(topic)):
                if other is not None and self._between(other, best):
                    best = other
            if best is None:
                self._successors.pop(topic, None)
            else:
                self._successors[topic] = best
        for topic in [t for t in self._successors if t not in self.interest]:
            del self._successors[topic]
        after = self._by_peer()
        for peer in dict.fromkeys([*before, *after]):
            topics = after.get(peer, [])
            if topics != before.get(peer, []) or (topics and peer not in self._peers):
                self._follow(peer)
                self._refresh(peer)

    def _current(self, topic: Topic) -> NodeId | None:
        """The successor followed so far, unless it is known to have lost interest."""
        peer = self._successors.get(topic)
        if peer is None or peer not in self._peers or topic not in self._peers[peer]:
            return None
        return peer

    def _follow(self, peer: NodeId) -> None:
        topics = self.context.topics.interest(self._by_peer().get(peer, []))
        self.context.outbox.send(peer, Follow(topics, self.interest))

    def _interest_changed(self) -> None:
        super()._interest_changed()
        for peer in self._peers:
            self.context.outbox.send(peer, Followed(self.interest))

    def _by_peer(self) -> dict[NodeId, list[Topic]]:
        topics: dict[NodeId, list[Topic]] = {}
        for topic, peer in self._successors.items():
            topics.setdefault(peer, []).append(topic)
        return topics

    def _point_out_closer(self, sender: NodeId, topic: Topic) -> None:
        """Of two predecessors on a topic, the further one should follow the nearer."""
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
        """A link is there when either end follows the other and we know its interest."""
        wanted = peer in self._predecessors or peer in self._successors.values()
        interest = self._interests.get(peer)
        self._relink(peer, interest if wanted and interest is not None else None)
        if not wanted:
            self._interests.pop(peer, None)

    def _drop(self, peer: NodeId) -> None:
        self._predecessors.pop(peer, None)
        for topic in [t for t, p in self._successors.items() if p == peer]:
            del self._successors[topic]
        self._refresh(peer)

    def _heartbeat(self) -> Message:
        return RingHeartbeat()


def _clockwise(start: NodeId, middle: NodeId, end: NodeId) -> bool:
    """Going up from `start` and wrapping round, `middle` comes strictly before `end`."""
    if start < end:
        return start < middle < end
    return middle > start or middle < end


RingPerTopic.handlers = {
    **Mesh.handlers,
    Follow: RingPerTopic.on_follow,
    Followed: RingPerTopic.on_followed,
    Closer: RingPerTopic.on_closer,
    RingLeave: RingPerTopic.on_leave,
    RingHeartbeat: RingPerTopic.on_heartbeat,
}
