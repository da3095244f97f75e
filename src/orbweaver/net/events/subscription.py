"""A subscription is what an application reads: an async iterator over the events of a topic."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
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
        """Events and runs that wait to be read."""
        self._ready: list[Delivery] = []
        """The events of the run that is being read, the next one last."""
        self._waiting = 0
        self._bytes = 0
        self._room = buffer
        self._lost = 0
        self._gaps: deque[tuple[Carrier, int]] = deque()
        """Events in the buffer before which other events were given up, and how many were."""
        self._closed = closed
        self._note_missed = note_missed
        self._news: asyncio.Future[None] | None = None
        self._open = True

    def __len__(self) -> int:
        """Return how many events wait to be read."""
        return self._waiting

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Delivery:
        if not self._ready and not await self._get_ready():
            raise StopAsyncIteration
        return self._take()

    async def batches(self) -> AsyncIterator[list[Delivery]]:
        """Yield the events in lists: those that were published together, in one list. It is faster
        than an iteration over single events."""
        while self._ready or await self._get_ready():
            yield [self._take() for _ in range(len(self._ready))]

    async def next(self, timeout: float | None = None) -> Delivery:
        """Return the next event. Raise a `TimeoutError` if none comes in `timeout` seconds."""
        async with asyncio.timeout(timeout):
            try:
                return await anext(self)
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
        self._buffer.extend(messages)
        if self.order is not None:
            for gap in self.order.take_gaps():
                self._gaps.append(gap)
                self._count(gap[1])
        for message in messages:
            self._waiting += message.count
            self._bytes += message.size
        while self._waiting > 1 and (self._waiting > self._room or self._bytes > self.BYTES_MAX):
            if not self._ready:
                self._unpack()
            lost = self._take()
            self._lost += lost.missed
            self._lose()
        if self._waiting:
            self._wake()

    async def _get_ready(self) -> bool:
        """Wait for an event, and unpack the next run. Return False at the end of the
        subscription."""
        while not self._waiting:
            if not self._open:
                return False
            if self._news is not None:
                raise UsageError("a subscription has one reader; subscribe twice for two")
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            finally:
                self._news = None
        if not self._ready:  # else events were lost meanwhile, and a run was unpacked for that
            self._unpack()
        return True

    def _unpack(self) -> None:
        """Make the events of the next run ready."""
        message = self._buffer.popleft()
        event, missed = message.event, self._gap_before(message)
        topic, publisher, epoch = event.topic, id_text(event.publisher), event.epoch
        hops, first = message.hops, event.seq
        self._ready = [
            Delivery(topic, payload, publisher, epoch, seq, hops, 0)
            for seq, payload in enumerate(message.more, first + 1)
        ]
        self._ready.reverse()
        self._ready.append(Delivery(topic, event.payload, publisher, epoch, first, hops, missed))

    def _take(self) -> Delivery:
        """Take the next event that is ready."""
        delivery = self._ready.pop()
        self._waiting -= 1
        self._bytes -= len(delivery.payload)
        if self._lost:
            missed, self._lost = delivery.missed + self._lost, 0
            return msgspec.structs.replace(delivery, missed=missed)
        return delivery

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
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
