"""This is the contract between overlays and hosts: an overlay is a state machine without I/O.

One overlay object is one node's side of one system. A host calls the overlay, and the overlay
answers through its outbox. The host gives it time, a seeded generator and the outbox; an
overlay uses no other clock, no other chance and no other way out. See
docs/write-your-own-overlay.md.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from random import Random
from typing import Any, ClassVar, Protocol

from orbweaver.core.errors import ProtocolError
from orbweaver.core.identifiers import PLACE_OF_NODE, Places
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message, Seal
from orbweaver.core.params import Params
from orbweaver.core.topics import Interest, TopicTable

Timer = Hashable
"""The name of a timer. Setting a timer again under the same name moves it."""


KEPT_BYTES_MAX = 1 << 16
"""Most bytes that an overlay may keep over a restart."""


def check_kept(blob: bytes) -> None:
    if len(blob) > KEPT_BYTES_MAX:
        raise ValueError(
            f"an overlay keeps {len(blob)} bytes; at most {KEPT_BYTES_MAX} are allowed"
        )


class Outbox(Protocol):
    """The only way out of an overlay. All times are whole milliseconds."""

    def now(self) -> int: ...
    def send(self, to: NodeId, message: Message) -> None: ...
    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        """Send the same message to each peer. A host may encode it once for all of them."""
        ...

    def set_timer(self, timer: Timer, delay_ms: int) -> None: ...
    def cancel_timer(self, timer: Timer) -> None: ...
    def deliver(self, message: Carrier) -> None:
        """Give the application the event that a message brought."""
        ...

    def link_up(self, peer: NodeId) -> None: ...
    def link_down(self, peer: NodeId) -> None: ...
    def round_trip_ms(self, peer: NodeId) -> float | None:
        """Return the time in milliseconds, with fractions, that a small message takes to `peer`
        and back, without waiting in queues. None until the host has measured it."""
        ...

    def keep(self, blob: bytes) -> None:
        """Keep at most `KEPT_BYTES_MAX` bytes until the node's next start, in place of what was
        kept before. The next life finds them in `Context.kept`."""
        ...


class InterestView(Protocol):
    """What a node knows of other nodes and their interests (SpiderCast's *interest view*).

    `wanted` is an interest mask. Peers in `exclude` are never returned; None means that
    no known peer fits.
    """

    def interest_of(self, peer: NodeId) -> Interest | None: ...
    def best_match(
        self, wanted: int, exclude: Iterable[NodeId], rng: Random | None
    ) -> NodeId | None:
        """Return the peer that shares the most topics of `wanted`, at least one.

        `rng` breaks ties; without `rng` the lowest id wins, an order that is the same at all
        nodes.
        """
        ...

    def any_match(self, wanted: int, exclude: Iterable[NodeId], rng: Random) -> NodeId | None:
        """Return a random peer that shares at least one topic of `wanted`."""
        ...

    def any_peer(self, exclude: Iterable[NodeId], rng: Random) -> NodeId | None: ...
    def successor(self, topic: Topic, node: NodeId) -> NodeId | None:
        """Return the next node on `topic` after `node` in the order of ids, wrapping round."""
        ...


class Directory(InterestView, Protocol):
    """An oracle that knows every node that is up. Simulators have one, networks do not."""

    def sample(self, fraction: float, rng: Random) -> list[NodeId]: ...

    mask_of: Callable[[int], int]
    """A peer's interest mask, 0 when it is down."""
    links_of: Callable[[NodeId], Collection[NodeId]]
    """The neighbours that a peer counts itself, none when it is down."""


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """What the host gives to the overlay of one node."""

    me: NodeId
    outbox: Outbox
    rng: Random
    topics: TopicTable
    directory: Directory | None = None
    places: Places[NodeId] = dataclasses.field(default_factory=lambda: PLACE_OF_NODE)
    """Where nodes stand on the circle of identifiers."""
    publisher_of: Callable[[Topic], NodeId | None] = lambda topic: None
    """The node that publishes on a topic, or the first among several such nodes (the "master
    publisher" of Rappel, section 2). None where neither the workload nor the configuration names
    one."""
    kept: bytes = b""
    """What the overlay of this node's last life gave to `Outbox.keep`, or nothing."""
    seal: Callable[[], Seal | None] = lambda: None
    """Return the signature that belongs to the events published in this call. None in a
    simulation and where events are not signed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Claims:
    """What a system promises; the contract checks hold it to these claims."""

    noiseless: bool
    """A node receives only events on topics of its own interest."""
    topic_connected: bool
    """The nodes interested in a topic form one connected component."""
    total_delivery: bool
    """Every subscriber gets every event, once the overlay has formed."""
    degree_bound: str = "none"
    """The bound on a node's links, in words, or "none"."""
    always_zero: tuple[str, ...] = ()
    """Entries of `status` that are 0 at every node at all times: counts of what must not be."""


Handler = Callable[[Any, NodeId, Any], object]


class Overlay(ABC):
    """Base of every overlay: class attributes describe it, and hosts call only these methods."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    Params: ClassVar[type[Params]]
    messages: ClassVar[tuple[type[Message], ...]]
    """All message types that the overlay may send, for the codec. Their tags must differ."""
    ON: ClassVar[dict[type[Message], Handler]] = {}
    """Message type -> the function (overlay, sender, message) that handles it. One table on the
    class serves all nodes of a process: it is the fastest and smallest form of dispatch that was
    measured."""

    def __init__(self, context: Context, params: Any) -> None:
        self.context = context
        self.params = params

    @classmethod
    @abstractmethod
    def claims(cls, params: Any) -> Claims: ...

    @classmethod
    def degree_bound(cls, params: Any, interest: Interest) -> int | None:
        """Return the most links that a node with this interest may have, or None if the overlay
        has no bound."""
        return None

    @abstractmethod
    def start(self, contacts: Sequence[NodeId]) -> None:
        """Join the overlay. `contacts` are some nodes that were up a moment ago.

        `start` is called once; calls of `subscribe` may come before it.
        """

    def meet(self, contacts: Sequence[NodeId]) -> None:
        """Take note of more nodes that were up a moment ago, while the overlay runs.

        A network host looks for such nodes from time to time, so that parts of a network that
        lost sight of each other meet again. An overlay without a membership view ignores them.
        """
        return

    @abstractmethod
    def stop(self) -> None:
        """Leave in good order. The host calls no method afterwards."""

    @abstractmethod
    def subscribe(self, topic: Topic) -> None: ...

    @abstractmethod
    def unsubscribe(self, topic: Topic) -> None: ...

    @abstractmethod
    def publish(self, topic: Topic, payload: bytes) -> Event:
        """Publish an event and return it. An event is not delivered to its own publisher.

        The event's epoch is the time of `start`, and its seal is `Context.seal()`.
        """

    def publish_run(self, topic: Topic, payloads: Sequence[bytes]) -> Sequence[Carrier]:
        """Publish events that follow each other, and return carriers of them that have crossed no
        link. An overlay may override this method to send them as a run, in one message."""
        return [Carrier(self.publish(topic, payload), 0, 0) for payload in payloads]

    def receive(self, sender: NodeId, message: Message) -> None:
        """Hand the message to its function in `ON`."""
        on = self.ON.get(type(message))
        if on is None:
            raise ProtocolError(f"{self.name} does not know {type(message).__name__}")
        on(self, sender, message)

    def receive_all(self, sender: NodeId, messages: Sequence[Carrier]) -> None:
        """Handle carriers that came together from one peer, in this order. An overlay may override
        this method where handling them together takes less work."""
        for message in messages:
            self.receive(sender, message)

    @abstractmethod
    def wake(self, timer: Timer) -> None: ...

    @abstractmethod
    def lost(self, peer: NodeId) -> None:
        """Handle the loss of `peer`, which the host can no longer reach."""

    def backlog(self) -> int:
        """Return how many events published here no neighbour has taken yet. While there are
        many, a host that does not want to lose any makes the application wait."""
        return 0

    def towards(self, topic: Topic) -> Collection[NodeId]:
        """Return the neighbours to which this node would send an event on `topic`.

        These neighbours need not subscribe to it. A host that looks for missed events follows
        them to a subscriber. An overlay in which every subscriber has a subscriber among its
        neighbours returns none.
        """
        return ()

    def reach(self, topic: Topic) -> int:
        """Return to how many neighbours an event on `topic`, or a notice of it, would be sent at
        once if it were published now."""
        return len(self.towards(topic))

    @abstractmethod
    def links(self) -> Collection[NodeId]:
        """Return the peers that this node counts as its neighbours now."""

    def status(self) -> dict[str, int]:
        """Return whole numbers, by name, that tell an operator how this node is doing."""
        return {}
