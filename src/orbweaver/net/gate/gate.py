"""The gate checks what a peer sends before an overlay sees it.

Undecodable frames, events without their publisher's signature, events signed too long ago or by a
node that may not publish, impossible numbers, messages that an overlay refuses: all of them are
counted and dropped, and a peer that goes on is cut off. Nothing a peer sends may stop the node.

A peer is blamed only for what no correct peer sends, and a correct peer passes on what it let in
itself. So an event that may have been within bounds a moment ago, one hop before, is dropped
without blame: otherwise an attacker could make honest nodes cut each other off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import NamedTuple

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import NodeId, Topic, check_topic, publisher_in
from orbweaver.core.messages import Carrier, Codec, Event, Message
from orbweaver.core.topics import TopicTable
from orbweaver.net.counters import Counters
from orbweaver.net.gate.limits import Bucket, Sparing
from orbweaver.net.logger import Logger
from orbweaver.net.settings import Settings
from orbweaver.net.wire.connection import KEPT_SEALS_MAX, UPKEEP_BURST, Connection
from orbweaver.net.wire.frames import Declined, EventId
from orbweaver.net.wire.seals import BatchSeal, SealChecker

HOPS_MAX = 1 << 10
"""Most links that an event may have crossed."""
AGE_MS_MAX = 1 << 40
"""Largest age of an event, in milliseconds."""
SEVERAL_BYTES_MAX = 256 << 10
"""Largest frame of more than one message, in bytes."""
UPKEEP_BYTES = 2000
"""Bytes of messages that maintain the overlay for which one token is taken, besides one for each
message."""
TOPICS_PER_S = 100.0
"""How many new topic names are remembered per second, from all peers together, after the first
quarter of the table."""

DECLINED_MAX = 256
"""Most events named in one `Declined`."""
SAID_MAX = 1024
"""How many pairs of a peer and a reason are remembered, so that each is logged once."""

log = Logger()


class Fault(NamedTuple):
    """Why an event is not let in."""

    reason: str
    blame: bool
    """Whether the sender must have known."""


class Gate:
    """The checks of one node on everything that its peers send."""

    def __init__(
        self,
        settings: Settings,
        codec: Codec,
        topics: TopicTable,
        counters: Counters,
        inside: Callable[[NodeId, Sequence[Message]], None],
    ) -> None:
        """`inside` is called with sound messages: one message, or several that carry events."""
        self._settings = settings
        self._codec = codec
        self._topics = topics
        self._counters = counters
        self.inside = inside
        """The function that takes sound messages. The attribute is public, so that tests can add
        delays and losses."""
        self._checker = SealChecker()
        self.complaints = Sparing(log)
        self._sign = settings.sign
        self._new_topics = Bucket(TOPICS_PER_S, settings.topics_max / 4, 0.0)
        self._replay_ms = round(1000 * settings.replay_s)
        self._upkeep_max = UPKEEP_BURST * settings.upkeep_per_s
        self._said: dict[tuple[NodeId | None, str], None] = {}
        """The pairs of a peer and a reason that have been logged."""
        self._allowed = _read_allowed(settings.publishers)

    def messages(self, connection: Connection, body: memoryview, now: float) -> int:
        """Check a frame of overlay messages, let the sound ones in, and return how many messages
        the frame has. `now` is in seconds of the loop."""
        counters = self._counters
        try:
            messages = self._read(connection, body, now)
        except ProtocolError as error:
            counters.bad_frames += 1
            connection.strike(str(error))
            return 0
        counters.messages_in += len(messages)
        upkeep, spent = 0, 0.0
        events: list[Message] = []
        """Sound events that are not inside yet: successive events go in together."""
        declined: dict[str, list[EventId]] = {}
        """Events that the peer published itself and that are not let in, by reason."""
        for message in messages:
            if message.carries:
                carrier: Carrier = message  # type: ignore[assignment]
                fault = self._fault_of(carrier.event, carrier.hops, carrier.age_ms)
                if fault is None:
                    events.append(carrier)
                    continue
                if carrier.event.publisher == connection.peer:
                    declined.setdefault(fault.reason, []).append(_id(carrier.event))
                self._note_fault(connection, fault)
            else:
                if events:
                    self._let_in(connection, events)
                    events = []
                if message.purpose == "repair":
                    self._let_in(connection, (message,))
                else:
                    upkeep += 1
                    spent += self._weave(connection, message, upkeep)
            if not connection.alive:
                break
        if events:
            self._let_in(connection, events)
        if declined:
            self._decline(connection, declined)
        self._charge(connection, body, messages, upkeep, spent, now)
        return len(messages)

    def _let_in(self, connection: Connection, messages: Sequence[Message]) -> None:
        assert connection.peer is not None
        try:
            self.inside(connection.peer, messages)
        except Exception as error:
            self._blame(connection, messages[0], error)

    def _note_fault(self, connection: Connection, fault: Fault) -> None:
        """Log a reason once for each peer, not once for each event."""
        if fault.blame:
            connection.strike(fault.reason)
            return
        said = (connection.peer, fault.reason)
        if said not in self._said:
            self._said[said] = None
            if len(self._said) > SAID_MAX:
                del self._said[next(iter(self._said))]
            self.complaints.warning(
                "events not taken", peer=f"{connection.peer:016x}", reason=fault.reason
            )

    def _decline(self, connection: Connection, declined: dict[str, list[EventId]]) -> None:
        if connection.paused_since is None:  # else messages to the peer would pile up
            for reason, events in declined.items():
                for at in range(0, len(events), DECLINED_MAX):
                    connection.say(Declined(reason, tuple(events[at : at + DECLINED_MAX])))

    def _weave(self, connection: Connection, message: Message, count: int) -> float:
        """Let in a message that maintains the overlay, the `count`-th of its frame, and return how
        many seconds it took."""
        if count > self._upkeep_max:
            self._counters.bad_messages += 1
            connection.strike("more messages at once to maintain the overlay than any node needs")
            return 0.0
        began = thread_time()
        self._let_in(connection, (message,))
        return thread_time() - began

    def _read(self, connection: Connection, body: memoryview, now: float) -> list[Message]:
        # Many messages in a large frame would keep all other peers waiting.
        if bytes(body[:1]) != b"\xdd" or (
            len(body) > SEVERAL_BYTES_MAX and int.from_bytes(body[1:5], "big") > 1
        ):
            raise ProtocolError(
                f"a frame of {len(body)} bytes should be an array of messages, and have at most "
                f"{SEVERAL_BYTES_MAX} bytes if they are several"
            )
        codec, known = self._codec, len(self._topics)
        codec.seals = connection.seals
        own = self._settings.topics_of_peer - connection.topics_named
        codec.room = room = min(own, int(self._new_topics.left(now)))
        try:
            return codec.decode_list(body)
        finally:
            connection.topics_named += len(self._topics) - known
            self._new_topics.take(room - codec.room, now)

    def _blame(self, connection: Connection, message: Message, error: Exception) -> None:
        self._counters.bad_messages += 1
        if isinstance(error, ProtocolError):
            connection.strike(str(error))
            return
        # The overlay trusted a message that makes no sense. Whether the peer or the overlay is
        # at fault, the node goes on.
        self.complaints.exception(
            "message failed", kind=type(message).__name__, peer=f"{connection.peer:016x}"
        )
        connection.strike("a message that makes no sense")

    def _charge(
        self,
        connection: Connection,
        body: memoryview,
        messages: list[Message],
        upkeep: int,
        spent: float,
        now: float,
    ) -> None:
        """Charge a peer for a frame, in which `upkeep` messages maintained the overlay and took
        `spent` seconds."""
        wait = connection.traffic.take(len(messages) - upkeep, now)
        if upkeep:
            size = len(body)
            if upkeep < len(messages):
                size -= sum(len(m.event.payload) for m in messages if isinstance(m, Carrier))
            wait = max(
                wait,
                connection.upkeep.take(max(upkeep, size / UPKEEP_BYTES), now),
                connection.effort.take(spent, now),
            )
        if wait:
            self._counters.flooded += 1
            connection.rest(wait)

    def message(self, sender: NodeId, data: bytes) -> None:
        """Check a message out of a datagram and let it in. Only gossip comes by datagram."""
        self._codec.room = 0  # any node may send one; topic names that matter come by TCP too
        message = self._codec.decode(data)
        if message.purpose != "membership":
            raise ProtocolError(f"{type(message).__name__} does not come in datagrams")
        self._counters.messages_in += 1
        try:
            self.inside(sender, (message,))
        except ProtocolError:
            raise
        except Exception:
            self.complaints.exception("datagram failed", peer=f"{sender:016x}")
            raise ProtocolError("a message that makes no sense") from None

    def wrong_with(self, event: Event, hops: int, age_ms: int) -> str | None:
        """Return why an event is not let in: None if it is let in, and an empty text if the sender
        is not to blame."""
        fault = self._fault_of(event, hops, age_ms)
        return None if fault is None else fault.reason if fault.blame else ""

    def _fault_of(self, event: Event, hops: int, age_ms: int) -> Fault | None:
        """Return why an event is not let in, or None if it is."""
        if not (0 < hops <= HOPS_MAX and 0 <= age_ms <= AGE_MS_MAX and event.seq >= 0):
            self._counters.bad_messages += 1
            passed_on = 0 < hops <= HOPS_MAX + 1 and 0 <= age_ms <= 2 * AGE_MS_MAX
            return Fault("an event with impossible numbers", not (passed_on and event.seq >= 0))
        if len(event.payload) > self._settings.payload_bytes_max:
            self._counters.bad_messages += 1
            limit = self._settings.payload_bytes_max
            return Fault(f"a payload of more than payload_bytes_max={limit} bytes", False)
        if self._sign:
            seal = event.seal
            if not isinstance(seal, BatchSeal) or not seal.covers(event):
                self._counters.forged += 1
                return Fault("an event that its publisher did not sign", True)
            off_ms = abs(time.time() * 1000 - seal.time_ms)
            if off_ms > self._replay_ms:
                self._counters.replayed += 1
                return Fault("an event from another time", off_ms > 2 * self._replay_ms)
        if event.topic not in self._topics:
            try:
                check_topic(event.topic)
            except UsageError as error:
                self._counters.bad_messages += 1
                return Fault(str(error), True)
        limited = self._allowed or "@" in event.topic
        if limited and not self.may_publish(event.publisher, event.topic):
            self._counters.not_allowed += 1
            # The sender may have a different list for now.
            return Fault("its publisher may not publish on its topic", False)
        return None

    def seals(self, connection: Connection, seals: tuple[bytes, ...]) -> None:
        """Check and keep the seals of events to come."""
        kept = connection.seals
        connection.charge(connection.seals_due, len(seals))
        if len(seals) > KEPT_SEALS_MAX:
            connection.strike("more seals than are kept")
        for data in seals[:KEPT_SEALS_MAX]:
            try:
                seal = self._checker.check(data)
            except ProtocolError as error:
                self._counters.bad_seals += 1
                connection.strike(str(error))
                if not connection.alive:
                    return
                continue
            kept.pop(seal.name, None)
            kept[seal.name] = seal
            if len(kept) > KEPT_SEALS_MAX:
                del kept[next(iter(kept))]

    def may_publish(self, node: NodeId, topic: Topic) -> bool:
        """Return whether a node may publish on a topic. The longest entry in the list of publishers
        that matches the topic counts; without one, every node may. On a feed whose name carries
        its publisher it is that node, if the entry has it, and those that an entry for this very
        feed lists."""
        allowed = self._allowed_on(topic)
        return allowed is None or node in allowed

    def publisher_of(self, topic: Topic) -> NodeId | None:
        """Return the first node of the entry that matches: the topic's master publisher."""
        return next(iter(self._allowed_on(topic) or ()), None)

    def _allowed_on(self, topic: Topic) -> dict[NodeId, None] | None:
        listed, named = self._listed_for(topic), publisher_in(topic)
        if named is None:
            return listed
        if topic in self._allowed:
            return {named: None} | self._allowed[topic]
        return {named: None} if listed is None or named in listed else {}

    def _listed_for(self, topic: Topic) -> dict[NodeId, None] | None:
        allowed = self._allowed.get(topic)
        levels = topic.split("/")
        for depth in range(len(levels), -1, -1):
            if allowed is not None:
                break
            allowed = self._allowed.get("/".join([*levels[:depth], "#"]))
        return allowed


def _id(event: Event) -> EventId:
    return (event.publisher, event.epoch, event.topic, event.seq)


def _read_allowed(publishers: Mapping[str, list[str]]) -> dict[str, dict[NodeId, None]]:
    allowed = {}
    for pattern, ids in publishers.items():
        check_topic(pattern)
        if "#" in pattern and (
            pattern.count("#") > 1 or (pattern not in ("#",) and not pattern.endswith("/#"))
        ):
            raise UsageError(f"publishers: '{pattern}' should be a topic, or end in '/#'")
        try:
            allowed[pattern] = dict.fromkeys(NodeId(int(text, 16)) for text in ids)
        except ValueError:
            raise UsageError(
                f"publishers of '{pattern}': {', '.join(ids)} should be ids as `orbweaver keys "
                "show` prints them"
            ) from None
    return allowed
