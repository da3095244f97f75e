"""The gate: what a peer sends is checked here before an overlay sees it.

Undecodable frames, events that their publisher did not sign, signed too long ago or by
somebody who may not publish, numbers that make no sense, messages an overlay refuses: all of
it is counted and dropped, and whoever goes on is cut off. Nothing a peer sends may stop the
node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import structlog

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Carrier, Codec, Event, Message
from orbweaver.core.topics import TopicTable
from orbweaver.net.connection import KEPT_SEALS_MAX, Connection
from orbweaver.net.counters import Counters
from orbweaver.net.seals import BatchSeal, SealChecker
from orbweaver.net.settings import Settings

HOPS_MAX = 1 << 10
AGE_MS_MAX = 1 << 40

log = structlog.get_logger()


class Gate:
    def __init__(
        self,
        settings: Settings,
        codec: Codec,
        topics: TopicTable,
        counters: Counters,
        inside: Callable[[NodeId, Message], None],
    ) -> None:
        """`inside` gets what is sound."""
        self._settings = settings
        self._codec = codec
        self._topics = topics
        self._counters = counters
        self.inside = inside
        """Public, so that tests can put delays and losses in between."""
        self._checker = SealChecker()
        self._sign = settings.sign
        self._replay_ms = round(1000 * settings.replay_s)
        self._allowed = _read_allowed(settings.publishers)

    def messages(self, connection: Connection, body: memoryview, now: float) -> int:
        """A frame of overlay messages, and how many they are; `now` in seconds of the loop."""
        peer = connection.peer
        assert peer is not None
        codec, counters = self._codec, self._counters
        codec.seals = connection.seals
        known = len(self._topics)
        try:
            messages = codec.decode_list(body)
        except ProtocolError as error:
            counters.bad_frames += 1
            connection.strike(str(error))
            return 0
        finally:
            self._charge_topics(connection, len(self._topics) - known)
        counters.messages_in += len(messages)
        inside, upkeep = self.inside, 0
        for message in messages:
            if message.carries:
                carrier: Carrier = message  # type: ignore[assignment]
                wrong = self.wrong_with(carrier.event, carrier.hops, carrier.age_ms)
                if wrong:
                    connection.strike(wrong)
                    if connection.misbehaved:
                        break
                    continue
            elif message.purpose != "repair":
                upkeep += 1
            try:
                inside(peer, message)
            except ProtocolError as error:
                counters.bad_messages += 1
                connection.strike(str(error))
            except Exception:
                # Nonsense that an overlay trusted. It is the peer's fault or ours; either way
                # the node goes on.
                counters.bad_messages += 1
                log.exception("message failed", kind=type(message).__name__, peer=f"{peer:016x}")
                connection.strike("a message that makes no sense")
        wait = connection.traffic.take(len(messages) - upkeep, now)
        if upkeep:
            wait = max(wait, connection.upkeep.take(upkeep, now))
        if wait:
            counters.flooded += 1
            connection.rest(min(wait, 1.0))
        return len(messages)

    def message(self, sender: NodeId, data: bytes) -> None:
        """One message out of a datagram. Only gossip comes that way."""
        message = self._codec.decode(data)
        if message.purpose != "membership":
            raise ProtocolError(f"{type(message).__name__} does not come in datagrams")
        self._counters.messages_in += 1
        try:
            self.inside(sender, message)
        except ProtocolError:
            raise
        except Exception:
            log.exception("datagram failed", peer=f"{sender:016x}")
            raise ProtocolError("a message that makes no sense") from None

    def wrong_with(self, event: Event, hops: int, age_ms: int) -> str:
        """Why an event is not let in; empty if it is."""
        if not (0 < hops <= HOPS_MAX and 0 <= age_ms <= AGE_MS_MAX and event.seq >= 0):
            self._counters.bad_messages += 1
            return "an event with impossible numbers"
        if self._sign:
            seal = event.seal
            if not isinstance(seal, BatchSeal) or not seal.covers(event):
                self._counters.forged += 1
                return "an event that its publisher did not sign"
            if abs(time.time() * 1000 - seal.time_ms) > self._replay_ms:
                self._counters.replayed += 1
                return "an event from another time"
        if event.topic not in self._topics:
            try:
                check_topic(event.topic)
            except UsageError as error:
                self._counters.bad_messages += 1
                return str(error)
        if self._allowed and not self.may_publish(event.publisher, event.topic):
            self._counters.not_allowed += 1
            return f"may not publish on {event.topic}"
        return ""

    def seals(self, connection: Connection, seals: tuple[bytes, ...]) -> None:
        """Signatures for events to come."""
        kept = connection.seals
        for data in seals:
            try:
                seal = self._checker.check(data)
            except ProtocolError as error:
                self._counters.bad_seals += 1
                connection.strike(str(error))
                continue
            kept.pop(seal.name, None)
            kept[seal.name] = seal
            if len(kept) > KEPT_SEALS_MAX:
                del kept[next(iter(kept))]

    def may_publish(self, node: NodeId, topic: Topic) -> bool:
        """By the list of publishers: the longest entry that fits counts; without one, all may."""
        allowed = self._allowed.get(topic)
        if allowed is None:
            levels = topic.split("/")
            for depth in range(len(levels), -1, -1):
                allowed = self._allowed.get("/".join([*levels[:depth], "#"]))
                if allowed is not None:
                    break
        return allowed is None or node in allowed

    def _charge_topics(self, connection: Connection, new: int) -> None:
        """Names of topics are remembered for ever, so nobody may bring too many."""
        if new:
            connection.topics_named += new
            if connection.topics_named > self._settings.topics_of_peer:
                connection.refuse("too many new topics")


def _read_allowed(publishers: Mapping[str, list[str]]) -> dict[str, frozenset[NodeId]]:
    allowed = {}
    for pattern, ids in publishers.items():
        check_topic(pattern)
        if "#" in pattern and (
            pattern.count("#") > 1 or (pattern not in ("#",) and not pattern.endswith("/#"))
        ):
            raise UsageError(f"publishers: '{pattern}' should be a topic, or end in '/#'")
        try:
            allowed[pattern] = frozenset(NodeId(int(text, 16)) for text in ids)
        except ValueError:
            raise UsageError(
                f"publishers of '{pattern}': ids are as `orbweaver keys show` prints them"
            ) from None
    return allowed
