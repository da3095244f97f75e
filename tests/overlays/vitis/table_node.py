"""A routing table without an overlay round it, whose choice is easy to foresee."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Aged, Descriptor
from orbweaver.gossip.messages import Exchange, ExchangeReply
from orbweaver.overlays.vitis.messages import Goodbye, Profile, Proposal
from orbweaver.overlays.vitis.table import Change, Choice, Peer, RoutingTable, TableParams
from tests.gossip.fake_outbox import Clock, FakeOutbox, make_context, own_interest

TABLE = TopicTable("abc")
CYCLE_MS = 1000
AGE_MAX_MS = 4 * CYCLE_MS


def entry(node: int, topics: str = "ab", version: int = 0) -> Descriptor:
    return Descriptor(NodeId(node), TABLE.interest(topics), version)


def aged(*entries: tuple[Descriptor, int]) -> Aged:
    return [e for e, _ in entries], [age for _, age in entries]


def told(kind: type[Exchange | ExchangeReply], *entries: tuple[Descriptor, int]) -> Any:
    return kind(tuple(e for e, _ in entries), tuple(age for _, age in entries))


def profile(
    sender: int, chosen: bool, topics: str | None = "ab", version: int = 1, *proposals: Proposal
) -> Profile:
    return Profile(chosen, entry(sender, topics, version) if topics else None, proposals)


class NearestByNumber(Choice):
    """Nodes stand in a row: the nearest in it are chosen."""

    def __init__(self, me: int, size: int) -> None:
        self._me = me
        self._size = size
        self.dull: set[int] = set()
        """Nodes that the filter takes to be no improvement."""

    def choose(
        self, candidates: Mapping[NodeId, Descriptor], current: Collection[NodeId]
    ) -> Collection[NodeId]:
        return sorted(candidates, key=lambda node: abs(node - self._me))[: self._size]

    def improving(self, entries: list[Descriptor]) -> list[Descriptor]:
        return [e for e in entries if e.node not in self.dull]


class Sampling:
    """Stands for peer sampling: its view is what the test says."""

    def __init__(self) -> None:
        self.view: Aged = ([], [])
        self.met: list[NodeId] = []
        self.forgotten: list[NodeId] = []

    def sample(self) -> Aged:
        return self.view

    def contacts(self) -> list[NodeId]:
        return [entry.node for entry in self.view[0]]

    def meet(self, contacts: Iterable[NodeId]) -> None:
        self.met += contacts

    def forget(self, peer: NodeId) -> None:
        self.forgotten.append(peer)


class TableNode:
    """Node `me`, which wants a and b and has room for two neighbours unless told otherwise."""

    def __init__(
        self, me: int = 5, size: int = 2, callers_max: int = 0, clock: Clock | None = None
    ) -> None:
        self.outbox = FakeOutbox(clock)
        self.sampling: Any = Sampling()
        self.choice = NearestByNumber(me, size)
        self.interest = own_interest(TABLE, "ab", me)
        self.changes: list[tuple[Change, int]] = []
        self.table = RoutingTable(
            make_context(me, self.outbox, TABLE),
            TableParams(cycle_ms=CYCLE_MS, age_max=AGE_MAX_MS // CYCLE_MS),
            self.interest,
            self.sampling,
            self.choice,
            lambda peer, change: self.changes.append((change, peer.node)),
            callers_max,
        )
        self.table.interest_changed()

    def chosen(self) -> set[int]:
        return {peer.node for peer in self.table.peers.values() if peer.chosen}

    def take_up(self, *nodes: int) -> None:
        """Choose among these nodes, heard just now, and the neighbours."""
        self.introduce(self.table.refresh([(entry(n), 0) for n in nodes]))

    def called_by(self, *nodes: int) -> None:
        """Be put into the tables of these nodes."""
        for node in nodes:
            self.receive(node, profile(node, True))

    def introduce(self, peers: Iterable[Peer]) -> None:
        for peer in peers:
            self.table.introduce(peer)

    def receive(self, sender: int, message: Message) -> None:
        """As an overlay does that adds nothing of its own."""
        node = NodeId(sender)
        if isinstance(message, Exchange):
            self.introduce(self.table.on_exchange_rt(node, message))
        elif isinstance(message, ExchangeReply):
            self.introduce(self.table.consider(message.entries, message.ages))
        elif isinstance(message, Goodbye):
            self.table.on_goodbye(node, message)
        else:
            assert isinstance(message, Profile)
            caller = self.table.accept_caller(node, message)
            if caller is not None:
                self.introduce([caller])
            peer = self.table.on_profile(node, message)
            if peer is not None:
                self.table.end_half_link(peer)

    def sent(self, kind: type[Message]) -> list[tuple[int, Any]]:
        """Return the messages of one kind that were sent since the last call."""
        return [(to, message) for to, message in self.outbox.take() if type(message) is kind]
