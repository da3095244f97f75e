"""Answer nodes that catch up: send what this node's window has and the asker has not.

The work that one question may cause is bounded. How often a peer may ask depends on how long its
last question took. A question that follows from sums that differ may come at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import thread_time

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, StreamId
from orbweaver.net.events.departures import Written
from orbweaver.net.events.digests import WHOLE, Range, parts_of, place_of, sound, sums_of, which
from orbweaver.net.events.ways import Ways
from orbweaver.net.events.window import EventLog
from orbweaver.net.host import Host
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import Answer, Ask, Differ, Differing, Seals, control_frame
from orbweaver.net.wire.packing import tell_seal
from orbweaver.net.wire.seals import BatchSeal

TOPICS_MAX = 500
"""Most topics in one question."""
RANGES_MAX = 1000
"""Most ranges of streams that are compared, of one topic and in one question."""
ROUNDS_MAX = 8
"""Most questions in a row that follow from sums that differ. Each cuts the ranges into 16
parts."""
ANSWER_BYTES = 1 << 20
"""Most bytes sent in answer to one question; a peer that lacks more asks again at once."""
FRESH_MS = 1000
"""Age in milliseconds below which events may still be on their way, and are not sent."""
ASK_S_MIN = 0.2
"""Seconds after an answer before which a peer's next question is ignored, at least."""
ASK_PAUSE = 10.0
"""Multiple of the time that an answer took before which a peer's next question is ignored."""
FORGET_S = 30.0
"""Seconds after which a peer that may ask again is forgotten."""


class Answers:
    """The answers of one node to the questions of its peers."""

    def __init__(
        self,
        host: Host,
        log: EventLog,
        since: Mapping[Topic, int],
        now: Callable[[], float],
        ways: Ways,
    ) -> None:
        """`since` holds the topics that this node subscribes to."""
        self._host = host
        self._log = log
        self._since = since
        self._now = now
        self._ways = ways
        self._answered: dict[NodeId, float] = {}
        """Peer -> from when on it may ask again."""
        self._rounds: dict[NodeId, int] = {}
        """Peer that was told where sums differ -> how many further questions it may ask at once."""

    def forget(self) -> None:
        now = self._now()
        for node in [n for n, at in self._answered.items() if now - at > FORGET_S]:
            del self._answered[node]
            self._rounds.pop(node, None)

    def on_ask(self, connection: Connection, message: Ask) -> None:
        peer, now = connection.peer, self._now()
        assert peer is not None
        rounds = self._rounds.pop(peer, 0)
        if now >= self._answered.get(peer, now):
            rounds = ROUNDS_MAX
        if not rounds or connection.paused_since is not None:
            return
        began = thread_time()
        topics = {wanted.topic: None for wanted in message.wanted[:TOPICS_MAX]}
        self._write_answers(connection, message)
        self._ways.tell(connection, [topic for topic in topics if topic not in self._since])
        if self._write_differences(connection, message):
            self._rounds[peer] = rounds - 1
        took = thread_time() - began
        self._answered[peer] = now + max(ASK_S_MIN, ASK_PAUSE * took)

    def _write_differences(self, connection: Connection, message: Ask) -> bool:
        """Tell the asker where sums differ, and return whether any do."""
        told = []
        for asked in {asked.topic: asked for asked in message.sums[:TOPICS_MAX]}.values():
            ranges = sound(asked.ranges[:RANGES_MAX])
            if len(ranges) != len(asked.sums):
                continue
            kept = self._log.kept(asked.topic, FRESH_MS, asked.age_ms_max, self._host.now())
            ours = sums_of(message.salt, ranges, kept)
            differing = tuple(
                part
                for whole, mine, theirs in zip(ranges, ours, asked.sums, strict=True)
                for part, a, b in zip(parts_of(whole), mine, theirs, strict=False)
                if a not in (0, b)  # 0: no event is kept here, so the asker lacks none
            )
            if differing:
                told.append(Differing(asked.topic, differing))
        if told:
            connection.say(Differ(message.salt, tuple(told)))
        return bool(told)

    def _write_answers(self, connection: Connection, message: Ask) -> None:
        room = ANSWER_BYTES
        frames: list[bytes] = []
        given: list[Written] = []
        for wanted in {wanted.topic: wanted for wanted in message.wanted[:TOPICS_MAX]}.values():
            if room <= 0:
                break
            have = {(p.publisher, p.epoch, wanted.topic): p.edges for p in wanted.have}
            among = _in_ranges(message.salt, wanted.ranges)
            lacking = self._log.missing_of(
                wanted.topic, have, wanted.age_ms_max, room, self._host.now(), among
            )
            for event, age_ms in lacking:
                if age_ms < FRESH_MS:
                    continue
                room -= len(event.payload) + 200
                if answer := self._answer(connection, event, age_ms):
                    frames += answer
                    given.append((event, 1))
        if frames:
            connection.write(frames)
            self._host.outgoing.departures.written(connection, given)

    def _answer(self, connection: Connection, event: Event, age_ms: int) -> list[bytes]:
        if len(event.payload) > connection.payload_bytes_max:
            return []
        frames = []
        name = b""
        seal = event.seal
        if isinstance(seal, BatchSeal):
            name = seal.name
            if name not in connection.told_seals:
                frames.append(control_frame(Seals((tell_seal(seal, connection),))))
        answer = Answer(
            event.topic, event.publisher, event.epoch, event.seq, event.payload, name, age_ms
        )
        return [*frames, control_frame(answer)]


def _in_ranges(salt: int, asked: Sequence[Range]) -> Callable[[StreamId], bool] | None:
    """Return a function that says whether a stream has its place in these ranges, or None if all
    streams have."""
    if tuple(asked) == (WHOLE,):
        return None
    ranges, known = sound(asked), dict[StreamId, bool]()

    def among(stream: StreamId) -> bool:
        inside = known.get(stream)
        if inside is None:
            inside = known[stream] = which(ranges, place_of(salt, *stream[:2])) is not None
        return inside

    return among
