"""Multicast trees, built from the top so that paths down are greedy paths (Algorithm 2).

A tree T(t) is rooted at home(t). On it the path to each subscriber p is the greedy path from the
home to p on the skewed ring: nodes that are close on the ring share most of it. A subscriber asks
some other one (phase 1), the request climbs (phase 2), and from the first node that is on p's own
greedy path, the path grows down to p (phase 3).

Whether a node is on it is told by its *range* (`branch.py`). When a finger or a place changes, a
node finds itself out of its parent's range, keeps the parent for the moment, and joins again.

Beats go down from the root (`beats.py`). They carry the ranges, and a number by which a branch
knows that it still hangs at the root: in a loop of parents it does not grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.messages import Recent
from orbweaver.overlays.magnet.beats import ALL_EVERY, Beats
from orbweaver.overlays.magnet.branch import Branch, end_of, in_range, is_outside
from orbweaver.overlays.magnet.messages import (
    Beat,
    Branching,
    Grow,
    JoinTree,
    LeaveTree,
    in_parts,
)
from orbweaver.overlays.magnet.params import MagnetParams
from orbweaver.overlays.magnet.table import Table

HOPS_MAX = 128
"""Most hops of a JOIN-TREE or GROW. Where parents form a loop, it ends there."""
BRANCHES_MAX = 1 << 15
"""Most trees that a node lets itself be put on, since a peer can make up any number of topics."""
FORMING_MS = 60_000
"""Milliseconds after which a node joins trees though its rings still change."""
CALM = 3
"""Cycles without a change among the neighbours after which a node begins to join trees."""
CALM_MS = 8000
"""Milliseconds after which it joins them in any case, once its rings are ready."""
BEATS_MISSED = 3
"""Beats that name all trees, without news of the root, after which a branch has lost it."""
VIA_HOME = 1
"""How often a node without members to ask tries its own way to the home first."""


class Trees:
    def __init__(
        self,
        context: Context,
        params: MagnetParams,
        table: Table,
        members: Callable[[Topic], list[NodeId]],
        recent: Callable[[Topic], tuple[Recent, ...]],
    ) -> None:
        """`members` returns subscribers of a topic that the membership service knows, `recent` the
        events that a child may have missed."""
        self._context = context
        self._me = context.me
        self._outbox = context.outbox
        self._params = params
        self._table = table
        self._members = members
        self._wanted: dict[Topic, None] = {}
        self.branches: dict[Topic, Branch] = {}
        self._beats = Beats(context, params, table.skewed, recent)
        self._look: dict[Topic, None] = {}
        """Topics to be looked at in the next cycle."""
        self._waiting: dict[Topic, None] = {}
        """Topics to be looked at when this node begins to join trees."""
        self._begun = False
        self._moves = 0
        """Number of changes among the nodes known on the skewed ring, at the last cycle."""
        self._calm = 0
        """Cycles without such a change."""
        self._ready_ms = 0
        """When the rings were not ready last."""
        self._since_ms = 0
        self._rehome = False
        self._stale_ms = BEATS_MISSED * ALL_EVERY * params.beat_ms + params.cycle_ms

    def start(self) -> None:
        self._since_ms = self._outbox.now()

    # -- what this node wants

    def want(self, topics: Iterable[Topic]) -> None:
        """Be on the trees of these topics from now on, and on no others but for children."""
        before, self._wanted = self._wanted, dict.fromkeys(topics)
        now = self._outbox.now()
        for topic in self._wanted:
            if topic not in self.branches:
                self.branches[topic] = Branch(self._me, now)
                self._look[topic] = None
        self._look.update((topic, None) for topic in before if topic not in self._wanted)

    def moved(self) -> None:
        """The node has another place: no range holds any more."""
        for topic, branch in self.branches.items():
            if branch.rooted:
                branch.end = self._table.skewed.here
            else:
                branch.end = self._table.skewed.here
                branch.stray = True
                branch.asked_ms = self._outbox.now()
                self._look[topic] = None

    def is_home(self, topic: Topic) -> bool:
        return self._table.control.router.next_hop(PLACE_OF_TOPIC[topic]) is None

    def is_on(self, topic: Topic) -> bool:
        """Whether this node hangs at the root of a tree, as far as it can know."""
        branch = self.branches.get(topic)
        return branch is not None and self._attached(branch)

    def peers(self, topic: Topic) -> list[NodeId]:
        """Return the neighbours of this node in a tree: its children, then its parent."""
        branch = self.branches.get(topic)
        if branch is None:
            return []
        found = list(branch.children)
        if branch.parent is not None:
            found.append(branch.parent)
        return found

    # -- time and neighbours

    def step(self, ready: bool) -> None:
        """Once a cycle: join where it has to be, leave where no one needs this node, beat. It joins
        nothing before the rings are `ready`: requests would end anywhere."""
        now = self._outbox.now()
        self._begun = self._begun or self._may_begin(ready, now)
        if self._begun and self._waiting:
            self._look.update(self._waiting)
            self._waiting = {}
        if self._rehome:
            self._rehome = False
            self._look.update((topic, None) for topic, b in self.branches.items() if b.rooted)
        if self._beats.name_all_next(now):
            self._look.update(dict.fromkeys(self.branches))
        self._check(now)
        self._beats.step(self.branches)

    def _may_begin(self, ready: bool, now: int) -> bool:
        """Return whether it is time to join trees: when neither a neighbour nor a finger has come,
        gone or moved for some cycles, since each of them bends paths. It need not wait long."""
        moves, self._moves = self._moves, self._table.skewed.moves
        self._calm = self._calm + 1 if moves == self._moves else 0
        if not ready:
            self._ready_ms = now
        late = now - self._since_ms > FORMING_MS or now - self._ready_ms > CALM_MS
        return late or (ready and self._calm >= CALM)

    def lost(self, node: NodeId) -> None:
        """A neighbour has gone, with what it was in all trees."""
        for topic, branch in self.branches.items():
            if node in branch.children:
                del branch.children[node]
                if not branch.children:
                    self._look[topic] = None
            if branch.parent == node:
                self._lose_parent(topic, branch)
        self._rehome = True

    def _lose_parent(self, topic: Topic, branch: Branch) -> None:
        branch.parent = None
        branch.stray = True
        branch.asked_ms = -(1 << 40)
        self._look[topic] = None

    def reroute(self) -> None:
        """A new neighbour may be the home of a topic that this node is the root of."""
        self._rehome = True

    def _check(self, now: int) -> None:
        look, self._look = self._look, {}
        left: dict[NodeId, list[Topic]] = {}
        for topic in look:
            branch = self.branches.get(topic)
            if branch is None:
                continue
            if not branch.children and topic not in self._wanted:
                if branch.parent is not None:
                    left.setdefault(branch.parent, []).append(topic)
                del self.branches[topic]
                continue
            if branch.rooted and not self.is_home(topic):
                branch.rooted = False
                branch.stray = True
                branch.fresh_ms = now
            if branch.rooted:
                continue
            if not self._begun:
                self._waiting[topic] = None
                continue
            if not branch.stray and self._attached(branch):
                branch.tries = 0
                continue
            self._look[topic] = None
            # While the parent still serves it, there is no hurry: others may be moving too.
            served = self._attached(branch)
            if now - branch.asked_ms >= (
                self._params.stray_ms if served else self._wait_ms(branch)
            ):
                branch.asked_ms = now
                self.join_tree(topic, branch)
        for parent, topics in left.items():
            for part in in_parts(topics):
                self._outbox.send(parent, LeaveTree(part))

    def _wait_ms(self, branch: Branch) -> int:
        """Return how long a node waits for the answer to joinTree: longer each time."""
        return self._params.join_ms * min(3, max(1, branch.tries - 3))

    def _attached(self, branch: Branch) -> bool:
        if branch.rooted:
            return True
        fresh = self._outbox.now() - branch.fresh_ms <= self._stale_ms
        return branch.parent is not None and fresh

    # -- Algorithm 2

    def join_tree(self, topic: Topic, branch: Branch) -> None:
        """Phase 1 (lines 1-6): begin at a random subscriber that is known, or at the home."""
        if self.is_home(topic):
            self.become_root(topic)
            return
        branch.tries += 1
        # Where there is no answer, ask in turn another member and the home, by another way.
        members = self._members(topic) if branch.tries % 3 else []
        request = JoinTree(topic, self._me, self._table.skewed.here, False, 0)
        if members:
            self._outbox.send(pick(self._context.rng, members), request)
        elif branch.tries <= VIA_HOME:
            self._seek_home(request)
        else:
            hop = self._table.control.router.next_hop(PLACE_OF_TOPIC[topic])
            assert hop is not None, "this node is not the home"
            self._table.suspect(hop)
            self._outbox.send(pick(self._context.rng, list(self._table.peers)), request)

    def on_join_tree(self, sender: NodeId, message: JoinTree) -> None:
        """Phase 2 (lines 7-11): climb until this node is the home, or on the greedy path."""
        if message.hops >= HOPS_MAX:
            return
        topic = message.topic
        branch = self.branches.get(topic)
        if message.origin == self._me:
            self._seek_home(message)
        elif branch is not None and self._attached(branch) and not branch.stray:
            if in_range(self._table.skewed, branch, message.place):
                self._grow(topic, branch, message.origin, message.place, 0)
            elif branch.parent is not None and not message.home:
                climb = JoinTree(topic, message.origin, message.place, False, message.hops + 1)
                self._outbox.send(branch.parent, climb)
            else:
                self._seek_home(message)
        else:
            self._seek_home(message)

    def _seek_home(self, message: JoinTree) -> None:
        hop = self._table.control.router.next_hop(PLACE_OF_TOPIC[message.topic])
        if hop is not None:
            onward = JoinTree(message.topic, message.origin, message.place, True, message.hops + 1)
            self._outbox.send(hop, onward)
        elif message.origin != self._me:
            branch = self.become_root(message.topic)
            if branch is not None:
                self._grow(message.topic, branch, message.origin, message.place, 0)

    def become_root(self, topic: Topic) -> Branch | None:
        """Be the home of a topic, with the whole ring for a range."""
        branch = self.branches.get(topic)
        if branch is None:
            if len(self.branches) >= BRANCHES_MAX:
                return None
            branch = self.branches[topic] = Branch(self._me, self._outbox.now())
        if not branch.rooted:
            if branch.parent is not None:
                self._outbox.send(branch.parent, LeaveTree((topic,)))
                branch.parent = None
            branch.rooted, branch.stray, branch.root, branch.depth = True, False, self._me, 0
            branch.end = self._table.skewed.here
            branch.changed = True
            branch.beat = self._outbox.now()
            branch.fresh_ms = self._outbox.now()
        return branch

    def _grow(self, topic: Topic, branch: Branch, origin: NodeId, place: int, hops: int) -> None:
        """Phase 3 (lines 12-14): go on along the greedy path, one child further."""
        skewed = self._table.skewed
        hop = origin if origin in self._table.peers else skewed.router.next_hop(place)
        if hop is None or skewed.places[hop] == skewed.here:
            # This node is the last before the subscriber, and they do not know each other.
            self._table.ask(origin, skewed=True)
            return
        if hop not in branch.children:
            self._beats.greet(topic, hop)
        end, beat = end_of(skewed, branch, hop), max(0, branch.beat)
        branch.children[hop] = end
        grow = Grow(topic, origin, place, end, branch.root, beat, branch.depth + 1, hops + 1)
        self._outbox.send(hop, grow)

    def on_grow(self, sender: NodeId, message: Grow) -> None:
        topic, now = message.topic, self._outbox.now()
        branch = self.branches.get(topic)
        fits = sender in self._table.peers and message.hops < HOPS_MAX
        if branch is None and fits and len(self.branches) < BRANCHES_MAX:
            branch = self.branches[topic] = Branch(message.root, now)
        if branch is None or not fits or branch.rooted or message.root == self._me:
            self._outbox.send(sender, LeaveTree((topic,)))
            return
        branch.children.pop(sender, None)
        if branch.parent not in (None, sender):
            assert branch.parent is not None
            self._outbox.send(branch.parent, LeaveTree((topic,)))
        branch.parent = sender
        branch.changed = True
        if message.root != branch.root or message.beat > branch.beat:
            branch.fresh_ms = now
        branch.root, branch.beat, branch.end = message.root, message.beat, message.end
        branch.depth = min(message.depth, HOPS_MAX)
        branch.stray = is_outside(self._table.skewed, sender, message.end)
        branch.tries = 0
        if message.origin == self._me:
            return
        if topic not in self._wanted:
            self._look[topic] = None  # if no child comes of it
        if not branch.stray:
            self._grow(topic, branch, message.origin, message.place, message.hops)

    # -- beats

    def on_beat(self, sender: NodeId, message: Beat) -> list[Branching]:
        """Take the news of a parent. Return those of trees in which the sender is the parent."""
        now = self._outbox.now()
        ours, strange = [], []
        for news in message.branches:
            branch = self.branches.get(news.topic)
            if branch is None or branch.parent != sender:
                strange.append(news.topic)
                continue
            ours.append(news)
            if news.root == self._me:
                continue  # a loop, or it is not known yet that this node is no root
            if news.root != branch.root or news.beat > branch.beat:
                depth = min(news.depth, HOPS_MAX)
                branch.changed |= news.root != branch.root or depth != branch.depth
                branch.fresh_ms = now
                branch.root, branch.beat, branch.depth = news.root, news.beat, depth
            branch.changed |= news.end != branch.end
            branch.end = news.end
            stray = is_outside(self._table.skewed, sender, news.end)
            if stray and not branch.stray:
                self._look[news.topic] = None
                branch.asked_ms = now
            branch.stray = stray
        if strange:
            self._outbox.send(sender, LeaveTree(tuple(strange)))
        if message.all:
            named = {news.topic for news in ours}
            for topic, branch in self.branches.items():
                if branch.parent == sender and topic not in named:
                    self._lose_parent(topic, branch)
        return ours

    def on_leave_tree(self, sender: NodeId, message: LeaveTree) -> None:
        for topic in message.topics:
            branch = self.branches.get(topic)
            if branch is not None and _pop(branch.children, sender) and not branch.children:
                self._look[topic] = None


def _pop(children: dict[NodeId, int], node: NodeId) -> bool:
    """Remove a child. Return whether it was one."""
    known = node in children
    children.pop(node, None)
    return known
