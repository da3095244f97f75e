"""The gate asks the rules about all that peers send, and acts on their rulings.

An overlay sees only what was let in. What is wrong is counted and dropped, and a peer that goes on
is cut off. Nothing a peer sends may stop the node. The rules are in `net.gate.rules`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from time import thread_time
from typing import TYPE_CHECKING

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Codec, EventId, Message, run_of
from orbweaver.core.topics import TopicTable
from orbweaver.net.counters import Counters
from orbweaver.net.gate.limits import Bucket, Sparing
from orbweaver.net.gate.rules import (
    ACCEPT,
    Ruling,
    Sender,
    judge,
    judge_frame,
    judge_together,
    maintains,
    rules_of,
)
from orbweaver.net.logger import Logger
from orbweaver.net.settings import Settings
from orbweaver.net.wire.connection import KEPT_SEALS_MAX, Connection
from orbweaver.net.wire.frames import Declined
from orbweaver.net.wire.seals import SealChecker

TOPICS_PER_S = 100.0
"""How many new topic names are remembered per second, from all peers together, after the first
quarter of the table."""

DECLINED_MAX = 256
"""Most events named in one `Declined`."""
SAID_MAX = 1024
"""How many pairs of a peer and a reason are remembered, so that each is logged once."""

if TYPE_CHECKING:
    from orbweaver.net.keys.members import Members

log = Logger()


class Gate:
    """The checks of one node on everything that its peers send."""

    def __init__(
        self,
        settings: Settings,
        codec: Codec,
        topics: TopicTable,
        counters: Counters,
        inside: Callable[[NodeId, Sequence[Message]], None],
        members: Members | None = None,
    ) -> None:
        """`inside` is called with sound messages: one message, or several that carry events.
        `members` knows who belongs to a cluster with an authority."""
        self._members = members
        self.rules = rules_of(settings)
        self._settings = settings
        self._codec = codec
        self._topics = topics
        self._counters = counters
        self.inside = inside
        """The function that takes sound messages. The attribute is public, so that tests can add
        delays and losses."""
        self.on_refused: Callable[[NodeId, Carrier, str], None] = lambda *_: None
        """Called with each event that is not let in, its sender and the reason."""
        self._checker = SealChecker(settings.cluster)
        self.complaints = Sparing(log)
        self._new_topics = Bucket(TOPICS_PER_S, settings.topics_max / 4, 0.0)
        self._said: dict[tuple[NodeId | None, str], None] = {}
        """The pairs of a peer and a reason that have been logged."""

    # -- what comes in

    def messages(self, connection: Connection, body: memoryview, now: float) -> int:
        """Check a frame of overlay messages, let the sound ones in, and return how many messages
        the frame has. `now` is in seconds of the loop."""
        peer = connection.peer
        assert peer is not None
        messages = self._read(connection, body, now)
        if isinstance(messages, Ruling):
            self._act(connection, messages)
            return 0
        self._counters.messages_in += len(messages)
        sender, now_ms, spent = Sender(peer), _time_ms(), 0.0
        events: list[Message] = []
        """Sound events that are not inside yet: successive events go in together."""
        declined: dict[str, list[EventId]] = {}
        """Events that the peer published itself and that are not let in, by reason."""
        for message in messages:
            ruling = judge(self.rules, sender, message, now_ms)
            if ruling is not ACCEPT:
                self._act(connection, ruling)
                if isinstance(message, Carrier):
                    self.on_refused(peer, message, ruling.reason)
                    if message.event.publisher == peer:
                        events_of_it = run_of(message.event, message.more)
                        declined.setdefault(ruling.reason, []).extend(
                            event.id for event in events_of_it
                        )
            elif message.carries:
                events.append(message)
            else:
                if events:
                    self._let_in(connection, events)
                    events = []
                spent += self._let_in(connection, (message,))
            if not connection.alive:
                break
        if events:
            self._let_in(connection, events)
        if declined:
            self._decline(connection, declined)
        self._charge(connection, body, messages, spent)
        return len(messages)

    def takes(self, connection: Connection, message: Carrier) -> bool:
        """Judge an event that comes otherwise than in a frame of messages, and return whether it
        is let in."""
        assert connection.peer is not None
        ruling = judge(self.rules, Sender(connection.peer), message, _time_ms())
        if ruling is not ACCEPT:
            self._act(connection, ruling)
        return ruling is ACCEPT

    def datagram(self, sender: NodeId, data: bytes) -> None:
        """Check a message out of a datagram and let it in."""
        self._codec.room = 0  # any node may send one; topic names that matter come by TCP too
        message = self._codec.decode(data)
        ruling = judge(self.rules, Sender(sender, by_datagram=True), message, _time_ms())
        if ruling is not ACCEPT:
            raise ProtocolError(ruling.reason)
        self._counters.messages_in += 1
        try:
            self.inside(sender, (message,))
        except ProtocolError:
            raise
        except Exception:
            self.complaints.exception("datagram failed", peer=f"{sender:016x}")
            raise ProtocolError("a message that makes no sense") from None

    def seals(self, connection: Connection, seals: tuple[bytes, ...]) -> None:
        """Check and keep the seals of events to come."""
        kept = connection.seals
        if len(seals) > KEPT_SEALS_MAX:
            self._act(connection, Ruling("blame", "more seals than are kept", "bad_seals"))
        for data in seals[:KEPT_SEALS_MAX]:
            try:
                seal = self._checker.check(data)
            except ProtocolError as error:
                self._act(connection, Ruling("blame", str(error), "bad_seals"))
                if not connection.alive:
                    return
                continue
            if self._members is not None:
                seal.membership = self._members.membership(seal.key, seal.certificate, _time_ms())
            kept.pop(seal.name, None)
            kept[seal.name] = seal
            if len(kept) > KEPT_SEALS_MAX:
                del kept[next(iter(kept))]

    # -- what is done about it

    def _act(self, connection: Connection, ruling: Ruling) -> None:
        """Count what is not let in. A peer that is to blame gets a strike; another reason is logged
        once for each peer, not once for each event."""
        if ruling.counter:
            self._counters.count(ruling.counter)
        if ruling.outcome == "blame":
            connection.strike(ruling.reason)
            return
        said = (connection.peer, ruling.reason)
        if said not in self._said:
            self._said[said] = None
            if len(self._said) > SAID_MAX:
                del self._said[next(iter(self._said))]
            self.complaints.warning(
                "events not taken", peer=f"{connection.peer:016x}", reason=ruling.reason
            )

    def _let_in(self, connection: Connection, messages: Sequence[Message]) -> float:
        """Hand on one message, or several that carry events. Return how many seconds of processor
        time a message that maintains the overlay took."""
        assert connection.peer is not None
        began = thread_time() if maintains(messages[0]) else 0.0
        try:
            self.inside(connection.peer, messages)
        except ProtocolError as error:
            self._act(connection, Ruling("blame", str(error), "bad_messages"))
        except Exception:
            # The overlay trusted a message that makes no sense. Whether the peer or the overlay is
            # at fault, the node goes on.
            self.complaints.exception(
                "message failed", kind=type(messages[0]).__name__, peer=f"{connection.peer:016x}"
            )
            self._act(connection, Ruling("blame", "a message that makes no sense", "bad_messages"))
        return thread_time() - began if began else 0.0

    def _decline(self, connection: Connection, declined: dict[str, list[EventId]]) -> None:
        if connection.paused_since is None:  # else messages to the peer would pile up
            for reason, events in declined.items():
                for at in range(0, len(events), DECLINED_MAX):
                    connection.say(Declined(reason, tuple(events[at : at + DECLINED_MAX])))

    def _charge(
        self, connection: Connection, body: memoryview, messages: list[Message], spent: float
    ) -> None:
        """Charge a peer for the messages of a frame that maintain the overlay, which took `spent`
        seconds."""
        upkeep = sum(map(maintains, messages))
        if upkeep and connection.alive:
            payloads = sum(m.size for m in messages if isinstance(m, Carrier))
            connection.charge(upkeep, len(body) - payloads, spent)

    def _read(self, connection: Connection, body: memoryview, now: float) -> list[Message] | Ruling:
        """Return the messages in a frame, or the ruling on a frame that breaks a rule."""
        ruling = judge_frame(body)
        if ruling is not ACCEPT:
            return ruling
        codec, known = self._codec, len(self._topics)
        codec.seals = connection.seals
        own = self._settings.topics_of_peer - connection.topics_named
        codec.room = room = min(own, int(self._new_topics.left(now)))
        try:
            messages = codec.decode_list(body)
        except ProtocolError as error:
            return Ruling("blame", str(error), "bad_frames")
        finally:
            connection.topics_named += len(self._topics) - known
            self._new_topics.take(room - codec.room, now)
        ruling = judge_together(messages)
        return messages if ruling is ACCEPT else ruling


def _time_ms() -> int:
    return round(time.time() * 1000)
