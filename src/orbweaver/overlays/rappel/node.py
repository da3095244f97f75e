"""One node's side of Rappel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below, pick, sample, shuffled
from orbweaver.core.topics import Interest
from orbweaver.gossip.bloom import from_bytes, make_filter, to_bytes
from orbweaver.gossip.cache import Held
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import News, NewsReply
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.streams import AGE_SLACK_MS
from orbweaver.gossip.vivaldi import Coordinates, Vivaldi, distance_ms
from orbweaver.overlays.rappel.friends import Friends, Portrait
from orbweaver.overlays.rappel.messages import (
    NODES_MAX,
    Adopt,
    Befriend,
    BefriendDeny,
    BefriendOk,
    ChangeParent,
    Departing,
    Descent,
    EventName,
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
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.trees import FeedTree

HOPS_MAX = 64
"""Most nodes that one search for a parent asks."""
OTHERS = 3
"""How many further landmarks an answer to a probe names."""
LANDMARKS_MAX = 32
"""Most nodes that are probed for coordinates."""
TRIES = 3
"""How often a ping is sent within the timeout before the peer is deemed failed."""
KEPT_FRIENDS_MAX = 64
"""Most stale friends that are read from what the last life kept."""


class Rappel(Overlay):
    name: ClassVar[str] = "rappel"
    summary: ClassVar[str] = "noiseless trees by network coordinates, found through near friends"
    paper: ClassVar[str] = "Rappel, Computer Networks 2009"
    Params = RappelParams
    params: RappelParams
    messages = (PlaceProbe, PlaceProbeOk, PingRequest, PingAck, Fetch, Fetched, Befriend,
                BefriendOk, BefriendDeny, Unfriend, Departing, JoinRequest, JoinOk, JoinForward,
                JoinDeny, ChangeParent, Adopt, LeaveParent, Lineage, OtherRoot, Update, FeedPull,
                News, NewsReply)  # fmt: skip

    def __init__(self, context: Context, params: RappelParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.vivaldi = Vivaldi(context.rng, params.dimensions, params.height)
        self.friends = Friends(
            context.me, params.friends, params.fans, params.candidates, params.delta
        )
        self.newscast = Newscast(context, self.interest, params.view_size)
        self.trees: dict[Topic, FeedTree] = {}
        self.online = False
        self.running = False
        self.me = Portrait(self.vivaldi.coordinates, 0, 0)
        """What this node tells of itself."""
        self._landmarks: dict[NodeId, None] = {}
        self._auditing: NodeId | None = None
        """The candidate whose answer the present audit waits for."""
        self._repeats = 0
        self._pending: list[Topic] = []
        """Feeds whose staggered join is still to come (section 5.2)."""
        self._staggered = 0
        self._heard: dict[NodeId, int] = {}
        """Fans and children -> when they last pinged."""
        self._unanswered: dict[NodeId, int] = {}
        """Peers whose ack is missing -> how often they were pinged."""
        self._linked: dict[NodeId, None] = {}
        self._kept = b""
        self._next_seq: dict[Topic, int] = {}
        self._epoch = 0

    @classmethod
    def claims(cls, params: RappelParams) -> Claims:
        return Claims(
            noiseless=True,
            topic_connected=True,
            total_delivery=True,
            degree_bound="3 alpha, and a parent and at most 2 beta + 2 children for each feed",
        )

    @classmethod
    def degree_bound(cls, params: RappelParams, interest: Interest) -> int | None:
        return 3 * params.friends + len(interest) * (2 * params.children + 3)

    # -- life and bootstrapping (section 5)

    def start(self, contacts: Sequence[NodeId]) -> None:
        outbox, rng = self.context.outbox, self.context.rng
        self.running = True
        self._epoch = outbox.now()
        self.interest.start(outbox.now())
        self.newscast.meet(contacts)
        self.friends.vote(contacts)
        self._landmarks.update(dict.fromkeys(contacts[:LANDMARKS_MAX]))
        self.me = Portrait(
            self.vivaldi.coordinates, make_filter(self.interest.topics), outbox.now() + 1
        )
        outbox.set_timer("probe", 1 + below(rng, self.params.probe_ms))
        outbox.set_timer("online", self.params.warmup_ms)
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
        self.vivaldi.freeze()
        self.me = Portrait(self.vivaldi.coordinates, self.me.bloom, self.me.version + 1)
        for topic in self.trees:
            self._become_root(topic)
        for node in self._stale_friends():  # a reentrant session
            self.friends.vote([node])
            outbox.send(node, Fetch())
        self._pending = shuffled(rng, list(self.trees))
        outbox.cancel_timer("online")
        outbox.cancel_timer("probe")
        outbox.set_timer("stagger", 1 + below(rng, min(1000, params.stagger_ms)))
        outbox.set_timer("ping", 1 + below(rng, params.ping_ms))
        outbox.set_timer("audit", 1 + below(rng, params.rapid_audit_ms))
        outbox.set_timer("rejoin", 1 + below(rng, params.rejoin_ms))

    def stop(self) -> None:
        """Leave every tree and every friend properly (section 4.4)."""
        self._keep()
        for tree in list(self.trees.values()):
            self.leave_tree(tree)
        self.context.outbox.send_all(
            dict.fromkeys([*self.friends.friends, *self.friends.fans]), Departing()
        )
        self.running = self.online = False
        for timer in ("probe", "online", "gossip", "stagger", "ping", "timeout", "audit", "rejoin"):
            self.context.outbox.cancel_timer(timer)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        self.enter(topic)

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        tree = self.trees.pop(topic, None)
        if tree is not None:
            self.leave_tree(tree)
        self._interest_changed()

    def enter(self, topic: Topic) -> None:
        """Take part in a feed, as a subscriber or as a publisher (section 5.1)."""
        if topic in self.trees:
            return
        self.trees[topic] = FeedTree(
            topic, self.context.me, self.params.children, self.params.cache
        )
        self._interest_changed()
        if self.online:
            self._become_root(topic)
            self.seek(self.trees[topic])

    def _interest_changed(self) -> None:
        if self.running:
            self.interest.renew()
            bloom = make_filter(self.interest.topics)
            self.me = Portrait(self.me.place, bloom, self.me.version + 1)

    def _become_root(self, topic: Topic) -> None:
        """Make this node the root if it is the publisher, or if no publisher is named: then every
        node begins as the root of its own part of the tree, and parts join lower roots."""
        tree = self.trees[topic]
        tree.parent = tree.parent_place = None
        named = self.context.publisher_of(topic)
        if named is None or named == self.context.me:
            tree.root, tree.root_place = self.context.me, self.me.place
            tree.ancestors = ()  # elsewhere the old ones stay until there is another parent
        else:
            tree.root = named

    def stagger(self) -> None:
        """Join what friends cover, and one more feed at its publisher (section 5.2)."""
        covered = [t for t in self._pending if self.friends.covering(self.me.place, t)]
        first = [t for t in self._pending if t not in covered][:1]
        self._staggered += len(first)
        now = [*covered, *first] if self._staggered < self.params.staggered else self._pending
        self._pending = [topic for topic in self._pending if topic not in now]
        for topic in now:
            if topic in self.trees and self.trees[topic].parent is None:
                self.seek(self.trees[topic])
        if self._pending:
            self.context.outbox.set_timer("stagger", self.params.stagger_ms)

    def _stale_friends(self) -> list[NodeId]:
        try:
            stale = msgspec.msgpack.decode(self.context.kept or b"\x90", type=list[int])
        except msgspec.DecodeError:
            return []
        return [NodeId(n) for n in stale[:KEPT_FRIENDS_MAX] if n != self.context.me]

    def _keep(self) -> None:
        """Keep the friends, and the parents behind them, for the next session."""
        parents = (tree.parent for tree in self.trees.values() if tree.parent is not None)
        nodes = list(dict.fromkeys([*self.friends.friends, *parents]))[:KEPT_FRIENDS_MAX]
        blob = msgspec.msgpack.encode(nodes)
        if nodes and blob != self._kept:
            self._kept = blob
            self.context.outbox.keep(blob)

    # -- coordinates

    def probe(self) -> None:
        if self.vivaldi.samples >= self.params.samples:
            self.go_online()
            return
        self.context.outbox.set_timer("probe", self.params.probe_ms)
        if self._landmarks:
            self.context.outbox.send(pick(self.context.rng, list(self._landmarks)), PlaceProbe())

    def on_probe(self, sender: NodeId, message: PlaceProbe) -> None:
        known = [*self._landmarks, *self._linked]
        others = tuple(n for n in sample(self.context.rng, known, OTHERS) if n != sender)
        place, error = self.vivaldi.coordinates, self.vivaldi.error
        self.context.outbox.send(sender, PlaceProbeOk(place, error, others))
        if not self.online and len(self._landmarks) < LANDMARKS_MAX:
            self._landmarks[sender] = None

    def on_probe_ok(self, sender: NodeId, message: PlaceProbeOk) -> None:
        if self.online:
            return
        for node in message.others[:OTHERS]:
            if node != self.context.me and len(self._landmarks) < LANDMARKS_MAX:
                self._landmarks[node] = None
        round_trip_ms = self.context.outbox.round_trip_ms(sender)
        if round_trip_ms is not None:
            self.vivaldi.update(sender, round_trip_ms, message.place, message.error)

    def _check_place(self, place: Coordinates) -> None:
        if not place.plausible(self.params.dimensions):
            raise ProtocolError(
                f"coordinates {place.position[:8]}, height {place.height}: they should be "
                f"{self.params.dimensions} finite numbers of milliseconds"
            )

    # -- liveness and gossip (section 3.3)

    def ping(self) -> None:
        outbox, params = self.context.outbox, self.params
        outbox.set_timer("ping", params.ping_ms)
        self._expire()
        peers = dict.fromkeys(self.friends.friends)
        peers.update(dict.fromkeys(t.parent for t in self.trees.values() if t.parent is not None))
        for peer in peers:
            self._unanswered.setdefault(peer, 0)
        self._ping_again()

    def _ping_again(self) -> None:
        """Ping each peer whose ack is missing. It has failed after `TRIES` pings in vain."""
        for peer, tries in list(self._unanswered.items()):
            if tries >= TRIES:
                self.failed(peer)
                continue
            self._unanswered[peer] = tries + 1
            trees = [tree for tree in self.trees.values() if tree.parent == peer]
            self.context.outbox.send(
                peer,
                PingRequest(
                    self.me.version,
                    peer in self.friends.friends,
                    tuple(tree.topic for tree in trees),
                    self._have(trees),
                ),
            )
        if self._unanswered:
            self.context.outbox.set_timer("timeout", self.params.timeout_ms // TRIES)

    def _have(self, trees: Iterable[FeedTree]) -> tuple[EventName, ...]:
        return tuple(name for tree in trees for name in tree.names())

    def on_ping(self, sender: NodeId, message: PingRequest) -> None:
        now = self.context.outbox.now()
        self._heard[sender] = now
        if not message.friend:
            self.friends.fans.pop(sender, None)
        elif sender not in self.friends.fans:
            self.friends.approve(sender)
        mine: list[FeedTree] = []
        for topic, tree in self.trees.items():
            if sender not in tree.children:
                continue
            if topic in message.feeds:
                mine.append(tree)
            elif now - tree.child_since.get(sender, 0) > self.params.join_ms:
                del tree.children[sender]  # it has another parent, and LeaveParent was lost
        lines = [line for tree in mine if (line := tree.descent(self.me.place)) is not None]
        fan = sender in self.friends.fans
        self.context.outbox.send(
            sender,
            PingAck(
                self.me.version,
                fan,
                tuple(self.friends.friends)[:NODES_MAX],
                tuple(lines),
                self._have(mine),
            ),
        )
        self._relink(sender)
        self._pull(sender, message.have)

    def on_ping_ack(self, sender: NodeId, message: PingAck) -> None:
        if self._unanswered.pop(sender, None) is None:
            return
        self.friends.vote([*message.friends, *self.friends.fans])
        known = self.friends.friends.get(sender)
        if known is not None and not message.fan:
            self.friends.drop(sender)
        elif known is not None and known.version < message.version:
            self.context.outbox.send(sender, Fetch())
        lines = {line.topic: line for line in message.lines}
        for tree in list(self.trees.values()):
            if tree.parent != sender:
                continue
            if tree.topic in lines:
                self.descend(tree, sender, lines[tree.topic])
            else:
                self.orphaned(tree)
        self._relink(sender)
        self._pull(sender, message.have)

    def _expire(self) -> None:
        """Remove fans and children that have sent no ping for too long."""
        now = self.context.outbox.now()
        limit = self.params.ping_ms + self.params.timeout_ms
        for peer in [*self.friends.fans]:
            if now - self._heard.setdefault(peer, now) > limit:
                del self.friends.fans[peer]
                self._relink(peer)
        for tree in self.trees.values():
            for child in list(tree.children):
                heard = max(self._heard.get(child, 0), tree.child_since.get(child, 0))
                if now - heard > limit:
                    del tree.children[child]
                    self._relink(child)
            for child, until in list(tree.leaving.items()):
                if now > until:
                    del tree.leaving[child]
                    self._relink(child)
        wanted = {*self.friends.fans, *(c for t in self.trees.values() for c in t.children)}
        self._heard = {peer: at for peer, at in self._heard.items() if peer in wanted}

    def failed(self, peer: NodeId) -> None:
        """Forget a peer, and replace it where it was a friend or a parent."""
        self._unanswered.pop(peer, None)
        self.newscast.forget(peer)
        self._landmarks.pop(peer, None)
        if self.friends.forget(peer) and self.online:
            self.context.outbox.set_timer("audit", 1)
        for tree in list(self.trees.values()):
            tree.children.pop(peer, None)
            tree.leaving.pop(peer, None)
            if tree.parent == peer:
                self.orphaned(tree)
            elif tree.seeking == peer:
                self._next_target(tree)
        self._relink(peer)

    def on_departing(self, sender: NodeId, message: Departing) -> None:
        self.failed(sender)

    def lost(self, peer: NodeId) -> None:
        self.failed(peer)

    # -- audits (section 3.4)

    def audit(self) -> None:
        params = self.params
        rapid = bool(self._pending) or not self.friends.full
        self.context.outbox.set_timer("audit", params.rapid_audit_ms if rapid else params.audit_ms)
        self._keep()
        self._repeats = params.repeats
        self._audit_next()

    def _audit_next(self) -> None:
        node = self._auditing = self.friends.next_audit()
        if node is None:
            return
        known = self.friends.candidates[node].known
        if known is None:
            self.context.outbox.send(node, Fetch())
        elif self.friends.viable(self.me, known):
            self.context.outbox.send(node, Befriend())

    def on_fetch(self, sender: NodeId, message: Fetch) -> None:
        if self.online:
            me = self.me
            self.context.outbox.send(sender, Fetched(me.version, me.place, to_bytes(me.bloom)))

    def on_fetched(self, sender: NodeId, message: Fetched) -> None:
        self._check_place(message.place)
        known = Portrait(message.place, from_bytes(message.bloom), message.version)
        held = self.friends.friends.get(sender)
        if held is not None and held.version <= known.version:
            self.friends.friends[sender] = known
        candidate = self.friends.candidates.get(sender)
        if candidate is None:
            return
        candidate.known = known
        stale = sender in self._stale_friends() and not self.friends.full
        if (sender == self._auditing or stale) and self.friends.viable(self.me, known):
            self.context.outbox.send(sender, Befriend())

    def on_befriend(self, sender: NodeId, message: Befriend) -> None:
        mine = tuple(self.friends.friends)[:NODES_MAX]
        if self.online and self.friends.approve(sender):
            self._heard[sender] = self.context.outbox.now()
            self.context.outbox.send(sender, BefriendOk(mine))
        else:
            self.context.outbox.send(sender, BefriendDeny(mine))
        self.friends.vote([sender])
        self._relink(sender)

    def on_befriend_ok(self, sender: NodeId, message: BefriendOk) -> None:
        candidate = self.friends.candidates.get(sender)
        taken, victim = sender in self.friends.friends, None
        if candidate is not None and candidate.known is not None:
            taken, victim = self.friends.add(self.me, sender, candidate.known)
        if victim is not None:
            self.context.outbox.send(victim, Unfriend())
            self._relink(victim)
        if not taken:
            self.context.outbox.send(sender, Unfriend())
        self.friends.vote(message.friends)
        self._relink(sender)

    def on_befriend_deny(self, sender: NodeId, message: BefriendDeny) -> None:
        self.friends.vote(message.friends)
        if sender == self._auditing and not self.friends.full and self._repeats > 0:
            self._repeats -= 1
            self._audit_next()

    def on_unfriend(self, sender: NodeId, message: Unfriend) -> None:
        self.friends.fans.pop(sender, None)
        self._relink(sender)

    # -- joining trees (sections 4.2 to 4.4 and 5.1)

    def seek(self, tree: FeedTree, first: Sequence[NodeId] = ()) -> None:
        """Look for a parent: at `first`, at ancestors, at friends, then at the publisher."""
        if tree.seeking is not None or not self.online:
            return
        tree.visited = {self.context.me: None}
        targets = [*first]
        if tree.parent is None:
            targets += self.friends.covering(self.me.place, tree.topic)
            named = self.context.publisher_of(tree.topic)
            if named is not None:
                targets.append(named)
            else:
                bit = self.context.topics.bit(tree.topic)
                entries, _ = self.newscast.sample()
                fits = [entry.node for entry in entries if entry.interest.mask & bit]
                targets += sample(self.context.rng, fits, 1)
        tree.queue = list(dict.fromkeys(targets))
        self._next_target(tree)

    def _next_target(self, tree: FeedTree) -> None:
        tree.seeking = None
        while tree.queue:
            target = tree.queue.pop(0)
            if target not in tree.visited and len(tree.visited) < HOPS_MAX:
                self._ask(tree, target)
                return
        self.context.outbox.cancel_timer(("join", tree.topic))
        named = self.context.publisher_of(tree.topic)
        if tree.parent is None and named is not None and named != self.context.me:
            self.context.outbox.set_timer(("join", tree.topic), self.params.join_ms)

    def _ask(self, tree: FeedTree, target: NodeId) -> None:
        tree.seeking = target
        tree.visited[target] = None
        root = tree.root if tree.root is not None else self.context.me
        self.context.outbox.send(target, JoinRequest(tree.topic, root, self.me.place))
        self.context.outbox.set_timer(("join", tree.topic), self.params.join_ms)

    def on_join(self, sender: NodeId, message: JoinRequest) -> None:
        """Receive-Join (Algorithm 2)."""
        self._check_place(message.place)
        outbox, tree = self.context.outbox, self.trees.get(message.topic)
        if tree is None or not self.online or sender == self.context.me or tree.root is None:
            outbox.send(sender, JoinDeny(message.topic))  # a false positive of a filter
            return
        self.friends.vote([sender])
        if message.root != tree.root and message.root < tree.root and self._unnamed(tree):
            if tree.root == self.context.me:
                self.on_other_root(sender, OtherRoot(tree.topic, message.root))
            else:
                outbox.send(tree.root, OtherRoot(tree.topic, message.root))
            outbox.send(sender, JoinDeny(message.topic))
            return
        if message.root == sender == tree.root:
            outbox.send(sender, JoinDeny(message.topic))  # it is the root of this tree
            return
        found = tree.receive_join(self.me.place, sender, message.place)
        line = tree.descent(self.me.place)
        if found.answer == "forward" and found.forward_to is not None:
            outbox.send(sender, JoinForward(message.topic, found.forward_to))
        elif (
            found.answer == "ok"
            and line is not None
            and len(tree.children) <= 2 * self.params.children
        ):
            if found.evicted is not None and found.evicted_to is not None:
                self._evict(tree, found.evicted, found.evicted_to)
            tree.adopted.pop(sender, None)
            tree.leaving.pop(sender, None)
            tree.children[sender] = message.place
            tree.child_since[sender] = outbox.now()
            outbox.send(sender, JoinOk(line, self._have([tree])))
            self._relink(sender)
        else:
            outbox.send(sender, JoinDeny(message.topic))

    def _unnamed(self, tree: FeedTree) -> bool:
        return self.context.publisher_of(tree.topic) is None

    def _evict(self, tree: FeedTree, child: NodeId, to: NodeId) -> None:
        """Send a child elsewhere. It gets updates from here until it has another parent."""
        del tree.children[child]
        if len(tree.leaving) < self.params.children:
            tree.leaving[child] = self.context.outbox.now() + self.params.timeout_ms
        self.context.outbox.send(child, ChangeParent(tree.topic, to))
        self._relink(child)

    def on_join_ok(self, sender: NodeId, message: JoinOk) -> None:
        line = message.line
        tree = self.trees.get(line.topic)
        if tree is None or tree.seeking != sender:
            self.context.outbox.send(sender, LeaveParent(line.topic))
            return
        self._check_line(sender, line)
        if self.context.me in line.ancestors or not self._rightful(tree, line):
            self.context.outbox.send(sender, LeaveParent(line.topic))
            self._next_target(tree)
            return
        tree.seeking = None
        tree.queue = []
        self.context.outbox.cancel_timer(("join", tree.topic))
        before, tree.parent = tree.parent, sender
        if before is not None and before != sender:  # a proper rejoin: connect, then leave
            self.context.outbox.send(before, LeaveParent(tree.topic))
            self._relink(before)
        self.friends.vote([*line.ancestors])
        self.descend(tree, sender, line)
        self._relink(sender)
        self._pull(sender, message.have)

    def _check_line(self, sender: NodeId, line: Descent) -> None:
        self._check_place(line.place)
        self._check_place(line.root_place)
        if not line.ancestors or line.ancestors[0] != sender or line.ancestors[-1] != line.root:
            raise ProtocolError(
                "an ancestor list begins with its sender and ends with the publisher of the feed"
            )

    def _rightful(self, tree: FeedTree, line: Descent) -> bool:
        """Return whether the line leads to the publisher, where one is named."""
        named = self.context.publisher_of(tree.topic)
        return named is None or line.root == named

    def on_join_forward(self, sender: NodeId, message: JoinForward) -> None:
        tree = self.trees.get(message.topic)
        if tree is None or tree.seeking != sender:
            return
        tree.queue.insert(0, message.to)
        self.friends.vote([message.to])
        self._next_target(tree)

    def on_join_deny(self, sender: NodeId, message: JoinDeny) -> None:
        tree = self.trees.get(message.topic)
        if tree is not None and tree.seeking == sender:
            self._next_target(tree)

    def on_change_parent(self, sender: NodeId, message: ChangeParent) -> None:
        tree = self.trees.get(message.topic)
        if tree is not None and tree.parent == sender:
            tree.skip_rejoin = True
            tree.seeking = None
            self.seek(tree, [message.to, *tree.ancestors[1:]])

    def on_adopt(self, sender: NodeId, message: Adopt) -> None:
        tree = self.trees.get(message.topic)
        if (
            tree is not None
            and sender in tree.children
            and len(tree.adopted) < self.params.children
        ):
            tree.adopted[message.child] = None

    def on_leave_parent(self, sender: NodeId, message: LeaveParent) -> None:
        tree = self.trees.get(message.topic)
        if tree is not None:
            tree.children.pop(sender, None)
            tree.leaving.pop(sender, None)
            self._relink(sender)

    def on_other_root(self, sender: NodeId, message: OtherRoot) -> None:
        tree = self.trees.get(message.topic)
        if (
            tree is not None
            and tree.root == self.context.me
            and message.root < tree.root
            and self._unnamed(tree)
        ):
            self.seek(tree, [message.root])

    def descend(self, tree: FeedTree, sender: NodeId, line: Descent) -> None:
        """Take the parent's line, and pass a change on at once to the whole subtree."""
        self._check_line(sender, line)
        if self.context.me in line.ancestors or not self._rightful(tree, line):
            self.context.outbox.send(sender, LeaveParent(tree.topic))
            self.orphaned(tree)  # a loop, or a false publisher
            return
        if not tree.descend(line):
            return
        self._flush(tree)
        if not tree.holds_invariant(self.me.place):
            self.seek(tree, [line.root])

    def _flush(self, tree: FeedTree) -> None:
        line = tree.descent(self.me.place)
        if line is not None:
            self.context.outbox.send_all(list(tree.children), Lineage(line))

    def on_lineage(self, sender: NodeId, message: Lineage) -> None:
        tree = self.trees.get(message.line.topic)
        if tree is not None and tree.parent == sender:
            self.descend(tree, sender, message.line)
            self._relink(sender)

    def orphaned(self, tree: FeedTree) -> None:
        """Look for another parent, first at the grandparent (section 4.1)."""
        lost, above = tree.parent, tree.ancestors[1:]
        self._become_root(tree.topic)
        if lost is not None:
            self._relink(lost)
        self._flush(tree)
        tree.seeking = None
        self.seek(tree, above)

    def rejoin(self) -> None:
        """Try a place higher up in each tree (section 4.3)."""
        self.context.outbox.set_timer("rejoin", self.params.rejoin_ms)
        for tree in self.trees.values():
            if tree.skip_rejoin or tree.parent is None:
                tree.skip_rejoin = False
                continue
            ancestor = tree.rejoin_at(self.context.rng)
            if ancestor is not None:
                self.seek(tree, [ancestor])

    def leave_tree(self, tree: FeedTree) -> None:
        """Hand the children over (section 4.4). Nothing is relayed afterwards: a node that does
        not subscribe relays no update, and what is under way is pulled from the new parents."""
        outbox, heir = self.context.outbox, tree.heir()
        children, parent = [*tree.children, *tree.leaving], tree.parent
        if parent is not None:
            if heir is not None:
                outbox.send(parent, Adopt(tree.topic, heir))
            outbox.send(parent, LeaveParent(tree.topic))
        for child in tree.children:
            to = parent if child == heir else heir
            outbox.send(child, ChangeParent(tree.topic, to if to is not None else child))
        tree.children, tree.leaving, tree.parent = {}, {}, None
        outbox.cancel_timer(("join", tree.topic))
        for peer in [*children, *([parent] if parent is not None else [])]:
            self._relink(peer)

    # -- peer sampling, for feeds without a named publisher

    def gossip(self) -> None:
        self.context.outbox.set_timer("gossip", self.params.gossip_ms)
        if not any(self._unnamed(tree) for tree in self.trees.values()):
            return
        self.newscast.step()
        for tree in self.trees.values():
            if tree.parent is None and self._unnamed(tree):
                self.seek(tree)

    # -- updates (section 4.1)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        self.interest.publish(topic)
        self.enter(topic)
        seq = self._next_seq.get(topic, 0)
        self._next_seq[topic] = seq + 1
        event = Event(topic, self.context.me, self._epoch, seq, payload)
        tree = self.trees[topic]
        tree.news(event.stream, seq)
        self._push(tree, Held(event, 0, 0, self.context.outbox.now()), None)
        return event

    def _push(self, tree: FeedTree, held: Held, source: NodeId | None) -> None:
        tree.put(held)
        peers = [peer for peer in tree.neighbors() if peer != source]
        age_ms = held.age_at(self.context.outbox.now())
        self.context.outbox.send_all(peers, Update(held.event, held.hops + 1, age_ms))

    def on_update(self, sender: NodeId, message: Update) -> None:
        event = message.event
        tree = self.trees.get(event.topic)
        if tree is None or not tree.news(event.stream, event.seq):
            return
        now = self.context.outbox.now()
        since = self.interest.subscribed.get(event.topic)
        if (
            since is not None
            and event.publisher != self.context.me
            and message.age_ms <= now - since + AGE_SLACK_MS
        ):
            self.context.outbox.deliver(message)
        self._push(tree, Held(event, message.hops, message.age_ms, now), sender)
        if sender in tree.neighbors():
            self._pull(sender, tree.gaps(event.stream, event.seq))

    def _pull(self, peer: NodeId, names: Iterable[EventName]) -> None:
        now = self.context.outbox.now()
        by_topic: dict[Topic, list[EventName]] = {}
        for name in names:
            by_topic.setdefault(name[2], []).append(name)
        wanted: list[EventName] = []
        for topic, of_topic in by_topic.items():
            tree = self.trees.get(topic)
            if tree is not None and peer in tree.neighbors():
                recent = of_topic[-self.params.cache :]
                wanted += tree.lacking(recent, now, self.params.timeout_ms // TRIES)
        if wanted:
            self.context.outbox.send(peer, FeedPull(tuple(wanted)))

    def on_feed_pull(self, sender: NodeId, message: FeedPull) -> None:
        now = self.context.outbox.now()
        for publisher, epoch, topic, seq in dict.fromkeys(message.names):
            tree = self.trees.get(topic)
            if tree is None or sender not in tree.neighbors():
                continue
            held = tree.cache.get(((publisher, epoch, topic), seq))
            if held is not None:
                update = Update(held.event, held.hops + 1, held.age_at(now))
                self.context.outbox.send(sender, update)

    # -- what hosts ask

    def wake(self, timer: Timer) -> None:
        if isinstance(timer, tuple):
            tree = self.trees.get(timer[1])
            if tree is not None and tree.seeking is None:
                self.seek(tree)
            elif tree is not None:
                self._next_target(tree)
        else:
            TIMERS[str(timer)](self)

    def links(self) -> Collection[NodeId]:
        return self._linked.keys()

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
            "height_max": max((len(tree.ancestors) for tree in trees), default=0),
            "feeds_covered": sum(
                bool(self.friends.covering(self.me.place, topic)) for topic in self.trees
            ),
        }

    def distance_ms(self, topic: Topic) -> float | None:
        """Return the distance from the publisher in coordinates, one way."""
        tree = self.trees.get(topic)
        if tree is None or tree.root_place is None:
            return None
        return distance_ms(self.me.place, tree.root_place)

    def _relink(self, peer: NodeId) -> None:
        """Tell the host of a link that has come or gone. A link may serve several relations."""
        linked = (
            peer in self.friends.friends
            or peer in self.friends.fans
            or any(peer in tree.neighbors() for tree in self.trees.values())
        )
        if linked and peer not in self._linked:
            self._linked[peer] = None
            self.context.outbox.link_up(peer)
        elif not linked and peer in self._linked:
            del self._linked[peer]
            self._unanswered.pop(peer, None)
            self.context.outbox.link_down(peer)


TIMERS: dict[str, Callable[[Rappel], None]] = {
    "probe": Rappel.probe,
    "online": Rappel.go_online,
    "gossip": Rappel.gossip,
    "stagger": Rappel.stagger,
    "ping": Rappel.ping,
    "timeout": Rappel._ping_again,
    "audit": Rappel.audit,
    "rejoin": Rappel.rejoin,
}

Rappel.ON = {
    PlaceProbe: Rappel.on_probe,
    PlaceProbeOk: Rappel.on_probe_ok,
    PingRequest: Rappel.on_ping,
    PingAck: Rappel.on_ping_ack,
    Fetch: Rappel.on_fetch,
    Fetched: Rappel.on_fetched,
    Befriend: Rappel.on_befriend,
    BefriendOk: Rappel.on_befriend_ok,
    BefriendDeny: Rappel.on_befriend_deny,
    Unfriend: Rappel.on_unfriend,
    Departing: Rappel.on_departing,
    JoinRequest: Rappel.on_join,
    JoinOk: Rappel.on_join_ok,
    JoinForward: Rappel.on_join_forward,
    JoinDeny: Rappel.on_join_deny,
    ChangeParent: Rappel.on_change_parent,
    Adopt: Rappel.on_adopt,
    LeaveParent: Rappel.on_leave_parent,
    Lineage: Rappel.on_lineage,
    OtherRoot: Rappel.on_other_root,
    Update: Rappel.on_update,
    FeedPull: Rappel.on_feed_pull,
    News: lambda node, sender, message: node.newscast.on_news(sender, message),
    NewsReply: lambda node, sender, message: node.newscast.on_news_reply(sender, message),
}
