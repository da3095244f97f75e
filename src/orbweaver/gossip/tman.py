"""T-Man: a topology that emerges from gossip (Jelasity and Babaoglu; Vitis, Algorithms 2-3).

Once a cycle a node sends all candidates it knows, its routing table and a random sample, to
a random neighbour, gets that one's in return, and selects its table anew from both. What is
a good neighbour is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import ClassVar

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.gossip.descriptor import Descriptor


class Exchange(Message, frozen=True, gc=False, tag="exchange"):
    purpose: ClassVar[Purpose] = "membership"
    buffer: tuple[Descriptor, ...]


class ExchangeReply(Message, frozen=True, gc=False, tag="exchange-reply"):
    purpose: ClassVar[Purpose] = "membership"
    buffer: tuple[Descriptor, ...]


class TMan:
    messages = (Exchange, ExchangeReply)

    def __init__(
        self,
        context: Context,
        describe_self: Callable[[], Descriptor],
        table: Callable[[], Collection[Descriptor]],
        sample: Callable[[], Iterable[Descriptor]],
        tempting: Callable[[Iterable[Descriptor]], bool],
        refresh: Callable[[dict[NodeId, Descriptor]], None],
        age_max: int,
    ) -> None:
        """`table` gives the routing table; `refresh` is told the candidates, of whom it
        makes a new one, but only if any of those that are new to it are `tempting`. Entries
        older than `age_max` (ms) are of nodes that have gone."""
        self._context = context
        self._describe_self = describe_self
        self._table = table
        self._sample = sample
        self._tempting = tempting
        self._refresh = refresh
        self._age_max = age_max

    def step(self, others: Iterable[NodeId] = ()) -> None:
        """The active thread. `others` are who to ask while the table is empty."""
        table = self._table()
        partners = [entry.node for entry in table] or list(others)
        if partners:
            message = Exchange((self._describe_self(), *self._buffer(table).values()))
            self._context.outbox.send(pick(self._context.rng, partners), message)

    def on_exchange(self, sender: NodeId, message: Exchange) -> None:
        """The passive thread."""
        buffer = self._buffer(self._table())
        reply = ExchangeReply((self._describe_self(), *buffer.values()))
        self._context.outbox.send(sender, reply)
        self._merge(message.buffer)

    def on_exchange_reply(self, sender: NodeId, message: ExchangeReply) -> None:
        # The sample is looked at here: once a cycle is enough.
        self._merge(message.buffer, self._sample())

    def _buffer(self, table: Collection[Descriptor]) -> dict[NodeId, Descriptor]:
        """The sample and the table; of what is in both, what the table knows."""
        buffer = {entry.node: entry for entry in self._sample() if entry.age <= self._age_max}
        for entry in table:
            buffer[entry.node] = entry
        return buffer

    def _merge(self, received: Iterable[Descriptor], sample: Iterable[Descriptor] = ()) -> None:
        age_max, me = self._age_max, self._context.me
        young = [e for e in received if e.age <= age_max and e.node != me]
        if not self._tempting(young) and not self._tempting(sample):
            return  # as nearly always, once the overlay has formed
        buffer = self._buffer(self._table())
        for entry in young:
            known = buffer.get(entry.node)
            if (
                known is None
                or entry.version > known.version
                or (entry.version == known.version and entry.age < known.age)
            ):
                buffer[entry.node] = entry
        self._refresh(buffer)
