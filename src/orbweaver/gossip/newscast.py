"""Newscast peer sampling (Jelasity and Montresor, 2004).

Once a cycle a node exchanges its whole view with a random member of it; both put a fresh
entry of themselves among what they send, and keep the youngest of what they then know. Old
entries, of nodes that are gone, are pushed out by young ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import ClassVar

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.descriptor import AGE_MAX, Descriptor, Descriptors, stranger


class News(Message, frozen=True, gc=False, tag="news"):
    purpose: ClassVar[Purpose] = "membership"
    entries: Descriptors


class NewsReply(Message, frozen=True, gc=False, tag="news-reply"):
    purpose: ClassVar[Purpose] = "membership"
    entries: Descriptors


class Newscast:
    """`step` is one cycle; whoever owns it says when."""

    messages = (News, NewsReply)

    def __init__(
        self, context: Context, describe_self: Callable[[], Descriptor], view_size: int
    ) -> None:
        self._context = context
        self._describe_self = describe_self
        self._view_size = view_size
        self._entries: list[Descriptor] | None = None
        self._view: dict[NodeId, tuple[int, Descriptor]] = {}
        """Peer -> (when, by our clock, its entry had age 0, the entry). In milliseconds, since
        of a view full of equals always the same would be kept."""

    def meet(self, contacts: Sequence[NodeId]) -> None:
        for contact in contacts[: self._view_size]:
            if contact != self._context.me and contact not in self._view:
                self._view[contact] = (self._context.outbox.now(), stranger(contact))
                self._context.outbox.send(contact, News((self._describe_self(),)))

    def step(self) -> None:
        self._entries = None
        if self._view:
            partner = pick(self._context.rng, list(self._view))
            self._context.outbox.send(partner, News(self._news()))

    def on_news(self, sender: NodeId, message: News) -> None:
        self._context.outbox.send(sender, NewsReply(self._news()))
        self._merge(message.entries)

    def on_news_reply(self, sender: NodeId, message: NewsReply) -> None:
        self._merge(message.entries)

    def forget(self, peer: NodeId) -> None:
        self._view.pop(peer, None)
        self._entries = None

    def entries(self) -> list[Descriptor]:
        """The sample: random nodes, each with what is known of it."""
        # Asked for several times in a cycle, and made anew when something has changed.
        if self._entries is None:
            now = self._context.outbox.now()
            self._entries = [
                Descriptor(e.node, e.interest, e.version, now - born)
                for born, e in self._view.values()
                if e.version >= 0
            ]
        return self._entries

    def contacts(self) -> list[NodeId]:
        """Everybody in the view, also those not heard from yet."""
        return list(self._view)

    def _news(self) -> tuple[Descriptor, ...]:
        return (self._describe_self(), *self.entries())

    def _merge(self, entries: Iterable[Descriptor]) -> None:
        self._entries = None
        me, now, view = self._context.me, self._context.outbox.now(), self._view
        for entry in entries:
            if entry.node == me or entry.age > AGE_MAX:
                continue
            born = now - entry.age
            known = view.get(entry.node)
            if (
                known is None
                or entry.version > known[1].version
                or (entry.version == known[1].version and born > known[0])
            ):
                view[entry.node] = (born, entry)
        if len(view) > self._view_size:
            youngest = sorted(view.values(), key=_birth, reverse=True)[: self._view_size]
            self._view = {held[1].node: held for held in youngest}


_birth = itemgetter(0)
