"""Fakes for tests without a simulator: an outbox that remembers, a directory that is a
dict, and a pump that carries messages and fires timers, one at a time, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message
from orbweaver.core.overlay import Context, Timer
from orbweaver.core.seeds import generator, sample
from orbweaver.core.topics import Interest, TopicTable
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.views import ScannedView


class Clock:
    """Shared by the outboxes of one test; it moves when the test says so."""

    def __init__(self) -> None:
        self.now = 0


class FakeOutbox:
    """Implements `Outbox` and remembers what it was told."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.sent: list[tuple[NodeId, Message]] = []
        self.timers: dict[Timer, int] = {}
        """Timer -> the time at which it is due."""
        self.delivered: list[tuple[Event, int]] = []
        self.link_changes: list[tuple[str, NodeId]] = []
        self.links: set[NodeId] = set()
        self.round_trips: dict[NodeId, float] = {}
        self.kept = b""

    def now(self) -> int:
        return self.clock.now

    def send(self, to: NodeId, message: Message) -> None:
        self.sent.append((to, message))

    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        self.sent += [(peer, message) for peer in peers]

    def set_timer(self, timer: Timer, delay_ms: int) -> None:
        self.timers[timer] = self.clock.now + delay_ms

    def cancel_timer(self, timer: Timer) -> None:
        self.timers.pop(timer, None)

    def deliver(self, message: Carrier) -> None:
        self.delivered.append((message.event, message.hops))

    def link_up(self, peer: NodeId) -> None:
        assert peer not in self.links, f"link to {peer} came up twice"
        self.links.add(peer)
        self.link_changes.append(("up", peer))

    def link_down(self, peer: NodeId) -> None:
        self.links.remove(peer)
        self.link_changes.append(("down", peer))

    def round_trip_ms(self, peer: NodeId) -> float | None:
        return self.round_trips.get(peer)

    def keep(self, blob: bytes) -> None:
        self.kept = blob

    def take(self) -> list[tuple[NodeId, Message]]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent


class FakeDirectory(ScannedView):
    """Knows whoever is put into `interests`."""

    def __init__(self, topics: TopicTable, interests: dict[int, Iterable[Topic]]) -> None:
        super().__init__(topics)
        self.interests = {NodeId(n): topics.interest(names) for n, names in interests.items()}
        self.links: dict[NodeId, tuple[NodeId, ...]] = {}

    def entries(self) -> list[tuple[NodeId, int]]:
        return [(node, interest.mask) for node, interest in self.interests.items()]

    def interest_of(self, peer: NodeId) -> Interest | None:
        return self.interests.get(peer)

    def sample(self, fraction: float, rng: Random) -> list[NodeId]:
        return sample(rng, list(self.interests), round(fraction * len(self.interests)))

    def links_of(self, node: NodeId) -> Iterable[NodeId]:
        return self.links.get(node, ())

    def mask_of(self, node: int) -> int:
        interest = self.interests.get(NodeId(node))
        return interest.mask if interest else 0


def make_context(
    me: int,
    outbox: FakeOutbox,
    topics: TopicTable,
    directory: FakeDirectory | None = None,
    seed: int = 0,
) -> Context:
    return Context(NodeId(me), outbox, generator(seed, me), topics, directory)


class Pump:
    """A network without delay: what was sent first arrives first.

    `nodes` maps each id to its outbox, its receive and its wake. A message to nobody, or
    one for which `lost(sender, to, message)` is true, vanishes.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.nodes: dict[int, tuple[FakeOutbox, Callable[..., Any], Callable[..., Any]]] = {}
        self.lost: Callable[[int, int, Message], bool] = lambda sender, to, message: False
        self.carried: list[tuple[int, int, Message]] = []

    def settle(self, limit: int = 100_000) -> None:
        """Carry messages until none is under way."""
        for _ in range(limit):
            batch = [(n, *sent) for n, node in self.nodes.items() for sent in node[0].take()]
            if not batch:
                return
            for sender, to, message in batch:
                if to in self.nodes and not self.lost(sender, to, message):
                    self.carried.append((sender, to, message))
                    self.nodes[to][1](sender, message)
        raise AssertionError("the messages do not come to an end")

    def run(self, until_ms: int) -> None:
        """Fire the timers that are due up to then, settling after each."""
        self.settle()
        while True:
            due = [
                (time, n, timer)
                for n, node in self.nodes.items()
                for timer, time in node[0].timers.items()
                if time <= until_ms
            ]
            if not due:
                break
            time, n, timer = min(due, key=lambda d: d[:2])
            self.clock.now = max(self.clock.now, time)
            del self.nodes[n][0].timers[timer]
            self.nodes[n][2](timer)
            self.settle()
        self.clock.now = until_ms


def own_interest(table: TopicTable, topics: Iterable[str], me: int = 0) -> OwnInterest:
    """The interest of a node that has subscribed to these topics."""
    interest = OwnInterest(NodeId(me), table)
    for topic in topics:
        interest.subscribe(topic, 0)
    interest.start(0)
    return interest
