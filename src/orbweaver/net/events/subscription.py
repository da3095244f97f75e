"""A subscription is what an application reads: an async iterator over the events of a topic."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier
from orbweaver.net.admin.status import id_text
from orbweaver.net.events.ordering import Ordered


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """An event as the application gets it."""

    topic: Topic
    payload: bytes
    publisher: str
    """The id of the publisher, 16 hexadecimal digits, as in `Node.id`."""
    epoch: int
    """When the publisher started; sequence numbers begin anew with each epoch."""
    seq: int
    hops: int
    """How many links the event has crossed."""
    missed: int
    """How many events on this topic the subscription lost just before this one. An event is lost
    if the application does not read in time. In an ordered subscription an event is also lost
    if it does not come while a peer may still have it, or comes after later ones were given
    out."""


class Subscription:
    """An async iterator over the events of one topic.

    At most `buffer` events wait to be read, and at most `BYTES_MAX` bytes of payload. A reader
    that falls further behind loses the oldest events, and learns how many (`Delivery.missed`
    before an event, `missed` in all); other readers are not affected. Leaving a `with` block, or
    `close`, ends the subscription.
    """

    BYTES_MAX = 64 << 20
    """Most bytes of payload that wait to be read."""

    def __init__(
        self,
        topic: Topic,
        buffer: int,
        order: Ordered | None,
        closed: Callable[[Subscription], None],
        note_missed: Callable[[int], None],
    ) -> None:
        if buffer < 1:
            raise UsageError(f"buffer={buffer} has no room for an event; it should be 1 or more")
        self.topic = topic
        self.missed = 0
        self.order = order
        """Puts the events of each publisher in order; None in a subscription without order."""
        self._buffer: deque[Carrier] = deque()
        self._bytes = 0
        self._room = buffer
        self._lost = 0
        self._gaps: deque[tuple[Carrier, int]] = deque()
        """Events in the buffer before which other events were given up, and how many were."""
        self._closed = closed
        self._note_missed = note_missed
        self._waiting: asyncio.Future[None] | None = None
        self._open = True

    def __len__(self) -> int:
        """Return how many events wait to be read."""
        return len(self._buffer)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Delivery:
        while not self._buffer:
            if not self._open:
                raise StopAsyncIteration
            if self._waiting is not None:
                raise UsageError("a subscription has one reader; subscribe twice for two")
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        message = self._buffer.popleft()
        event = message.event
        self._bytes -= len(event.payload)
        missed, self._lost = self._lost + self._gap_before(message), 0
        return Delivery(
            event.topic, event.payload, id_text(event.publisher), event.epoch, event.seq,
            message.hops, missed,
        )  # fmt: skip

    async def next(self, timeout: float | None = None) -> Delivery:
        """Return the next event. Raise a `TimeoutError` if none comes in `timeout` seconds."""
        async with asyncio.timeout(timeout):
            try:
                return await self.__anext__()
            except StopAsyncIteration:
                raise UsageError("the subscription is closed") from None

    def close(self) -> None:
        """Unsubscribe. Events that wait can still be read."""
        if self._open:
            self._open = False
            self._wake()
            self._closed(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- for the node

    def offer(self, messages: Sequence[Carrier], now: int) -> None:
        if self.order is None:
            self._extend(messages)
            return
        for message in messages:
            late = self.order.late_missed
            self._extend(self.order.offer(message, now))
            if self.order.late_missed > late:
                self._lose()

    def expire(self, now: int) -> None:
        """Give out events that have waited too long for earlier ones."""
        if self.order is not None:
            self._extend(self.order.expire(now))

    def end(self) -> None:
        """End the subscription, because the node stops."""
        self._open = False
        self._wake()

    def _extend(self, messages: Sequence[Carrier]) -> None:
        buffer = self._buffer
        buffer.extend(messages)
        if self.order is not None:
            for gap in self.order.take_gaps():
                self._gaps.append(gap)
                self._count(gap[1])
        self._bytes += sum([len(message.event.payload) for message in messages])
        while len(buffer) > 1 and (len(buffer) > self._room or self._bytes > self.BYTES_MAX):
            message = buffer.popleft()
            self._bytes -= len(message.event.payload)
            self._lost += self._gap_before(message)
            self._lose()
        if buffer:
            self._wake()

    def _lose(self) -> None:
        self._lost += 1
        self._count(1)

    def _count(self, missed: int) -> None:
        self.missed += missed
        self._note_missed(missed)

    def _gap_before(self, message: Carrier) -> int:
        """Return how many events were given up just before this one, which leaves the buffer."""
        if self._gaps and self._gaps[0][0] is message:
            return self._gaps.popleft()[1]
        return 0

    def _wake(self) -> None:
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
