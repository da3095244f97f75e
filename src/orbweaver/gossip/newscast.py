"""Newscast samples peers (Jelasity and Montresor, 2004).

Once a cycle a node exchanges its whole view with a random member of it; both put a fresh
entry of themselves among what they send, and keep the youngest of what they then know. Old
entries, of nodes that are gone, are pushed out by young ones.

Ours: what a node says of itself counts more than what others say of it, since entries are not
signed. While an entry is in the view that came from its node itself, no other replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.descriptor import AGE_MAX, AHEAD_MS, Aged, Described, Descriptor
from orbweaver.gossip.messages import News, NewsReply


class Newscast:
    """Keeps the view of one node. The owner calls `step` once a cycle."""

    messages = (News, NewsReply)

    def __init__(self, context: Context, me: Described, view_size: int) -> None:
        self._context = context
        self._described = me
        self._view_size = view_size
        self._strangers: dict[NodeId, None] = {}
        """Contacts that have not been heard from yet."""
        self._known: dict[NodeId, Descriptor] = {}
        self._born: dict[NodeId, int] = {}
        """The view, in two maps of the same order: what is known of a node, and the time on this
        node's clock at which that had age 0. In milliseconds, because with coarser ages the same
        ones among many of equal age would always be kept."""

        self._spoken: dict[NodeId, None] = {}
        """The nodes in the view whose entries came from themselves."""

    def meet(self, contacts: Sequence[NodeId]) -> None:
        for contact in contacts[: self._view_size]:
            if contact != self._context.me and contact not in self._known:
                self._strangers[contact] = None
                if len(self._strangers) > self._view_size:
                    del self._strangers[next(iter(self._strangers))]
                self._context.outbox.send(contact, News((self._described.about,), (0,)))

    def step(self) -> None:
        if contacts := self.contacts():
            partner = pick(self._context.rng, contacts)
            self._context.outbox.send(partner, News(*self._news()))

    def on_news(self, sender: NodeId, message: News[Descriptor]) -> None:
        self._context.outbox.send(sender, NewsReply(*self._news()))
        self._merge(sender, message.entries, message.ages)

    def on_news_reply(self, sender: NodeId, message: NewsReply[Descriptor]) -> None:
        self._merge(sender, message.entries, message.ages)

    def forget(self, peer: NodeId) -> None:
        self._strangers.pop(peer, None)
        if self._known.pop(peer, None) is not None:
            del self._born[peer]
            self._spoken.pop(peer, None)

    def sample(self) -> Aged:
        """Return the view: random nodes, with what is known of each, and the ages of that."""
        now = self._context.outbox.now()
        return list(self._known.values()), [now - born for born in self._born.values()]

    def entries(self) -> Iterable[Descriptor]:
        """Return the view without the ages."""
        return self._known.values()

    def contacts(self) -> list[NodeId]:
        """Return the nodes in the view, and the contacts not heard from yet."""
        return [*self._known, *self._strangers]

    def _news(self) -> tuple[tuple[Descriptor, ...], tuple[int, ...]]:
        entries, ages = self.sample()
        return (self._described.about, *entries), (0, *ages)

    def _merge(self, sender: NodeId, entries: Sequence[Descriptor], ages: Sequence[int]) -> None:
        me, now, known, born = self._context.me, self._context.outbox.now(), self._known, self._born
        spoken = self._spoken
        for entry, age in zip(entries, ages, strict=False):
            node = entry.node
            if node == me or age > AGE_MAX:
                continue
            held = known.get(node)
            if node == sender:
                known[node], born[node], spoken[node] = entry, now - age, None
            elif held is not None and entry.version == held.version:
                if now - age > born[node]:
                    born[node] = now - age
                    if node not in spoken:
                        known[node] = entry
            elif entry.version <= now + AHEAD_MS and (
                held is None or (entry.version > held.version and node not in spoken)
            ):
                known[node], born[node] = entry, now - age
        if self._strangers:
            for entry in entries:
                self._strangers.pop(entry.node, None)
        if len(born) > self._view_size:
            self._strangers.clear()
            youngest = sorted(born, key=born.__getitem__, reverse=True)[: self._view_size]
            self._known = {node: known[node] for node in youngest}
            self._born = {node: born[node] for node in youngest}
            self._spoken = {node: None for node in youngest if node in spoken}
