"""Relay paths form, for each topic, a tree towards the node nearest to the topic's place.

A node that wants to be on a topic's tree asks its next hop, which asks its own, until the place
is reached (Vitis III-B, as in Scribe). A node that is no longer needed on a tree leaves it. All of
this is soft state: a request holds for a few periods and is repeated, so trees follow changes of
the ring, and branches that are not asked for any more disappear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.gossip.messages import Relay, Unrelay

PERIODS_MAX = 3
"""Periods after which a request that was not repeated has lapsed."""
BRANCHES_MAX = 1 << 15
"""Most trees that a node lets itself be put on, since a peer can make up any number of topics."""
BRANCHES_OF_CHILD = 1 << 13
"""Most trees on which one child puts it."""


class Branch:
    """A branch is the place of this node in one tree."""

    __slots__ = ("children", "parent")

    def __init__(self) -> None:
        self.parent: NodeId | None = None
        self.children: dict[NodeId, int] = {}
        """Child -> the time when its request lapses."""


class Relays:
    messages = (Relay, Unrelay)

    def __init__(
        self,
        context: Context,
        next_hop: Callable[[int], NodeId | None],
        period_ms: int,
        key_of: Mapping[Topic, int] = PLACE_OF_TOPIC,
    ) -> None:
        """`next_hop` routes towards a key, and `key_of` gives the keys of topics: their places
        on the circle, unless told otherwise."""
        self._context = context
        self._next_hop = next_hop
        self._period_ms = period_ms
        self._key_of = key_of
        self._due = 0
        self._rerouted = False
        """A neighbour has come or gone since the next hops were looked up."""
        self._wanted: dict[Topic, None] = {}
        self.changed: dict[Topic, None] | None = None
        """Topics of which the parent has changed, or a child has gone, for an owner that empties
        the map. None: nobody asks."""
        self.branches: dict[Topic, Branch] = {}
        self._below: dict[NodeId, dict[Topic, None]] = {}
        """Parent -> the topics for which it is one."""
        self._above: dict[NodeId, dict[Topic, None]] = {}
        """Child -> the topics for which it is one."""

    def want(self, topics: Iterable[Topic]) -> None:
        """Be on the trees of these topics from now on, and on no others except for children."""
        before, self._wanted = self._wanted, dict.fromkeys(topics)
        self._let_go(topic for topic in before if topic not in self._wanted)
        self._ask([topic for topic in self._wanted if topic not in before])

    def peers(self, topic: Topic) -> list[NodeId]:
        """Return the neighbours of this node in a topic's tree."""
        branch = self.branches.get(topic)
        if branch is None:
            return []
        found = list(branch.children)
        if branch.parent is not None and branch.parent not in branch.children:
            found.append(branch.parent)
        return found

    def step(self) -> None:
        """Re-request the topics whose next hop has changed; called once a cycle. Once a period,
        repeat all requests and drop the ones that have lapsed."""
        if self._rerouted:
            self._rerouted = False
            hop, keys = self._next_hop, self._key_of
            moved = [t for t, b in self.branches.items() if hop(keys[t]) != b.parent]
            self._ask(moved)
        now = self._context.outbox.now()
        if now < self._due:
            return
        self._due = now + self._period_ms
        for topic, branch in self.branches.items():
            for child in [c for c, until in branch.children.items() if until <= now]:
                del branch.children[child]
                self._note(topic)
                self._above[child].pop(topic, None)
        self._let_go(list(self.branches))
        for parent, topics in self._below.items():
            self._context.outbox.send(parent, Relay(tuple(topics)))

    def reroute(self) -> None:
        """Note that a new neighbour may be a better next hop for some topics."""
        self._rerouted = True

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        until = self._context.outbox.now() + PERIODS_MAX * self._period_ms
        grown = []
        above = self._above.setdefault(sender, {})
        for topic in message.topics:
            if len(above) >= BRANCHES_OF_CHILD and topic not in above:
                break
            branch = self.branches.get(topic)
            if branch is None:
                if len(self.branches) >= BRANCHES_MAX:
                    continue
                branch = self.branches[topic] = Branch()
                grown.append(topic)
            branch.children[sender] = until
            above[topic] = None
        self._ask(grown)

    def on_unrelay(self, sender: NodeId, message: Unrelay) -> None:
        above = self._above.get(sender, {})
        for topic in message.topics:
            if topic in above:
                del above[topic], self.branches[topic].children[sender]
                self._note(topic)
        self._let_go(message.topics)

    def lost(self, peer: NodeId) -> None:
        """Drop the requests of a neighbour that has gone, since it asks another node now. Where the
        neighbour was the parent, this node asks another one in the next cycle."""
        for topic in self._below.pop(peer, ()):
            self.branches[topic].parent = None
            self._note(topic)
            self._rerouted = True
        orphans = self._above.pop(peer, {})
        for topic in orphans:
            del self.branches[topic].children[peer]
            self._note(topic)
        self._let_go(orphans)

    def _ask(self, topics: Iterable[Topic]) -> None:
        """Send one request to each next hop, for all topics that go there."""
        asked: dict[NodeId, list[Topic]] = {}
        left: dict[NodeId, list[Topic]] = {}
        for topic in topics:
            branch = self.branches.get(topic)
            if branch is None:
                branch = self.branches[topic] = Branch()
            hop = self._next_hop(self._key_of[topic])
            if hop != branch.parent:
                if branch.parent is not None:
                    left.setdefault(branch.parent, []).append(topic)
                self._hang(topic, branch, hop)
            if hop is not None:
                asked.setdefault(hop, []).append(topic)
        for hop, through in asked.items():
            self._context.outbox.send(hop, Relay(tuple(through)))
        self._leave(left)

    def _let_go(self, topics: Iterable[Topic]) -> None:
        """Leave the trees on which neither this node nor a child has to be."""
        left: dict[NodeId, list[Topic]] = {}
        for topic in topics:
            branch = self.branches.get(topic)
            if branch is None or branch.children or topic in self._wanted:
                continue
            if branch.parent is not None:
                left.setdefault(branch.parent, []).append(topic)
            self._hang(topic, branch, None)
            del self.branches[topic]
        self._leave(left)

    def _leave(self, left: dict[NodeId, list[Topic]]) -> None:
        for parent, topics in left.items():
            self._context.outbox.send(parent, Unrelay(tuple(topics)))

    def _hang(self, topic: Topic, branch: Branch, parent: NodeId | None) -> None:
        if branch.parent is not None:
            below = self._below[branch.parent]
            del below[topic]
            if not below:
                del self._below[branch.parent]
        self._note(topic)
        branch.parent = parent
        if parent is not None:
            self._below.setdefault(parent, {})[topic] = None

    def _note(self, topic: Topic) -> None:
        if self.changed is not None:
            self.changed[topic] = None
