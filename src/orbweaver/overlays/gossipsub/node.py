"""This is one node's side of GossipSub.

A node is connected to peers that share topics with it. The specification leaves to others how
they are found: here they come from the interest view, as many for each topic as the mesh wants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message, StreamId
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below, sample
from orbweaver.core.topics import Interest
from orbweaver.gossip.cache import EventCache, Held
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.membership import MembershipService
from orbweaver.gossip.streams import Stream, after_subscription
from orbweaver.overlays.gossipsub.fanout import Fanout
from orbweaver.overlays.gossipsub.mesh import Mesh
from orbweaver.overlays.gossipsub.messages import (
    Disconnected,
    EventIds,
    IDontWant,
    IWant,
    KeepAlive,
    MeshEvent,
    MeshGraft,
    MeshIHave,
    MeshPrune,
    MeshSubscriptions,
)
from orbweaver.overlays.gossipsub.params import GossipSubParams
from orbweaver.overlays.gossipsub.recent import RecentEvents

STREAMS_MAX = 1 << 17
"""How many streams are remembered. A publisher can begin any number of them."""
IWANT_MAX = 5000
"""Most events that one peer may ask for, or be asked for, between two heartbeats (v1.1)."""
UNWANTED_MAX = 1000
"""Most events that one peer can say between two heartbeats that it does not want."""


class GossipSub(Overlay):
    name: ClassVar[str] = "gossipsub"
    summary: ClassVar[str] = "a mesh of random peers for each topic, and announcements"
    paper: ClassVar[str] = "libp2p, specification v1.1"
    Params = GossipSubParams
    params: GossipSubParams
    messages = (MeshSubscriptions, Disconnected, KeepAlive, MeshGraft, MeshPrune, MeshIHave, IWant,
                IDontWant, MeshEvent, *MembershipService.messages)  # fmt: skip

    def __init__(self, context: Context, params: GossipSubParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.membership = MembershipService(context, params, self.interest)
        self.peers: dict[NodeId, Interest] = {}
        """The peers that this node is connected to, and what they subscribe to."""
        self.subscribers: dict[Topic, dict[NodeId, None]] = {}
        """Topic that this node subscribes to or publishes on -> the connected subscribers."""
        self.asking: dict[NodeId, None] = {}
        """The peers that were asked for a connection since the last heartbeat."""
        self.opened: dict[NodeId, None] = {}
        """The peers with which this node opened the connection. Only it may end it in good order,
        since it knows what the connection is for."""
        self.heartbeats = Heartbeats(params.failure_ms)
        self.spoken: set[NodeId] = set()
        """The peers that this node has sent something since the last heartbeat."""
        self.mesh = Mesh(params, context.rng)
        self.fanout = Fanout(params, context.rng)
        self.streams: dict[StreamId, Stream] = {}
        self.cache = EventCache(0, params.mcache_len * params.heartbeat_ms)
        self.recent = RecentEvents(params.mcache_gossip)
        self.asked: dict[NodeId, int] = {}
        """How many events each peer was asked for, or has asked for, since the last heartbeat."""
        self.unwanted: dict[NodeId, set[tuple[StreamId, int]]] = {}
        """What peers said since the last heartbeat that they do not want."""
        self.next_seq: dict[Topic, int] = {}
        self.epoch = 0
        self.running = False

    @classmethod
    def claims(cls, params: GossipSubParams) -> Claims:
        # A mesh of random peers is nearly always connected, but nothing keeps it so.
        return Claims(noiseless=True, topic_connected=False, total_delivery=True)

    # -- what the host calls

    def start(self, contacts: Sequence[NodeId]) -> None:
        self.running = True
        self.epoch = self.context.outbox.now()
        self.interest.start(self.epoch)
        self.membership.start(contacts)
        phase = 1 + below(self.context.rng, self.params.heartbeat_ms)
        self.context.outbox.set_timer(Heartbeats.TIMER, phase)

    def meet(self, contacts: Sequence[NodeId]) -> None:
        self.membership.meet(contacts)

    def stop(self) -> None:
        self.running = False
        for peer in list(self.peers):
            self.context.outbox.send(peer, Disconnected())
            self.lost(peer)

    def subscribe(self, topic: Topic) -> None:
        """JOIN."""
        now = self.context.outbox.now()
        self.interest.subscribe(topic, now)
        self.fanout.leave(topic)
        self.care(topic)
        if topic not in self.mesh.peers:
            self.graft(topic, self.mesh.join(topic, self.subscribers[topic], now))
        self.tell_subscriptions()

    def unsubscribe(self, topic: Topic) -> None:
        """LEAVE."""
        self.interest.unsubscribe(topic)
        backoff_ms = self.params.unsubscribe_backoff_ms
        for peer in self.mesh.leave(topic, self.context.outbox.now()):
            self.send(peer, MeshPrune((topic,), backoff_ms))
        self.subscribers.pop(topic, None)
        self.cache.drop_topic(topic)
        self.tell_subscriptions()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        now = self.context.outbox.now()
        seq = self.next_seq.get(topic, 0)
        self.next_seq[topic] = seq + 1
        event = Event(topic, self.context.me, self.epoch, seq, payload, self.context.seal())
        self.care(topic)
        if topic not in self.mesh.peers:
            self.fanout.published(topic, self.subscribers[topic], now)
        self.stream(event.stream).settle(seq)
        self.keep(Held(event, 0, 0, now))
        for peer in list(self.publish_to(topic)):
            self.send(peer, MeshEvent(event, 1, 0))
        return event

    def reach(self, topic: Topic) -> int:
        return len(self.publish_to(topic))

    def wake(self, timer: Timer) -> None:
        if timer == Heartbeats.TIMER:
            self.heartbeat()
        else:
            self.membership.wake()

    def lost(self, peer: NodeId) -> None:
        if self.peers.pop(peer, None) is not None:
            for subscribers in self.subscribers.values():
                subscribers.pop(peer, None)
            self.mesh.drop(peer)
            self.fanout.drop(peer)
            self.opened.pop(peer, None)
            self.heartbeats.forget(peer)
            self.context.outbox.link_down(peer)
        self.membership.forget(peer)

    def links(self) -> Collection[NodeId]:
        return self.peers.keys()

    def status(self) -> dict[str, int]:
        sizes = [len(members) for members in self.mesh.peers.values()]
        return {
            "mesh": sum(sizes),
            "mesh_low": sum(size < self.params.d_low for size in sizes),
            "fanout": len(self.fanout.peers),
        }

    # -- the heartbeat

    def heartbeat(self) -> None:
        now = self.context.outbox.now()
        self.context.outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
        for peer in self.heartbeats.suspects(self.peers, now):
            self.lost(peer)
        self.mesh.forget_backoffs(now)
        for topic in self.fanout.expired(now):
            self.subscribers.pop(topic, None)
        self.connect()
        # Before the meshes change (the specification does it afterwards), so that a peer that
        # comes into a mesh now hears of what was published while the mesh had too few.
        self.announce()
        for topic in self.mesh.peers:
            grafted, pruned = self.mesh.maintain(topic, self.subscribers[topic], now)
            self.graft(topic, grafted)
            for peer in pruned:
                self.send(peer, MeshPrune((topic,), self.params.prune_backoff_ms))
        for topic in self.fanout.peers:
            self.fanout.fill(topic, self.subscribers[topic])
        self.asked.clear()
        self.unwanted.clear()
        for peer in [peer for peer in self.peers if peer not in self.spoken]:
            self.context.outbox.send(peer, KeepAlive())
        self.spoken.clear()

    def connect(self) -> None:
        """Connect to subscribers of the topics that have too few, and end the connections of this
        node that it needs no more."""
        topics = self.context.topics
        mine = topics.interest(self.subscribers).mask
        for peer in [peer for peer in self.opened if not self.peers[peer].mask & mine]:
            self.context.outbox.send(peer, Disconnected())
            self.lost(peer)
        self.asking.clear()
        barred = {self.context.me, *self.peers}
        for topic, connected in self.subscribers.items():
            for _ in range(self.params.d - len(connected)):
                found = self.membership.view.any_match(topics.bit(topic), barred, self.context.rng)
                if found is None:
                    break
                barred.add(found)
                self.asking[found] = None
                self.context.outbox.send(found, MeshSubscriptions(self.interest.topics, ask=True))

    def announce(self) -> None:
        """Tell some peers outside of each mesh of recent events."""
        offers: dict[NodeId, list[EventIds]] = {}
        for topic, subscribers in self.subscribers.items():
            ids = self.recent.to_announce(topic)
            if ids:
                inside = self.forward_to(topic)
                outside = [peer for peer in subscribers if peer not in inside]
                share = int(self.params.gossip_factor * len(outside))
                for peer in sample(self.context.rng, outside, max(self.params.d_lazy, share)):
                    offers.setdefault(peer, []).extend(ids)
        for peer, events in offers.items():
            self.send(peer, MeshIHave(tuple(events)))
        self.recent.shift()

    # -- messages

    def on_subscriptions(self, sender: NodeId, message: MeshSubscriptions) -> None:
        if message.ask:
            self.context.outbox.send(sender, MeshSubscriptions(self.interest.topics, ask=False))
        elif sender not in self.peers and sender not in self.asking:
            # An answer that came too late, or a change at a peer that was given up.
            self.context.outbox.send(sender, Disconnected())
            return
        if sender in self.asking:
            del self.asking[sender]
            self.opened[sender] = None
        if sender not in self.peers:
            self.context.outbox.link_up(sender)
        self.peers[sender] = message.interest
        self.heard(sender)
        for topic, subscribers in self.subscribers.items():
            if message.interest.mask & self.context.topics.bit(topic):
                subscribers[sender] = None
            elif sender in subscribers:
                del subscribers[sender]
                self.mesh.drop_from(topic, sender)
                self.fanout.drop_from(topic, sender)

    def heard(self, sender: NodeId) -> bool:
        """Note that a peer lives. Return False if there is no connection to it: then it is told."""
        if sender not in self.peers:
            self.context.outbox.send(sender, Disconnected())
            return False
        self.heartbeats.heard(sender, self.context.outbox.now())
        return True

    def on_mesh_graft(self, sender: NodeId, message: MeshGraft) -> None:
        if self.heard(sender):
            now = self.context.outbox.now()
            refused = [t for t in message.topics if not self.mesh.on_graft(t, sender, now)]
            if refused:
                self.send(sender, MeshPrune(tuple(refused), self.params.prune_backoff_ms))

    def on_mesh_prune(self, sender: NodeId, message: MeshPrune) -> None:
        if self.heard(sender):
            now = self.context.outbox.now()
            for topic in message.topics:
                self.mesh.on_prune(topic, sender, now, message.backoff_ms)

    def on_ihave(self, sender: NodeId, message: MeshIHave) -> None:
        if not self.heard(sender):
            return
        wanted = []
        for ids in message.events:
            if ids.stream[2] in self.mesh.peers and ids.stream[0] != self.context.me:
                stream = self.streams.get(ids.stream)
                unseen = [seq for seq in ids.seqs if stream is None or not stream.seen(seq)]
                unseen = unseen[: self.take_turns(sender, len(unseen))]
                if unseen:
                    wanted.append(EventIds(ids.stream, tuple(unseen)))
        if wanted:
            self.send(sender, IWant(tuple(wanted)))

    def on_iwant(self, sender: NodeId, message: IWant) -> None:
        if not self.heard(sender):
            return
        now = self.context.outbox.now()
        for ids in message.events:
            for seq in ids.seqs[: self.take_turns(sender, len(ids.seqs))]:
                held = self.cache.get(ids.stream, seq)
                if held is not None:
                    self.send(sender, MeshEvent(held.event, held.hops + 1, held.age_at(now)))

    def on_idontwant(self, sender: NodeId, message: IDontWant) -> None:
        if self.heard(sender):
            unwanted = self.unwanted.setdefault(sender, set())
            if len(unwanted) < UNWANTED_MAX:
                unwanted.add((message.stream, message.seq))

    def on_event(self, sender: NodeId, message: MeshEvent) -> None:
        self.heard(sender)
        event = message.event
        since = self.interest.subscribed.get(event.topic)
        if since is None or event.publisher == self.context.me:
            return
        key = event.stream
        stream = self.stream(key)
        if stream.seen(event.seq):
            return
        stream.settle(event.seq)
        now = self.context.outbox.now()
        if after_subscription(since, message.age_ms, now):
            self.context.outbox.deliver(message)
        members = [peer for peer in self.mesh.peers[event.topic] if peer != sender]
        if 0 < self.params.idontwant_bytes <= len(event.payload):
            for peer in members:
                self.send(peer, IDontWant(key, event.seq))
        self.keep(Held(event, message.hops, message.age_ms, now))
        copy = MeshEvent(event, message.hops + 1, message.age_ms)
        for peer in members:
            if peer != event.publisher and (key, event.seq) not in self.unwanted.get(peer, ()):
                self.send(peer, copy)

    # -- inside

    def send(self, peer: NodeId, message: Message) -> None:
        self.spoken.add(peer)
        self.context.outbox.send(peer, message)

    def graft(self, topic: Topic, peers: Iterable[NodeId]) -> None:
        for peer in peers:
            self.send(peer, MeshGraft((topic,)))

    def care(self, topic: Topic) -> None:
        """Keep count of the connected subscribers of a topic from now on."""
        if topic not in self.subscribers:
            bit = self.context.topics.bit(topic)
            self.subscribers[topic] = {
                peer: None for peer, interest in self.peers.items() if interest.mask & bit
            }

    def publish_to(self, topic: Topic) -> Collection[NodeId]:
        """Return the peers to which events that are published here go at once."""
        if self.params.flood_publish:
            return self.subscribers.get(topic, {})
        return self.forward_to(topic)

    def forward_to(self, topic: Topic) -> Collection[NodeId]:
        """Return the peers to which events on a topic go at once."""
        return self.mesh.peers.get(topic) or self.fanout.peers.get(topic, {})

    def keep(self, held: Held) -> None:
        self.cache.put(held, held.event.stream)
        self.recent.put(held.event.stream, held.event.seq)

    def stream(self, key: StreamId) -> Stream:
        stream = self.streams.get(key)
        if stream is None:
            if len(self.streams) >= STREAMS_MAX:
                del self.streams[next(iter(self.streams))]
            stream = self.streams[key] = Stream()
        return stream

    def take_turns(self, peer: NodeId, wanted: int) -> int:
        """Return how many of the events wanted may be asked for, and count them."""
        asked = self.asked.get(peer, 0)
        taken = min(wanted, IWANT_MAX - asked)
        self.asked[peer] = asked + taken
        return taken

    def tell_subscriptions(self) -> None:
        if self.running:
            self.interest.renew()
            for peer in self.peers:
                self.send(peer, MeshSubscriptions(self.interest.topics, ask=False))


GossipSub.ON = {
    MeshSubscriptions: GossipSub.on_subscriptions,
    Disconnected: lambda node, sender, _: node.lost(sender),
    KeepAlive: lambda node, sender, _: node.heard(sender),
    MeshGraft: GossipSub.on_mesh_graft,
    MeshPrune: GossipSub.on_mesh_prune,
    MeshIHave: GossipSub.on_ihave,
    IWant: GossipSub.on_iwant,
    IDontWant: GossipSub.on_idontwant,
    MeshEvent: GossipSub.on_event,
    **MembershipService.HANDLERS,
}
