"""What waits for one peer.

Messages of a tick are queued as they are and encoded when they are written, once however
many peers they go to. Upkeep of the overlay goes before events; what is said *about* events
stays in line with them, or an announcement would overtake what it announces and make the
receiver ask for it. Both queues are bounded: of events the oldest goes when there is no
room, since neighbours can ask for it again and news are worth most when they are new; of
upkeep the newest, since what it answers has been repeated meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Message
from orbweaver.net.counters import Counters
from orbweaver.net.naming import finder
from orbweaver.net.seals import BatchSeal

_IN_LINE = ("data", "repair")
UPKEEP_MAX = 1000
"""Messages of upkeep that wait for one peer: no node has that many, unless the peer asks
faster than it reads."""


class Parcel(msgspec.Struct, gc=False, eq=False):
    """A message on its way, shared by all the queues it is in."""

    message: Message
    size: int = 0
    """Of the payload."""
    names: tuple[NodeId, ...] = ()
    """Nodes that the receiver has to have the cards of."""
    data: bytes | None = None
    """Encoded; not before the end of the tick, when seals have been signed."""
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
    __slots__ = ("bytes", "control", "data", "passed", "sent")

    def __init__(self) -> None:
        self.control: deque[Parcel] = deque()
        self.data: deque[Parcel] = deque()
        self.bytes = 0
        """Payload in `data`."""
        self.sent = 0
        self.passed = 0
        """Messages that have left `data`: taken, dropped, or cleared with the rest."""

    def __len__(self) -> int:
        return len(self.control) + len(self.data)

    def put(self, parcel: Parcel, messages_max: int, bytes_max: int, counters: Counters) -> None:
        if parcel.message.purpose not in _IN_LINE:
            if len(self.control) >= min(messages_max, UPKEEP_MAX):
                counters.dropped_control += 1
            else:
                self.control.append(parcel)
            return
        self.data.append(parcel)
        self.bytes += parcel.size
        while len(self.data) > messages_max or self.bytes > bytes_max:
            self.bytes -= self.data.popleft().size
            self.passed += 1
            counters.dropped_data += 1

    def mark(self) -> int:
        """What `passed` will have reached once all that is in `data` now has left."""
        return self.passed + len(self.data)

    def clear(self) -> None:
        self.control.clear()
        self.passed += len(self.data)
        self.data.clear()
        self.bytes = 0

    def drop_larger(self, size_max: int) -> int:
        """Drop events with a payload of more than so many bytes, and return how many."""
        kept = [parcel for parcel in self.data if parcel.size <= size_max]
        dropped = len(self.data) - len(kept)
        if dropped:
            self.passed += dropped
            self.data = deque(kept)
            self.bytes = sum(parcel.size for parcel in kept)
        return dropped

    def take(self, bytes_max: int, encode: Callable[[Message], bytes]) -> list[Parcel]:
        """What to write next, encoded: control, then data, up to about so many bytes. What
        `encode` makes nothing of is left out."""
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
