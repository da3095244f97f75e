"""What an application reads: an async iterator over the events of a topic."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier
from orbweaver.net.ordering import Ordered
from orbweaver.net.status import id_text


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """An event as the application gets it."""

    topic: Topic
    payload: bytes
    publisher: str
    """The id of its node, 16 hexadecimal digits, as in `Node.id`."""
    epoch: int
    """When the publisher started; its sequence numbers begin anew then."""
    seq: int
    hops: int
    """Links that the event has crossed."""
    missed: int
    """Events on this topic that this reader lost just before this one, because it did not
    read in time, or, in an ordered subscription, because they did not come while a peer could
    still have them, or came after later ones had been given out."""


class Subscription:
    """Iterate over it. It holds so many events as its `buffer`, as far as they take no more
    than `BYTES_MAX`; a reader that falls further behind loses the oldest, is told how many
    (`Delivery.missed`, `missed` in all), and disturbs nobody else. Leaving a `with` block, or
    `close`, ends it."""

    BYTES_MAX = 64 << 20

    def __init__(
        self,
        topic: Topic,
        buffer: int,
        order: Ordered | None,
        closed: Callable[[Subscription], None],
        note_missed: Callable[[int], None],
    ) -> None:
        if buffer < 1:
            raise UsageError("a subscription has room for at least one event: buffer=1 or more")
        self.topic = topic
        self.missed = 0
        self.order = order
        """Puts events of one publisher in order, if asked for."""
        self._buffer: deque[Carrier] = deque()
        self._bytes = 0
        self._room = buffer
        self._lost = 0
        self._gaps: deque[tuple[Carrier, int]] = deque()
        """Events in the buffer before which others were given up, and how many."""
        self._closed = closed
        self._note_missed = note_missed
        self._waiting: asyncio.Future[None] | None = None
        self._open = True

    def __len__(self) -> int:
        """Events that wait to be read."""
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
        """The next event; `TimeoutError` if none comes in so many seconds."""
        async with asyncio.timeout(timeout):
            try:
                return await self.__anext__()
            except StopAsyncIteration:
                raise UsageError("the subscription is closed") from None

    def close(self) -> None:
        """Unsubscribe. What waits can still be read."""
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
        """Give out what has waited too long for something before it."""
        if self.order is not None:
            self._extend(self.order.expire(now))

    def end(self) -> None:
        """The node stops."""
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
