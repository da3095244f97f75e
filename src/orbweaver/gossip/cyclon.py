"""Cyclon samples peers (Voulgaris et al., 2005); here its entries carry interests.

Each cycle a node takes the oldest entry out of its view and swaps a few random entries
with that peer, putting a fresh one of itself among them. Entries of nodes that are gone
grow old, are picked as partners, do not answer, and have already been taken out. With
the interests inside the entries this is the randomised membership service that
SpiderCast assumes (its Sec. 2.2).

Ours: what a node says of itself counts more than what others say of it, since entries are not
signed. While an entry is in the view that came from its node itself, no other replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import below, sample
from orbweaver.core.topics import Interest
from orbweaver.gossip.descriptor import (
    AGE_MAX,
    AHEAD_MS,
    Aged,
    Described,
    Descriptor,
    stranger,
)
from orbweaver.gossip.messages import Shuffle, ShuffleReply
from orbweaver.gossip.views import ScannedView


class Cyclon(ScannedView):
    TIMER = "cyclon"
    messages = (Shuffle, ShuffleReply)

    def __init__(
        self,
        context: Context,
        me: Described,
        view_size: int,
        shuffle_size: int,
        period_ms: int,
    ) -> None:
        super().__init__(context.topics)
        self._context = context
        self._described = me
        self._view_size = view_size
        self._shuffle_size = min(shuffle_size, view_size)
        self._period_ms = period_ms
        self.cycle = 0
        self._known_before = 0
        self.settled = False
        """The view is full, or has all but stopped growing."""
        self._view: dict[NodeId, tuple[Descriptor, int]] = {}
        """Peer -> (its entry, this node's cycle in which the entry had age 0)."""
        self._spoken: dict[NodeId, None] = {}
        """The peers whose entries came from themselves."""
        self._offered: list[NodeId] = []

    def start(self, contacts: Sequence[NodeId]) -> None:
        """Ask all contacts at once. In a network that runs already, their answers fill most of
        the view within one round trip."""
        self.meet(contacts)
        self._context.outbox.set_timer(self.TIMER, 1 + below(self._context.rng, self._period_ms))

    def meet(self, contacts: Sequence[NodeId]) -> None:
        for contact in contacts[: self._view_size]:
            if contact != self._context.me and contact not in self._view:
                self._keep(stranger(contact), 0)
                self._context.outbox.send(contact, Shuffle((self._described.about,), (0,)))

    def wake(self) -> None:
        """Run one cycle of the active thread: shuffle with the oldest entry."""
        self._context.outbox.set_timer(self.TIMER, self._period_ms)
        self.cycle += 1
        known = len(self._view)
        self.settled = known >= self._view_size or 10 * known <= 11 * self._known_before
        self._known_before = known
        if not self._view:
            return
        partner = min(self._view, key=lambda peer: self._view[peer][1])
        self.forget(partner)
        others, ages = self._random_entries(self._shuffle_size - 1)
        self._offered = [entry.node for entry in others]
        message = Shuffle((self._described.about, *others), (0, *ages))
        self._context.outbox.send(partner, message)

    def on_shuffle(self, sender: NodeId, message: Shuffle[Descriptor]) -> None:
        others, ages = self._random_entries(self._shuffle_size)
        answer = ShuffleReply((self._described.about, *others), (0, *ages))
        self._context.outbox.send(sender, answer)
        self._merge(sender, message.entries, message.ages, [entry.node for entry in others])

    def on_shuffle_reply(self, sender: NodeId, message: ShuffleReply[Descriptor]) -> None:
        self._merge(sender, message.entries, message.ages, self._offered)
        self._offered = []

    def forget(self, peer: NodeId) -> None:
        self._view.pop(peer, None)
        self._spoken.pop(peer, None)

    def entries(self) -> Iterable[tuple[NodeId, int]]:
        return [(peer, entry.interest.mask) for peer, (entry, _) in self._view.items()]

    def newest(self, peer: NodeId) -> tuple[Descriptor, int] | None:
        """Return what is known of a peer, and this node's cycle in which that had age 0."""
        return self._view.get(peer)

    def interest_of(self, peer: NodeId) -> Interest | None:
        known = self._view.get(peer)
        return known[0].interest if known else None

    def _random_entries(self, count: int) -> Aged:
        drawn = sample(self._context.rng, list(self._view.values()), count)
        # Nothing can be told of a contact that has not been heard from.
        told = [(entry, self.cycle - born) for entry, born in drawn if entry.version >= 0]
        return [entry for entry, _ in told], [age for _, age in told]

    def _merge(
        self,
        sender: NodeId,
        entries: Iterable[Descriptor],
        ages: Iterable[int],
        offered: list[NodeId],
    ) -> None:
        """Take in new entries: into free places first, then in place of what was offered."""
        me, latest = self._context.me, self._context.outbox.now() + AHEAD_MS
        replaceable = list(reversed(offered))
        for entry, age in zip(entries, ages, strict=False):
            node = entry.node
            if node == me or age > AGE_MAX or (entry.version > latest and node != sender):
                continue
            known = self._view.get(node)
            if known is not None:
                self._renew(sender, entry, age, *known)
                continue
            while len(self._view) >= self._view_size and replaceable:
                self.forget(replaceable.pop())
            if len(self._view) < self._view_size:
                self._keep(entry, age)
                if node == sender:
                    self._spoken[node] = None

    def _renew(
        self, sender: NodeId, entry: Descriptor, age: int, held: Descriptor, born: int
    ) -> None:
        """Take in an entry of a node that is in the view."""
        node = entry.node
        if node == sender:
            self._keep(entry, age)
            self._spoken[node] = None
        elif entry.version == held.version:
            if self.cycle - age > born:
                self._keep(held if node in self._spoken else entry, age)
        elif entry.version > held.version and node not in self._spoken:
            self._keep(entry, age)

    def _keep(self, entry: Descriptor, age: int) -> None:
        self._view[entry.node] = (entry, self.cycle - age)
