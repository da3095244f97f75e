"""The routing table: neighbours on both rings, and fingers.

A link has two ends. A node that puts another one into its table tells it with a PING, and the other
counts the link too, though it takes no place in its table. Greedy routing uses links both ways.
A node is only linked with on its own word: what others tell of it makes this node ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.gossip.descriptor import LIFE, Described, Descriptor
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.ring import KeptRing
from orbweaver.overlays.magnet.messages import Ask, Ping, RingDescriptor, Told, Unlink
from orbweaver.overlays.magnet.params import MagnetParams
from orbweaver.overlays.magnet.peers import Lost, Peer

INTRODUCE_EVERY = 10
"""Heartbeats after which a neighbour is told everything again, since one may be lost."""
ASKS_MAX = 2
"""Most nodes that are asked because of one answer."""
SUSPECT_CYCLES = 2
"""Cycles in which a neighbour under suspicion is asked before it is taken for lost."""
QUIET = 1
"""Cycles without a change after which a ring counts as formed."""
RESTING = 8
"""Cycles without a change after which there is less to do about a ring."""
LOST_MAX = 64
"""Lost neighbours that are remembered, the latest ones."""


class Table:
    def __init__(
        self,
        context: Context,
        params: MagnetParams,
        own: Described,
        place: int,
        newscast: Newscast,
        changed: Callable[[NodeId, bool], None],
    ) -> None:
        """`changed` is told of each link that comes (True) or goes (False). Of one that was
        forgotten by its other end, it is told both."""
        self._me = context.me
        self._outbox = context.outbox
        self._place_of = context.places
        self._own = own
        self._newscast = newscast
        self._changed = changed
        self._silent_ms = params.pings_missed * params.ping_ms + params.ping_ms // 2
        self._cycle_ms = params.cycle_ms
        self._ping_ms = params.ping_ms
        self._pinged_ms = -params.ping_ms
        self.control = KeptRing(context.me, context.places[context.me], params.ring_size)
        self.skewed = KeptRing(context.me, place, params.ring_size, clockwise=True)
        self._ring_size = params.ring_size
        self.fingers: dict[NodeId, int] = {}
        """Finger on the skewed ring -> its place when it was chosen."""
        self.control_fingers: dict[NodeId, int] = {}
        """Finger on the control ring -> the place that it was found for."""
        self.peers: dict[NodeId, Peer] = {}
        self._suspects: dict[NodeId, None] = {}
        """Neighbours that owe an answer."""
        self._silent_from_ms = 0
        """No neighbour has been silent too long before this time."""
        self._asked: dict[NodeId, int] = {}
        """Stranger -> when it was asked last."""
        self._lost: dict[NodeId, Lost] = {}
        self._table: dict[NodeId, None] = {}
        """The routing table as it was chosen last."""
        self._chosen_at = -1
        """Number of changes of both rings when it was."""
        self._beats = 0
        self._quiet = [0, 0]
        """For each ring, cycles since its neighbours changed."""
        self._changes = [0, 0]

    # -- what is known

    def descriptor(self) -> RingDescriptor:
        about = self._own.about
        assert isinstance(about, RingDescriptor)
        return about

    def ring(self, skewed: bool) -> KeptRing:
        return self.skewed if skewed else self.control

    def place_on(self, skewed: bool, entry: Descriptor) -> int:
        if skewed:
            assert isinstance(entry, RingDescriptor)
            return entry.place
        return self._place_of[entry.node]

    def _places_on(self, skewed: bool, entries: Sequence[Descriptor]) -> list[int]:
        if skewed:
            return [cast(RingDescriptor, entry).place for entry in entries]
        place_of = self._place_of
        return [place_of[entry.node] for entry in entries]

    def meet(self, contacts: Sequence[NodeId]) -> None:
        for contact in contacts:
            if contact != self._me and contact not in self.peers:
                self.ask(contact, skewed=False)

    def ask(self, node: NodeId, skewed: bool) -> None:
        """Ask a node for those next to this one, unless it was asked a moment ago."""
        now = self._outbox.now()
        if node == self._me or now - self._asked.get(node, -self._cycle_ms) < self._cycle_ms:
            return
        self._asked.pop(node, None)
        self._asked[node] = now
        if len(self._asked) > 4 * LOST_MAX:
            del self._asked[next(iter(self._asked))]
        self._outbox.send(node, Ask(skewed, self.descriptor()))

    def on_ask(self, sender: NodeId, message: Ask) -> None:
        about = message.about
        if about.node != sender:
            return
        ring = self.ring(message.skewed)
        place = self.place_on(message.skewed, about)
        now = self._outbox.now()
        entries: list[RingDescriptor] = []
        ages: list[int] = []
        for node in ring.around(place, self._ring_size + 1):
            if node not in (self._me, sender):
                peer = self.peers[node]
                entries.append(peer.about)
                ages.append(now - peer.heard_ms)
        if not self.is_quiet(skewed=False) or len(self.peers) < 2 * self._ring_size:
            # The ring may not have formed yet.
            for entry, age in self._strangers(message.skewed, place, sender):
                entries.append(entry)
                ages.append(age)
        answer = Told(message.skewed, self.descriptor(), tuple(entries), tuple(ages))
        self._outbox.send(sender, answer)
        self.consider(about)

    def _strangers(self, skewed: bool, place: int, but: NodeId) -> list[tuple[RingDescriptor, int]]:
        """Return the nodes of the view next to a place that are no neighbours, with ages."""
        near = []
        for entry, age in zip(*self._newscast.sample(), strict=True):
            if entry.node != but and entry.node not in self.peers:
                assert isinstance(entry, RingDescriptor)
                near.append(((self.place_on(skewed, entry) - place) % SPACE, entry, age))
        near.sort(key=lambda found: found[0])
        size = self._ring_size
        if len(near) > 2 * size:
            near = [*near[:size], *near[-size:]]
        return [(entry, age) for _, entry, age in near]

    def on_told(self, sender: NodeId, message: Told) -> None:
        if message.about.node == sender:
            self.consider(message.about)
            self.hear(message.skewed, message.entries, message.ages)

    def hear(self, skewed: bool, entries: Sequence[Descriptor], ages: Sequence[int]) -> None:
        """Ask the nodes that others tell of, if they would be neighbours on a ring: the nearest
        on either side first."""
        ring, now = self.ring(skewed), self._outbox.now()
        here = ring.here
        ahead: list[tuple[int, NodeId]] = []
        places = self._places_on(skewed, entries)
        for at in ring.improving(places):
            node, age = entries[at].node, ages[at] if at < len(ages) else self._silent_ms + 1
            if age > self._silent_ms or node in self.peers or node == self._me:
                continue
            lost = self._lost.get(node)
            if lost is None or now - age > lost.at_ms:
                ahead.append(((places[at] - here) % SPACE, node))
        ahead.sort()
        half = ASKS_MAX // 2
        chosen = ahead if len(ahead) <= ASKS_MAX else [*ahead[:half], *ahead[-half:]]
        for _, node in chosen:
            self.ask(node, skewed)

    def consider(self, about: RingDescriptor) -> None:
        """Link with a node that has spoken for itself, if it is a neighbour on a ring."""
        node = about.node
        if node == self._me:
            return
        peer = self.peers.get(node)
        if peer is not None:
            peer.heard_ms = self._outbox.now()
            self._update(peer, about)
        elif self.control.improves(self._place_of[node]) or self.skewed.improves(about.place):
            self._link(about)
        else:
            return
        self._follow_rings()
        peer = self.peers.get(node)
        if peer is not None and not peer.chosen and not peer.chooses:
            self._unlink(node)  # another one came first

    def add_finger(self, about: RingDescriptor) -> None:
        if about.node != self._me:
            self.fingers[about.node] = about.place
            self._add(about)

    def add_control_finger(self, about: RingDescriptor, place: int) -> None:
        if about.node != self._me:
            self.control_fingers[about.node] = place
            self._add(about)

    def _add(self, about: RingDescriptor) -> None:
        if about.node not in self.peers:
            self._link(about)
        self.choose()

    # -- links

    def choose(self) -> None:
        """Make the table of the neighbours on both rings and the fingers. Drop the links that
        neither end needs."""
        self._chosen_at = self.control.changes + self.skewed.changes
        before = self._table
        table = self._table = dict.fromkeys((*self.control.nodes, *self.skewed.nodes))
        table.update(dict.fromkeys(self.fingers))
        table.update(dict.fromkeys(self.control_fingers))
        for node in table:
            if node not in before:
                self.peers[node].chosen = True
                self._introduce(node, self.peers[node])
        for node in before:
            if node not in table:
                peer = self.peers[node]
                peer.chosen = False
                if not peer.chooses:
                    self._outbox.send(node, Unlink(leaving=False))
                    self._unlink(node)

    def _follow_rings(self) -> None:
        """Choose again if the neighbours on a ring have changed."""
        if self.control.changes + self.skewed.changes != self._chosen_at:
            self.choose()

    def moved(self, place: int) -> None:
        """This node has a new place on the skewed ring."""
        self.skewed.put(self._me, place)
        for node, peer in list(self.peers.items()):
            self._introduce(node, peer)
        self.choose()

    def changed_interest(self) -> None:
        for peer in self.peers.values():
            peer.introduced = False

    def step(self) -> None:
        """Once a cycle: drop the neighbours that were silent too long, send heartbeats, and ask
        those next to this node on both rings for nearer ones (Chord's *stabilize*)."""
        now = self._outbox.now()
        if self._suspects or now > self._silent_from_ms:
            self._drop_silent(now)
        for skewed in (False, True):
            self._stabilize(skewed)
        self._call_lost()
        if now - self._pinged_ms >= self._ping_ms:
            self._pinged_ms = now
            self._ping()

    def _drop_silent(self, now: int) -> None:
        for node in list(self._suspects):
            peer = self.peers.get(node)
            if peer is None or peer.suspect_ms is None:
                del self._suspects[node]
            elif self._owes_too_long(node, peer, now):
                self.lost(node)
        silent_ms = self._silent_ms
        for node, peer in list(self.peers.items()):
            if now - peer.heard_ms > silent_ms:
                self.lost(node)
        first = min([peer.heard_ms for peer in self.peers.values()], default=now)
        self._silent_from_ms = first + silent_ms

    def is_quiet(self, skewed: bool) -> bool:
        """Return whether the neighbours on a ring have not changed for some cycles."""
        return self._quiet[skewed] > QUIET and bool(self.ring(skewed).successors)

    def is_at_rest(self) -> bool:
        """Return whether this is one of every two cycles in which a node may rest, since its
        control ring has not changed for long."""
        quiet = self._quiet[False]
        return quiet > RESTING and (quiet + self._me) % 2 == 0

    def suspect(self, node: NodeId) -> None:
        """Something that went to a neighbour has led to nothing. Ask whether it is there, rather
        than wait for the heartbeats that it misses."""
        peer = self.peers.get(node)
        if peer is not None and peer.suspect_ms is None:
            peer.suspect_ms = self._outbox.now()
            self._suspects[node] = None
            self.ask(node, skewed=False)

    def _owes_too_long(self, node: NodeId, peer: Peer, now: int) -> bool:
        since = peer.suspect_ms
        assert since is not None, "the peer is under suspicion"
        if peer.heard_ms > since:
            peer.suspect_ms = None
            return False
        self.ask(node, skewed=False)
        return now - since > SUSPECT_CYCLES * self._cycle_ms

    def _stabilize(self, skewed: bool) -> None:
        ring = self.ring(skewed)
        if ring.changes != self._changes[skewed]:
            self._changes[skewed] = ring.changes
            self._quiet[skewed] = -1
        self._quiet[skewed] += 1
        quiet = self._quiet[skewed]
        # A ring that has not changed for a while is asked less often.
        if quiet > RESTING and (quiet + self._me) % 4:
            return
        self.hear(skewed, *self._newscast.sample())
        turn = ring.successors if (quiet + self._me) % 8 < 4 or quiet % 2 else ring.predecessors
        if turn or (turn := ring.nodes):
            self.ask(turn[0], skewed)

    def _call_lost(self) -> None:
        for node, lost in self._lost.items():
            if lost.calls:
                lost.calls -= 1
                self.ask(node, skewed=False)
                break

    def _ping(self) -> None:
        self._beats += 1
        quiet: tuple[list[NodeId], list[NodeId]] = ([], [])
        for node, peer in self.peers.items():
            if not peer.introduced or (self._beats + node) % INTRODUCE_EVERY == 0:
                self._introduce(node, peer)
            else:
                quiet[peer.chosen].append(node)
        for chosen, nodes in zip((False, True), quiet, strict=True):
            if nodes:
                self._outbox.send_all(nodes, Ping(chosen, None))

    def _introduce(self, node: NodeId, peer: Peer) -> None:
        peer.introduced = True
        self._outbox.send(node, Ping(peer.chosen, self.descriptor()))

    def on_ping(self, sender: NodeId, message: Ping) -> None:
        peer, about = self.peers.get(sender), message.about
        if about is not None and about.node != sender:
            return
        if peer is None:
            if about is None or not message.chosen:
                # The sender holds a link that this node does not. It may introduce itself again.
                self._outbox.send(sender, Unlink(leaving=False))
                return
            self._link(about)
            self.peers[sender].chooses = True
            self._follow_rings()
            return
        peer.heard_ms = self._outbox.now()
        peer.chooses = message.chosen
        if about is not None:
            self._update(peer, about)
        if not peer.chosen and not peer.chooses:
            self._outbox.send(sender, Unlink(leaving=False))
            self._unlink(sender)
        if about is not None:
            self._follow_rings()

    def on_unlink(self, sender: NodeId, message: Unlink) -> None:
        peer = self.peers.get(sender)
        if peer is None:
            return
        if message.leaving:
            self.lost(sender)
            self._lost[sender].calls = 0
            return
        peer.chooses = peer.introduced = False
        if peer.chosen:
            self._forgotten(sender)
        else:
            self._unlink(sender)

    def lost(self, node: NodeId) -> None:
        self._newscast.forget(node)
        if node in self.peers:
            self._lost.pop(node, None)
            self._lost[node] = Lost(self._outbox.now())
            if len(self._lost) > LOST_MAX:
                del self._lost[next(iter(self._lost))]
            self._unlink(node)
            self.choose()

    def leave(self) -> None:
        for node in list(self.peers):
            self._outbox.send(node, Unlink(leaving=True))
            self._outbox.link_down(node)
        self.peers.clear()
        self._table.clear()

    def _update(self, peer: Peer, about: RingDescriptor) -> None:
        before = peer.about
        if about.version < before.version:
            return
        peer.about = about
        if about.version >= before.version + LIFE:
            # It was restarted, and knows nothing of what was agreed.
            self._forgotten(about.node)
            peer.introduced = False
        if about.place != before.place:
            self.skewed.put(about.node, about.place)

    def _forgotten(self, node: NodeId) -> None:
        self._changed(node, False)
        self._changed(node, True)

    def _link(self, about: RingDescriptor) -> None:
        node = about.node
        self.peers[node] = Peer(about, self._outbox.now())
        self._lost.pop(node, None)
        self.control.put(node, self._place_of[node])
        self.skewed.put(node, about.place)
        self._outbox.link_up(node)
        self._changed(node, True)

    def _unlink(self, node: NodeId) -> None:
        del self.peers[node]
        self._table.pop(node, None)
        self.fingers.pop(node, None)
        self.control_fingers.pop(node, None)
        self.control.drop(node)
        self.skewed.drop(node)
        self._outbox.link_down(node)
        self._changed(node, False)
