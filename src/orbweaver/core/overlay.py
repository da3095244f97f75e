"""The contract: an overlay is a state machine without I/O.

One object is one node's side of one system. A host calls it, and it answers through its
outbox; the host gives it time, a seeded generator and an outbox, and it uses no other
source of either. See docs/write-your-own-overlay.md.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from random import Random
from typing import Any, ClassVar, Protocol

from orbweaver.core.identifiers import PLACE_OF_NODE, Places
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message
from orbweaver.core.params import Params
from orbweaver.core.topics import Interest, TopicTable

Timer = Hashable
"""What a timer is called; setting a timer again under the same name moves it."""


class Outbox(Protocol):
    """The one door out. All times are whole milliseconds."""

    def now(self) -> int: ...
    def send(self, to: NodeId, message: Message) -> None: ...
    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        """The same to each; a host need not encode it more than once."""
        ...

    def set_timer(self, timer: Timer, delay_ms: int) -> None: ...
    def cancel_timer(self, timer: Timer) -> None: ...
    def deliver(self, message: Carrier) -> None:
        """Give the application the event that a message brought."""
        ...

    def link_up(self, peer: NodeId) -> None: ...
    def link_down(self, peer: NodeId) -> None: ...


class InterestView(Protocol):
    """What a node knows of other nodes and their interests: the paper's *interest view*.

    `wanted` is an interest mask. Peers in `exclude` are never returned; None means that
    no known peer fits.
    """

    def interest_of(self, peer: NodeId) -> Interest | None: ...
    def best_match(
        self, wanted: int, exclude: Iterable[NodeId], rng: Random | None
    ) -> NodeId | None:
        """Return the peer with most of `wanted`, which is at least one topic.

        Ties are broken by `rng`, or without one in favour of the lowest id, an order that
        is common to all nodes.
        """
        ...

    def any_match(self, wanted: int, exclude: Iterable[NodeId], rng: Random) -> NodeId | None:
        """A random peer with at least one topic of `wanted`."""
        ...

    def any_peer(self, exclude: Iterable[NodeId], rng: Random) -> NodeId | None: ...
    def successor(self, topic: Topic, node: NodeId) -> NodeId | None:
        """The next node on `topic` after `node` in the order of ids, wrapping round."""
        ...


class Directory(InterestView, Protocol):
    """An oracle that knows every node that is up. Simulators have one, networks do not."""

    def sample(self, fraction: float, rng: Random) -> list[NodeId]: ...

    mask_of: Callable[[int], int]
    """A peer's interest mask, 0 when it is down."""


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """What the host gives to one node."""

    me: NodeId
    outbox: Outbox
    rng: Random
    topics: TopicTable
    directory: Directory | None = None
    places: Places[NodeId] = dataclasses.field(default_factory=lambda: PLACE_OF_NODE)
    """Where nodes stand on the circle of identifiers."""


@dataclasses.dataclass(frozen=True, slots=True)
class Claims:
    """What a system promises, for the checks to hold it to."""

    noiseless: bool
    """A node receives only events on topics of its own interest."""
    topic_connected: bool
    """The nodes interested in a topic form one connected component."""
    total_delivery: bool
    """Every subscriber gets every event, once the overlay has formed."""
    degree_bound: str = "none"
    """The bound on a node's links, in words, or "none"."""


class Overlay(ABC):
    """Base of every overlay. Class attributes describe it; hosts only use these methods."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    Params: ClassVar[type[Params]]
    messages: ClassVar[tuple[type[Message], ...]]
    """All messages it may send, for the codec. Tags must differ."""

    def __init__(self, context: Context, params: Any) -> None:
        self.context = context
        self.params = params

    @classmethod
    @abstractmethod
    def claims(cls, params: Any) -> Claims: ...

    @classmethod
    def degree_bound(cls, params: Any, interest: Interest) -> int | None:
        """The most links that a node with this interest may have, or None."""
        return None

    @abstractmethod
    def start(self, contacts: Sequence[NodeId]) -> None:
        """Join. `contacts` are some nodes that were up a moment ago. Called once, and
        topics may have been subscribed to before."""

    def meet(self, contacts: Sequence[NodeId]) -> None:
        """More nodes that were up a moment ago, while the overlay runs: a network host looks
        for some now and then, so that parts of a network that lost sight of each other find
        together again. Without views of other nodes there is nothing to do."""
        return

    @abstractmethod
    def stop(self) -> None:
        """Leave in good order; nothing is called afterwards."""

    @abstractmethod
    def subscribe(self, topic: Topic) -> None: ...

    @abstractmethod
    def unsubscribe(self, topic: Topic) -> None: ...

    @abstractmethod
    def publish(self, topic: Topic, payload: bytes) -> Event:
        """Publish and return the event. It is not delivered to its own publisher."""

    @abstractmethod
    def receive(self, sender: NodeId, message: Message) -> None: ...

    def receive_all(self, sender: NodeId, messages: Sequence[Carrier]) -> None:
        """Events that came from one peer together, in this order. An overlay for which that
        is less work may take them together."""
        for message in messages:
            self.receive(sender, message)

    @abstractmethod
    def wake(self, timer: Timer) -> None: ...

    @abstractmethod
    def lost(self, peer: NodeId) -> None:
        """The host has found out that `peer` cannot be reached."""

    def backlog(self) -> int:
        """Events published here a moment ago that no neighbour has taken yet. A host that
        does not want to lose any lets the application wait while there are many."""
        return 0

    def towards(self, topic: Topic) -> Collection[NodeId]:
        """Return the neighbours to which an event on `topic` goes from this node, which need
        not subscribe to it. A host that looks for missed events follows them to a subscriber.
        An overlay in which every subscriber has a subscriber among its neighbours needs none."""
        return ()

    @abstractmethod
    def links(self) -> Collection[NodeId]:
        """The peers this node counts as its neighbours now."""

    def status(self) -> dict[str, int]:
        """Whole numbers that tell an operator how this node is doing, by name."""
        return {}
