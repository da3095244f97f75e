"""T-Man: a topology that emerges from gossip (Jelasity and Babaoglu; Vitis, Algorithms 2-3).

Once a cycle a node sends all candidates it knows, its neighbours and a random sample, to a
random neighbour, gets that one's in return, and selects its table anew from both. What is a
good neighbour is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import ClassVar

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.descriptor import Descriptor, Descriptors


class Exchange(Message, frozen=True, gc=False, tag="exchange"):
    purpose: ClassVar[Purpose] = "membership"
    buffer: Descriptors


class ExchangeReply(Message, frozen=True, gc=False, tag="exchange-reply"):
    purpose: ClassVar[Purpose] = "membership"
    buffer: Descriptors


class TMan:
    messages = (Exchange, ExchangeReply)

    def __init__(
        self,
        context: Context,
        describe_self: Callable[[], Descriptor],
        neighbors: Callable[[], Collection[Descriptor]],
        sample: Callable[[], Iterable[Descriptor]],
        tempting: Callable[[Iterable[Descriptor]], list[Descriptor]],
        refresh: Callable[[Iterable[Descriptor]], None],
        age_max: int,
    ) -> None:
        """`tempting` says who might find a place in the routing table, and `refresh` is told
        these, to choose it anew. Entries older than `age_max` (ms) are of nodes that have
        gone."""
        self._context = context
        self._describe_self = describe_self
        self._neighbors = neighbors
        self._sample = sample
        self._tempting = tempting
        self._refresh = refresh
        self._age_max = age_max

    def step(self, others: Iterable[NodeId] = ()) -> None:
        """The active thread. `others` are who to ask while there are no neighbours."""
        neighbors = self._neighbors()
        partners = [entry.node for entry in neighbors] or list(others)
        if partners:
            message = Exchange(self._buffer(neighbors))
            self._context.outbox.send(pick(self._context.rng, partners), message)

    def on_exchange(self, sender: NodeId, message: Exchange) -> None:
        """The passive thread."""
        reply = ExchangeReply(self._buffer(self._neighbors()))
        self._context.outbox.send(sender, reply)
        self._merge(message.buffer)

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply) -> None:
        # The sample is looked at here: once a cycle is enough.
        self._merge(message.buffer, self._sample())

    def _buffer(self, neighbors: Iterable[Descriptor]) -> tuple[Descriptor, ...]:
        """Oneself, neighbours and sample; of who is in both, what is known as a neighbour."""
        buffer = {entry.node: entry for entry in self._sample() if entry.age <= self._age_max}
        for entry in neighbors:
            buffer[entry.node] = entry
        return (self._describe_self(), *buffer.values())

    def _merge(self, received: Iterable[Descriptor], sample: Iterable[Descriptor] = ()) -> None:
        age_max, me = self._age_max, self._context.me
        fresh: dict[NodeId, Descriptor] = {}
        # Hardly anybody tempts, once the overlay has formed; so that is asked first.
        for entry in (*self._tempting(received), *self._tempting(sample)):
            if entry.age > age_max or entry.node == me:
                continue
            known = fresh.get(entry.node)
            if known is None or (entry.version, -entry.age) > (known.version, -known.age):
                fresh[entry.node] = entry
        if fresh:
            self._refresh(fresh.values())
