"""A live node records its own facts as they happen.

Each node has one file, to which each of its lives appends. Lines are held back for a moment and
written together, so that a killed node loses no more than the lines of that moment, and leaves
at worst half a line. A full disk costs lines, which are counted, but never stops the node.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message, run_of
from orbweaver.records.facts import (
    Copied,
    Copy,
    Delivered,
    Fact,
    InterestChanged,
    Joined,
    Left,
    Linked,
    LostLines,
    Noted,
    Published,
    Relayed,
    Sent,
    encode_fact,
    file_name,
)
from orbweaver.records.recorder import event_name, wire_name

BUFFER_LINES = 1000
"""How many waiting lines are written at once, without waiting for the next `flush`."""


def wall_clock_ms() -> int:
    return round(time.time() * 1000)


class LiveRecorder:
    """Write the facts of one node to its file.

    The host calls a method for each thing that happens, `flush` a few times a second and `note`
    once a second.
    """

    def __init__(
        self,
        folder: Path,
        node: NodeId,
        overlay: str = "",
        params: Mapping[str, Any] | None = None,
        *,
        copies: bool = False,
        clock_ms: Callable[[], int] = wall_clock_ms,
        trouble: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """Open the file of `node` in `folder`. `copies` asks for a line for each copy of an event.
        `trouble` is called when lines are lost, once until writing works again."""
        self.path = folder / file_name(node)
        self._node = node
        self._overlay = overlay
        self._params = dict(params or {})
        self._clock_ms = clock_ms
        self._trouble = trouble
        self._now = 0
        self._lines: list[bytes] = []
        self._missing = 0
        self._each_copy = copies
        self._copies: dict[str, int] = {}
        self._sends: dict[type[Message], list[int]] = {}
        self._changed: dict[type[Message], None] = {}
        self._notices = [0, 0]
        self._received = 0
        self._noted = Noted(0, received=0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise UsageError(f"records: cannot write {self.path}: {error.strerror}") from None
        self._torn = self._ends_torn()

    # -- what happens to the node

    def joined(self) -> None:
        self._add(Joined(self._at(), self._node, self._overlay, self._params))

    def left(self) -> None:
        self._add_copies()
        self._add(Left(self._at()))

    def interest(self, topic: Topic, kind: Any) -> None:
        self._add(InterestChanged(self._at(), topic, kind))

    def link(self, peer: NodeId, kind: Any) -> None:
        self._add(Linked(self._at(), peer, kind))

    def published(self, event: Event) -> None:
        self._add(Published(self._at(), event_name(event)))

    def delivered(self, event: Event, hops: int, pulled: bool = False) -> None:
        self._add(Delivered(self._at(), event_name(event), hops, pulled))

    def carried(self, message: Carrier, interested: bool) -> None:
        """Note that a copy of an event, or of each event of a run, has arrived."""
        for event in run_of(message.event, message.more):
            name = event_name(event)
            if interested:
                self._copies[name] = self._copies.get(name, 0) + 1
            else:
                self._add(Relayed(self._at(), name, message.hops))

    def copy(self, peer: NodeId, message: Carrier, kind: Any, why: str = "") -> None:
        """Note what the node sees of a copy between it and a peer, if it is asked for."""
        if self._each_copy:
            for event in run_of(message.event, message.more):
                self._add(Copy(self._at(), event_name(event), peer, message.hops, kind, why))

    def noticed(self, interested: bool) -> None:
        """Note that a message has arrived that only says that an event exists."""
        self._notices[0 if interested else 1] += 1

    def received(self, messages: int) -> None:
        """Note that messages have arrived, of any type. Events of a run count one by one."""
        self._received += messages

    def sent(self, message: Message, size: int) -> None:
        """Note that a message of `size` bytes was sent. A run counts as many messages as it has
        events, as in a simulation."""
        kind = type(message)
        counted = self._sends.get(kind)
        if counted is None:
            counted = self._sends[kind] = [0, 0]
        counted[0] += cast(Carrier, message).count if message.carries else 1
        counted[1] += size
        self._changed[kind] = None

    # -- now and then

    def note(self, status: Mapping[str, int], drops: Mapping[str, int]) -> None:
        """Record the counts; the line is also a sign of life."""
        last = self._noted
        notices = (self._notices[0], self._notices[1])
        self._noted = Noted(self._at(), {}, notices, dict(drops), dict(status), self._received)
        changed, self._changed = self._changed, {}
        self._add(
            Noted(
                self._noted.at,
                {wire_name(k): Sent(k.purpose, *self._sends[k]) for k in changed},
                notices if notices != last.notices else None,
                {name: n for name, n in drops.items() if n and n != last.drops.get(name)},
                {name: n for name, n in status.items() if n != last.status.get(name)},
                self._received if self._received != last.received else None,
            )
        )

    def flush(self) -> None:
        self._add_copies()
        lines, self._lines = self._lines, []
        if not lines or self._file < 0:
            return
        head: list[bytes] = [b""] if self._torn else []
        if self._missing:
            head.append(encode_fact(LostLines(self._at(), self._missing)))
        data = b"\n".join([*head, *lines, b""])
        try:
            while data:
                data = data[os.write(self._file, data) :]
            self._missing, self._torn = 0, False
        except OSError as error:
            if not self._missing:
                self._trouble(error.strerror or str(error))
            unwritten = data.count(b"\n")
            if unwritten < len(lines):
                self._missing = unwritten  # the `LostLines` for earlier ones was written
            else:
                self._missing += len(lines)
            self._torn = True

    def close(self) -> None:
        if self._file >= 0:
            self.flush()
            os.close(self._file)
            self._file = -1

    # -- inside

    def _at(self) -> int:
        """Return the time, which never goes back, even if the machine's clock does."""
        self._now = now = max(self._now, self._clock_ms())
        return now

    def _add(self, fact: Fact) -> None:
        self._lines.append(encode_fact(fact))
        if len(self._lines) >= BUFFER_LINES:
            self.flush()

    def _add_copies(self) -> None:
        if self._copies:
            copies, self._copies = self._copies, {}
            self._lines.append(encode_fact(Copied(self._at(), copies)))

    def _ends_torn(self) -> bool:
        """Return whether the last life was killed in the middle of a line."""
        with contextlib.suppress(OSError):
            size = os.fstat(self._file).st_size
            return size > 0 and os.pread(self._file, 1, size - 1) != b"\n"
        return False
