"""The message cache knows which events came lately, to be announced at the next heartbeats."""

from __future__ import annotations

from collections import deque

from orbweaver.core.ids import Topic
from orbweaver.core.messages import StreamId
from orbweaver.overlays.gossipsub.messages import EventIds


class RecentEvents:
    ANNOUNCED_MAX = 5000
    """Most events in one announcement (v1.1). The newest are announced."""

    def __init__(self, announced: int) -> None:
        """Announce events at `announced` heartbeats."""
        self._windows: deque[dict[Topic, list[tuple[StreamId, int]]]] = deque(
            [{}], maxlen=announced
        )
        """What came between two heartbeats, by topic; the newest first."""

    def put(self, stream: StreamId, seq: int) -> None:
        self._windows[0].setdefault(stream[2], []).append((stream, seq))

    def shift(self) -> None:
        """Begin a new window, and forget the oldest."""
        self._windows.appendleft({})

    def to_announce(self, topic: Topic) -> tuple[EventIds, ...]:
        seqs: dict[StreamId, list[int]] = {}
        room = self.ANNOUNCED_MAX
        for window in self._windows:
            for stream, seq in window.get(topic, ())[-room:] if room else ():
                seqs.setdefault(stream, []).append(seq)
                room -= 1
        return tuple(EventIds(stream, tuple(numbers)) for stream, numbers in seqs.items())
