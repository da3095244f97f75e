"""How a node finds, keeps and leaves its parent in each tree (sections 4.2 to 4.4 and 5.1).

A search asks one node after another: those that an answer names first, then the ancestors, the
friends that cover the feed, and the publisher.
"""

from __future__ import annotations

from collections.abc import Sequence

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import sample
from orbweaver.gossip.newscast import Newscast
from orbweaver.overlays.rappel.friends import Friends
from orbweaver.overlays.rappel.landmarks import check_place
from orbweaver.overlays.rappel.messages import (
    Adopt,
    ChangeParent,
    Descent,
    JoinDeny,
    JoinForward,
    JoinOk,
    JoinRequest,
    LeaveParent,
    Lineage,
    OtherRoot,
)
from orbweaver.overlays.rappel.neighbors import Neighbors
from orbweaver.overlays.rappel.params import RappelParams
from orbweaver.overlays.rappel.trees import FeedTree
from orbweaver.overlays.rappel.updates import Updates

HOPS_MAX = 64
"""Most nodes that one search for a parent asks."""


class Parents:
    """The parents and children of one node, in all its trees. `FeedTree` decides by Algorithm 2,
    and the messages are sent here."""

    def __init__(
        self,
        context: Context,
        params: RappelParams,
        friends: Friends,
        trees: dict[Topic, FeedTree],
        newscast: Newscast,
        neighbors: Neighbors,
        updates: Updates,
    ) -> None:
        self._context = context
        self._params = params
        self._friends = friends
        self._trees = trees
        self._newscast = newscast
        self._neighbors = neighbors
        self._updates = updates
        self._online = False

    # -- life

    def begin(self) -> None:
        self._online = True
        for tree in self._trees.values():
            self._become_root(tree)

    def enter(self, topic: Topic) -> None:
        """Take part in a feed, as a subscriber or as a publisher (section 5.1)."""
        tree = self._trees[topic] = FeedTree(
            topic, self._context.me, self._params.children, self._params.cache
        )
        if self._online:
            self._become_root(tree)
            self.seek(tree)

    def _become_root(self, tree: FeedTree) -> None:
        """Make this node the root if it is the publisher, or if no publisher is named: then every
        node begins as the root of its own part of the tree, and parts join lower roots."""
        tree.parent = tree.parent_place = tree.line = None
        named = self._context.publisher_of(tree.topic)
        if named is None or named == self._context.me:
            tree.root, tree.root_place = self._context.me, self._friends.own.place
            tree.ancestors = ()  # elsewhere the old ones stay until there is another parent
        else:
            tree.root = named

    def unnamed(self, tree: FeedTree) -> bool:
        """Return whether nobody says which node publishes the feed."""
        return self._context.publisher_of(tree.topic) is None

    # -- searching (sections 4.2 and 5.1)

    def seek(self, tree: FeedTree, first: Sequence[NodeId] = ()) -> None:
        """Look for a parent: at `first`, at friends, then at the publisher."""
        if tree.seeking is not None or not self._online:
            return
        tree.visited = {self._context.me: None}
        targets = [*first]
        if tree.parent is None:
            targets += self._friends.covering(tree.topic)
            named = self._context.publisher_of(tree.topic)
            if named is not None:
                targets.append(named)
            else:
                bit = self._context.topics.bit(tree.topic)
                entries, _ = self._newscast.sample()
                fits = [entry.node for entry in entries if entry.interest.mask & bit]
                targets += sample(self._context.rng, fits, 1)
        tree.queue = list(dict.fromkeys(targets))
        self._next_target(tree)

    def _next_target(self, tree: FeedTree) -> None:
        tree.seeking = None
        while tree.queue:
            target = tree.queue.pop(0)
            if target not in tree.visited and len(tree.visited) < HOPS_MAX:
                self._ask(tree, target)
                return
        self._context.outbox.cancel_timer(("join", tree.topic))
        named = self._context.publisher_of(tree.topic)
        if tree.parent is None and named is not None and named != self._context.me:
            self._context.outbox.set_timer(("join", tree.topic), self._params.join_ms)

    def _ask(self, tree: FeedTree, target: NodeId) -> None:
        tree.seeking = target
        tree.visited[target] = None
        root = tree.root if tree.root is not None else self._context.me
        own = self._friends.own
        self._context.outbox.send(target, JoinRequest(tree.topic, root, own.place))
        self._context.outbox.set_timer(("join", tree.topic), self._params.join_ms)

    def time_out(self, topic: Topic) -> None:
        """Ask the next node, or begin again: no answer came, or the search was in vain."""
        tree = self._trees.get(topic)
        if tree is not None and tree.seeking is None:
            self.seek(tree)
        elif tree is not None:
            self._next_target(tree)

    def on_join(self, sender: NodeId, message: JoinRequest) -> None:
        """Receive-Join (Algorithm 2)."""
        check_place(message.place, self._params.dimensions)
        outbox, tree = self._context.outbox, self._trees.get(message.topic)
        if tree is None or sender == self._context.me or tree.root is None:
            outbox.send(sender, JoinDeny(message.topic))  # a false positive of a filter
            return
        self._friends.vote([sender])
        if message.root != tree.root and message.root < tree.root and self.unnamed(tree):
            if tree.root == self._context.me:
                self.on_other_root(OtherRoot(tree.topic, message.root))
            else:
                outbox.send(tree.root, OtherRoot(tree.topic, message.root))
            outbox.send(sender, JoinDeny(message.topic))
            return
        if message.root == sender == tree.root:
            outbox.send(sender, JoinDeny(message.topic))  # it is the root of this tree
            return
        place = self._friends.own.place
        found = tree.receive_join(place, sender, message.place)
        line = tree.descent(place)
        if found.answer == "forward" and found.forward_to is not None:
            outbox.send(sender, JoinForward(message.topic, found.forward_to))
        elif (
            found.answer == "ok"
            and line is not None
            and len(tree.children) <= 2 * self._params.children
        ):
            if found.evicted is not None and found.evicted_to is not None:
                self._evict(tree, found.evicted, found.evicted_to)
            tree.adopted.pop(sender, None)
            tree.leaving.pop(sender, None)
            tree.children[sender] = message.place
            tree.child_since[sender] = outbox.now()
            outbox.send(sender, JoinOk(line, self._updates.have([tree])))
            self._neighbors.renew(sender)
        else:
            outbox.send(sender, JoinDeny(message.topic))

    def _evict(self, tree: FeedTree, child: NodeId, to: NodeId) -> None:
        """Send a child elsewhere. It gets updates from here until it has another parent."""
        del tree.children[child]
        if len(tree.leaving) < self._params.children:
            tree.leaving[child] = self._context.outbox.now() + self._params.timeout_ms
        self._context.outbox.send(child, ChangeParent(tree.topic, to))
        self._neighbors.renew(child)

    def on_join_ok(self, sender: NodeId, message: JoinOk) -> None:
        line = message.line
        tree = self._trees.get(line.topic)
        if tree is None or tree.seeking != sender:
            self._context.outbox.send(sender, LeaveParent(line.topic))
            return
        self._check_line(sender, line)
        if not self._rightful(line):
            self._context.outbox.send(sender, LeaveParent(line.topic))
            self._next_target(tree)
            return
        tree.seeking = None
        tree.queue = []
        self._context.outbox.cancel_timer(("join", tree.topic))
        before, tree.parent = tree.parent, sender
        if before is not None and before != sender:  # a proper rejoin: connect, then leave
            self._context.outbox.send(before, LeaveParent(tree.topic))
            self._neighbors.renew(before)
        self._friends.vote([*line.ancestors])
        self.descend(tree, sender, line)
        self._neighbors.renew(sender)
        self._updates.pull(sender, message.have)

    def on_join_forward(self, sender: NodeId, message: JoinForward) -> None:
        tree = self._trees.get(message.topic)
        if tree is None or tree.seeking != sender:
            return
        tree.queue.insert(0, message.to)
        self._friends.vote([message.to])
        self._next_target(tree)

    def on_join_deny(self, sender: NodeId, message: JoinDeny) -> None:
        tree = self._trees.get(message.topic)
        if tree is not None and tree.seeking == sender:
            self._next_target(tree)

    def on_change_parent(self, sender: NodeId, message: ChangeParent) -> None:
        tree = self._trees.get(message.topic)
        if tree is not None and tree.parent == sender:
            tree.skip_rejoin = True
            tree.seeking = None
            self.seek(tree, [message.to, *tree.ancestors[1:]])

    def on_other_root(self, message: OtherRoot) -> None:
        """Join the part of the tree with a lower root, where no publisher is named."""
        tree = self._trees.get(message.topic)
        if (
            tree is not None
            and tree.root == self._context.me
            and message.root < tree.root
            and self.unnamed(tree)
        ):
            self.seek(tree, [message.root])

    # -- the line of ancestors (section 4.1)

    def descend(self, tree: FeedTree, sender: NodeId, line: Descent) -> None:
        """Take the parent's line, and pass a change on at once to the whole subtree."""
        if line == tree.line:
            return
        self._check_line(sender, line)
        if not self._rightful(line):
            self._context.outbox.send(sender, LeaveParent(tree.topic))
            self.orphaned(tree)
            return
        changed = tree.descend(line)
        if changed:
            self._flush(tree)
        if self.misplaced(tree):  # the publisher has other coordinates than before
            self._context.outbox.send(sender, LeaveParent(tree.topic))
            self.orphaned(tree)
        elif changed and not tree.holds_invariant(self._friends.own.place):
            self.seek(tree, [line.root])

    def misplaced(self, tree: FeedTree) -> bool:
        """Return whether the parent is farther from the publisher than this node: an edge that
        may not be (section 4.2). Without a named publisher it may be while parts merge."""
        return not (self.unnamed(tree) or tree.holds_invariant(self._friends.own.place))

    def _check_line(self, sender: NodeId, line: Descent) -> None:
        check_place(line.place, self._params.dimensions)
        check_place(line.root_place, self._params.dimensions)
        if not line.ancestors or line.ancestors[0] != sender or line.ancestors[-1] != line.root:
            raise ProtocolError(
                "an ancestor list begins with its sender and ends with the publisher of the feed"
            )
        if len(set(line.ancestors)) < len(line.ancestors):
            raise ProtocolError("an ancestor list names no node twice")

    def _rightful(self, line: Descent) -> bool:
        """Return whether the line leads to the publisher, if one is named, and not back here."""
        named = self._context.publisher_of(line.topic)
        return self._context.me not in line.ancestors and named in (None, line.root)

    def _flush(self, tree: FeedTree) -> None:
        line = tree.descent(self._friends.own.place)
        if line is not None:
            self._context.outbox.send_all(list(tree.children), Lineage(line))

    def on_lineage(self, sender: NodeId, message: Lineage) -> None:
        tree = self._trees.get(message.line.topic)
        if tree is not None and tree.parent == sender:
            self.descend(tree, sender, message.line)
            self._neighbors.renew(sender)

    # -- losing, changing and leaving the parent

    def failed(self, peer: NodeId) -> None:
        """Replace a peer that has failed, wherever it was a parent or was asked to be one."""
        for tree in list(self._trees.values()):
            tree.children.pop(peer, None)
            tree.leaving.pop(peer, None)
            if tree.parent == peer:
                self.orphaned(tree)
            elif tree.seeking == peer:
                self._next_target(tree)

    def orphaned(self, tree: FeedTree) -> None:
        """Look for another parent, first at the grandparent (section 4.1)."""
        lost, above = tree.parent, tree.ancestors[1:]
        self._become_root(tree)
        if lost is not None:
            self._neighbors.renew(lost)
        self._flush(tree)
        tree.seeking = None
        self.seek(tree, above)

    def rejoin(self) -> None:
        """Try a place higher up in each tree (section 4.3)."""
        for tree in self._trees.values():
            if tree.skip_rejoin or tree.parent is None:
                tree.skip_rejoin = False
                continue
            ancestor = tree.rejoin_at(self._context.rng)
            if ancestor is not None:
                self.seek(tree, [ancestor])

    def leave(self, tree: FeedTree) -> None:
        """Hand the children over (section 4.4). Nothing is relayed afterwards: a node that does
        not subscribe relays no update, and what is under way is pulled from the new parents."""
        outbox, heir = self._context.outbox, tree.heir()
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
            self._neighbors.renew(peer)

    def on_adopt(self, sender: NodeId, message: Adopt) -> None:
        tree = self._trees.get(message.topic)
        if tree is None or sender not in tree.children:
            return
        tree.adopted.pop(message.child, None)
        tree.adopted[message.child] = None
        if len(tree.adopted) > self._params.children:
            del tree.adopted[next(iter(tree.adopted))]  # it has not come until now

    def on_leave_parent(self, sender: NodeId, message: LeaveParent) -> None:
        tree = self._trees.get(message.topic)
        if tree is not None:
            tree.children.pop(sender, None)
            tree.leaving.pop(sender, None)
            self._neighbors.renew(sender)
