"""Newscast peer sampling (Jelasity and Montresor, 2004).

Once a cycle a node exchanges its whole view with a random member of it; both put a fresh
entry of themselves among what they send, and keep the youngest of what they then know. Old
entries, of nodes that are gone, are pushed out by young ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.descriptor import AGE_MAX, Aged, Ages, Descriptor, Descriptors


class News(Message, frozen=True, gc=False, tag="news"):
    purpose: ClassVar[Purpose] = "membership"
    entries: Descriptors
    ages: Ages


class NewsReply(Message, frozen=True, gc=False, tag="news-reply"):
    purpose: ClassVar[Purpose] = "membership"
    entries: Descriptors
    ages: Ages


class Newscast:
    """`step` is one cycle; whoever owns it says when."""

    messages = (News, NewsReply)

    def __init__(
        self, context: Context, describe_self: Callable[[], Descriptor], view_size: int
    ) -> None:
        self._context = context
        self._describe_self = describe_self
        self._view_size = view_size
        self._strangers: dict[NodeId, None] = {}
        """Contacts that have not been heard from."""
        self._known: dict[NodeId, Descriptor] = {}
        self._born: dict[NodeId, int] = {}
        """The view: what is known of a node, and when, by our clock, that had age 0; both in
        the same order. In milliseconds, since of a view full of equals always the same would
        be kept."""

    def meet(self, contacts: Sequence[NodeId]) -> None:
        for contact in contacts[: self._view_size]:
            if contact != self._context.me and contact not in self._known:
                self._strangers[contact] = None
                if len(self._strangers) > self._view_size:
                    del self._strangers[next(iter(self._strangers))]
                self._context.outbox.send(contact, News((self._describe_self(),), (0,)))

    def step(self) -> None:
        if contacts := self.contacts():
            partner = pick(self._context.rng, contacts)
            self._context.outbox.send(partner, News(*self._news()))

    def on_news(self, sender: NodeId, message: News) -> None:
        self._context.outbox.send(sender, NewsReply(*self._news()))
        self._merge(message.entries, message.ages)

    def on_news_reply(self, sender: NodeId, message: NewsReply) -> None:
        self._merge(message.entries, message.ages)

    def forget(self, peer: NodeId) -> None:
        self._strangers.pop(peer, None)
        if self._known.pop(peer, None) is not None:
            del self._born[peer]

    def sample(self) -> Aged:
        """Random nodes, each with what is known of it."""
        now = self._context.outbox.now()
        return list(self._known.values()), [now - born for born in self._born.values()]

    def contacts(self) -> list[NodeId]:
        """Everybody in the view, and those not heard from yet."""
        return [*self._known, *self._strangers]

    def _news(self) -> tuple[tuple[Descriptor, ...], tuple[int, ...]]:
        entries, ages = self.sample()
        return (self._describe_self(), *entries), (0, *ages)

    def _merge(self, entries: Sequence[Descriptor], ages: Sequence[int]) -> None:
        me, now, known, born = self._context.me, self._context.outbox.now(), self._known, self._born
        for entry, age in zip(entries, ages, strict=False):
            node = entry.node
            if node == me or age > AGE_MAX:
                continue
            held = known.get(node)
            if held is entry:  # where nothing is encoded, the same object comes round
                if now - age > born[node]:
                    born[node] = now - age
            elif (
                held is None
                or entry.version > held.version
                or (entry.version == held.version and now - age > born[node])
            ):
                known[node] = entry
                born[node] = now - age
        if self._strangers:
            for entry in entries:
                self._strangers.pop(entry.node, None)
        if len(born) > self._view_size:
            self._strangers.clear()
            youngest = sorted(born, key=born.__getitem__, reverse=True)[: self._view_size]
            self._known = {node: known[node] for node in youngest}
            self._born = {node: born[node] for node in youngest}
