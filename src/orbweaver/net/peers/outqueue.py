"""The queue of messages that wait for one peer.

Messages of a tick are queued as they are, and encoded when they are written, once for all peers
that they go to. Messages that maintain the overlay go before events. Messages *about* events
stay in line with events: an announcement that overtook its event would make the receiver ask
for the event. Both queues are bounded, and the bounds count the events of runs. Without room, the
oldest event is dropped, since neighbours can ask for it again and new events are worth more; of
other messages the newest is dropped, since what it answers has been repeated meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Message
from orbweaver.net.counters import Counters
from orbweaver.net.wire.names import finder
from orbweaver.net.wire.seals import BatchSeal

_IN_LINE = ("data", "repair")
UPKEEP_MAX = 1000
"""Most messages that maintain the overlay and wait for one peer. A node reaches this number only
if the peer asks faster than it reads."""


class Parcel(msgspec.Struct, gc=False, eq=False):
    """A message on its way, shared by all the queues that hold it."""

    message: Message
    size: int = 0
    """Bytes of the payloads."""
    largest: int = 0
    """Bytes of the largest payload."""
    events: int = 1
    """How many events the message carries; 1 for any other message."""
    names: tuple[NodeId, ...] = ()
    """The nodes whose cards the receiver has to have."""
    seal: BatchSeal | None = None
    data: bytes | None = None
    """The encoded message, once it has been written to a peer."""

    def encode(self, encode: Callable[[Message], bytes]) -> bytes:
        self.data = encode(self.message)
        return self.data


def wrap(message: Message) -> Parcel:
    if message.carries:
        carrier: Carrier = message  # type: ignore[assignment]
        seal = carrier.event.seal if isinstance(carrier.event.seal, BatchSeal) else None
        largest = max(len(carrier.event.payload), *map(len, carrier.more), 0)
        return Parcel(message, carrier.size, largest, carrier.count, seal=seal)
    find = finder(type(message))
    return Parcel(message, names=tuple(find(message)) if find is not None else ())


def split(parcel: Parcel, size_max: int) -> tuple[list[Parcel], list[Parcel]]:
    """Return parcels of the single events whose payloads have at most `size_max` bytes, and of
    those with larger ones."""
    carrier: Carrier = parcel.message  # type: ignore[assignment]
    singles = [wrap(single) for single in carrier.singles()]
    return (
        [single for single in singles if single.size <= size_max],
        [single for single in singles if single.size > size_max],
    )


class OutQueue:
    """The messages that wait for one peer, and counts of those that have left."""

    __slots__ = ("bytes", "control", "data", "events", "passed", "sent")

    def __init__(self) -> None:
        self.control: deque[Parcel] = deque()
        self.data: deque[Parcel] = deque()
        self.events = 0
        """How many events, and messages about events, are in `data`."""
        self.bytes = 0
        """Bytes of payload in `data`."""
        self.sent = 0
        self.passed = 0
        """How many events, and messages about events, have left `data`: taken, dropped, or
        cleared."""

    def __len__(self) -> int:
        """Return how many messages wait; a run counts as many as it has events."""
        return len(self.control) + self.events

    def put(
        self, parcel: Parcel, messages_max: int, bytes_max: int, counters: Counters
    ) -> Sequence[Parcel]:
        """Queue a message, and return the events, and messages about events, that it drops."""
        if parcel.message.purpose not in _IN_LINE:
            if len(self.control) >= min(messages_max, UPKEEP_MAX):
                counters.dropped_control += 1
            else:
                self.control.append(parcel)
            return ()
        self._append(parcel)
        if self.events <= messages_max and self.bytes <= bytes_max:
            return ()
        dropped = []
        # The newest stays in any case: a run may be larger than a small queue.
        while len(self.data) > 1 and (self.events > messages_max or self.bytes > bytes_max):
            dropped.append(self._pop())
            counters.dropped_data += dropped[-1].events
        return dropped

    def mark(self) -> int:
        """Return the value of `passed` at which all that is in `data` now has left."""
        return self.passed + self.events

    def clear(self) -> None:
        self.control.clear()
        self.passed += self.events
        self.data.clear()
        self.events = self.bytes = 0

    def drop_larger(self, size_max: int) -> Sequence[Parcel]:
        """Drop events with a payload of more than `size_max` bytes, and return them."""
        dropped: list[Parcel] = []
        if any(parcel.largest > size_max for parcel in self.data):
            waiting, self.data = self.data, deque()
            for parcel in waiting:
                if parcel.largest <= size_max:
                    self.data.append(parcel)
                else:
                    fitting, larger = split(parcel, size_max)
                    self.data += fitting
                    dropped += larger
            self.events -= len(dropped)
            self.passed += len(dropped)
            self.bytes = sum(parcel.size for parcel in self.data)
        return dropped

    def _append(self, parcel: Parcel) -> None:
        self.data.append(parcel)
        self.events += parcel.events
        self.bytes += parcel.size

    def _pop(self) -> Parcel:
        parcel = self.data.popleft()
        self.events -= parcel.events
        self.bytes -= parcel.size
        self.passed += parcel.events
        return parcel

    def take(self, bytes_max: int, encode: Callable[[Message], bytes]) -> list[Parcel]:
        """Take what to write next, encoded: `control`, then `data`, up to about `bytes_max` bytes.
        Messages for which `encode` returns nothing are left out."""
        taken: list[Parcel] = []
        control, data, size = self.control, self.data, 0
        while control and size < bytes_max:
            parcel = control.popleft()
            if encoded := parcel.data or parcel.encode(encode):
                size += len(encoded)
                taken.append(parcel)
        while data and size < bytes_max:
            parcel = self._pop()
            if encoded := parcel.data or parcel.encode(encode):
                size += len(encoded)
                taken.append(parcel)
        self.sent += len(taken)
        return taken
