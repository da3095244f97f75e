"""T-Man: a topology that emerges from gossip (Jelasity and Babaoglu; Vitis, Algorithms 2-3).

Once a cycle a node sends all candidates it knows, its neighbours and a random sample, to a
random neighbour, gets that one's in return, and selects its table anew from both. What is a
good neighbour is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.descriptor import Aged, Ages, Descriptor, Descriptors


class Exchange(Message, frozen=True, gc=False, tag="exchange"):
    purpose: ClassVar[Purpose] = "membership"
    entries: Descriptors
    ages: Ages


class ExchangeReply(Message, frozen=True, gc=False, tag="exchange-reply"):
    purpose: ClassVar[Purpose] = "membership"
    entries: Descriptors
    ages: Ages


class TMan:
    messages = (Exchange, ExchangeReply)

    def __init__(
        self,
        context: Context,
        describe_self: Callable[[], Descriptor],
        neighbors: Callable[[], Aged],
        sample: Callable[[], Aged],
        tempting: Callable[[Sequence[Descriptor]], Collection[Descriptor]],
        refresh: Callable[[Iterable[tuple[Descriptor, int]]], None],
        age_max: int,
    ) -> None:
        """`tempting` says who might find a place in the routing table, and `refresh` is told
        these and their ages, to choose it anew. Entries older than `age_max` (ms) are of nodes
        that have gone."""
        self._context = context
        self._describe_self = describe_self
        self._neighbors = neighbors
        self._sample = sample
        self._tempting = tempting
        self._refresh = refresh
        self._age_max = age_max

    def step(self, others: Iterable[NodeId] = ()) -> None:
        """The active thread. `others` are who to ask while there are no neighbours."""
        # The sample is looked at here: once a cycle is enough.
        sample = self._sample()
        self._merge(*sample)
        neighbors = self._neighbors()
        partners = [entry.node for entry in neighbors[0]] or list(others)
        if partners:
            message = Exchange(*self._buffer(neighbors, sample))
            self._context.outbox.send(pick(self._context.rng, partners), message)

    def on_exchange(self, sender: NodeId, message: Exchange) -> None:
        """The passive thread."""
        reply = ExchangeReply(*self._buffer(self._neighbors(), self._sample()))
        self._context.outbox.send(sender, reply)
        self._merge(message.entries, message.ages)

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply) -> None:
        self._merge(message.entries, message.ages)

    def tell(self, peer: NodeId, entries: Iterable[Descriptor], ages: Iterable[int]) -> None:
        """Out of turn, of some who may be good neighbours to a peer."""
        self._context.outbox.send(peer, ExchangeReply(tuple(entries), tuple(ages)))

    def _buffer(
        self, neighbors: Aged, sample: Aged
    ) -> tuple[tuple[Descriptor, ...], tuple[int, ...]]:
        """Oneself, neighbours and sample; of who is in both, what is known as a neighbour."""
        entries, ages = [self._describe_self(), *neighbors[0]], [0, *neighbors[1]]
        held = {entry.node for entry in neighbors[0]}
        for entry, age in zip(*sample, strict=True):
            if age <= self._age_max and entry.node not in held:
                entries.append(entry)
                ages.append(age)
        return tuple(entries), tuple(ages)

    def _merge(self, entries: Sequence[Descriptor], ages: Sequence[int]) -> None:
        # Hardly anybody tempts, once the overlay has formed; so that is asked first.
        tempting = {id(entry) for entry in self._tempting(entries)}
        if not tempting:
            return
        fresh: dict[NodeId, tuple[Descriptor, int]] = {}
        for entry, age in zip(entries, ages, strict=False):
            if id(entry) not in tempting or age > self._age_max or entry.node == self._context.me:
                continue
            known = fresh.get(entry.node)
            if known is None or (entry.version, -age) > (known[0].version, -known[1]):
                fresh[entry.node] = (entry, age)
        if fresh:
            self._refresh(fresh.values())
