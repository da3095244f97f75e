"""The queue of messages that wait for one peer.

Messages of a tick are queued as they are, and encoded when they are written, once for all peers
that they go to. Messages that maintain the overlay go before events. Messages *about* events
stay in line with events: an announcement that overtook its event would make the receiver ask
for the event. Both queues are bounded. Without room, the oldest event is dropped, since
neighbours can ask for it again and new events are worth more; of other messages the newest is
dropped, since what it answers has been repeated meanwhile.
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
    """Bytes of the payload."""
    names: tuple[NodeId, ...] = ()
    """The nodes whose cards the receiver has to have."""
    data: bytes | None = None
    """The encoded message; None until the end of the tick, when seals have been signed."""
    seal: BatchSeal | None = None

    def encode(self, encode: Callable[[Message], bytes]) -> bytes:
        message = self.message
        if message.carries:
            carrier: Carrier = message  # type: ignore[assignment]
            seal = carrier.event.seal
            if isinstance(seal, BatchSeal):
                self.seal = seal
        self.data = encode(message)
        return self.data


def wrap(message: Message) -> Parcel:
    if message.carries:
        carrier: Carrier = message  # type: ignore[assignment]
        return Parcel(message, len(carrier.event.payload))
    find = finder(type(message))
    return Parcel(message, 0, tuple(find(message)) if find is not None else ())


class OutQueue:
    """The messages that wait for one peer, and counts of those that have left."""

    __slots__ = ("bytes", "control", "data", "passed", "sent")

    def __init__(self) -> None:
        self.control: deque[Parcel] = deque()
        self.data: deque[Parcel] = deque()
        self.bytes = 0
        """Bytes of payload in `data`."""
        self.sent = 0
        self.passed = 0
        """How many messages have left `data`: taken, dropped, or cleared."""

    def __len__(self) -> int:
        return len(self.control) + len(self.data)

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
        self.data.append(parcel)
        self.bytes += parcel.size
        if len(self.data) <= messages_max and self.bytes <= bytes_max:
            return ()
        dropped = []
        while len(self.data) > messages_max or self.bytes > bytes_max:
            dropped.append(self.data.popleft())
            self.bytes -= dropped[-1].size
            self.passed += 1
            counters.dropped_data += 1
        return dropped

    def mark(self) -> int:
        """Return the value of `passed` at which all messages that are in `data` now have left."""
        return self.passed + len(self.data)

    def clear(self) -> None:
        self.control.clear()
        self.passed += len(self.data)
        self.data.clear()
        self.bytes = 0

    def drop_larger(self, size_max: int) -> Sequence[Parcel]:
        """Drop events with a payload of more than `size_max` bytes, and return them."""
        dropped = [parcel for parcel in self.data if parcel.size > size_max]
        if dropped:
            kept = [parcel for parcel in self.data if parcel.size <= size_max]
            self.passed += len(dropped)
            self.data = deque(kept)
            self.bytes = sum(parcel.size for parcel in kept)
        return dropped

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
            parcel = data.popleft()
            self.bytes -= parcel.size
            self.passed += 1
            if encoded := parcel.data or parcel.encode(encode):
                size += len(encoded)
                taken.append(parcel)
        self.sent += len(taken)
        return taken
