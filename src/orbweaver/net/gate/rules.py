"""The rules of the gate: what a peer may send, as pure functions.

`judge` takes the rules of this node, what is known of the sender, and a message, and returns a
ruling. Nothing here counts, logs, reads a clock or changes anything; the gate acts on rulings.

A peer is blamed only for what no correct peer sends, and a correct peer passes on what it let in
itself. So an event that may have been within bounds a moment ago, one hop before, is dropped
without blame: otherwise an attacker could make honest nodes cut each other off.

To add a rule, write a function like those below, put it into a tuple, and give it an example in
`tests/net/gate/test_rules.py`, which fails if a rule can be removed without changing a ruling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Carrier, Message
from orbweaver.net.events.seen import SEQ_MAX
from orbweaver.net.gate.publishers import Publishers
from orbweaver.net.settings import Settings
from orbweaver.net.wire.seals import BatchSeal

HOPS_MAX = 1 << 10
"""Most links that an event may have crossed."""
AGE_MS_MAX = 1 << 40
"""Largest age of an event, in milliseconds."""
SEVERAL_BYTES_MAX = 256 << 10
"""Largest frame of more than one message, in bytes. A larger one would keep all other peers
waiting."""
UPKEEP_MAX = 1000
"""Most messages in one frame that maintain the overlay: no more wait for one peer
(`net.peers.outqueue`)."""


class Rules(NamedTuple):
    """What the settings of a node say about events."""

    sign: bool
    payload_bytes_max: int
    replay_ms: int
    """Largest difference between an event's signing time and the clock, in milliseconds."""
    publishers: Publishers
    certified: bool = False
    """Whether only nodes may publish that the cluster's authority has certified."""


def rules_of(settings: Settings) -> Rules:
    return Rules(
        settings.sign,
        settings.payload_bytes_max,
        round(1000 * settings.replay_s),
        Publishers(settings.publishers),
        bool(settings.tls) and settings.publishers_certified,
    )


class Sender(NamedTuple):
    """What is known of the peer that a message comes from."""

    node: NodeId
    by_datagram: bool = False
    """Whether the message came in a datagram. Any node may send one, without a handshake."""


class Ruling(NamedTuple):
    """What to do with a message."""

    outcome: Literal["accept", "drop", "blame"]
    reason: str = ""
    counter: str = ""
    """The counter of such messages, by name."""


ACCEPT = Ruling("accept")


def judge(rules: Rules, sender: Sender, message: Message, now_ms: int) -> Ruling:
    """Return the ruling on one message. `now_ms` is the time of day."""
    for rule in EVENT_RULES if message.carries else OTHER_RULES:
        ruling = rule(rules, sender, message, now_ms)
        if ruling is not None:
            return ruling
    return ACCEPT


def judge_frame(body: bytes | memoryview) -> Ruling:
    """Return the ruling on the body of a frame of messages, before it is decoded."""
    for rule in FRAME_RULES:
        ruling = rule(body)
        if ruling is not None:
            return ruling
    return ACCEPT


def judge_together(messages: Sequence[Message]) -> Ruling:
    """Return the ruling on all messages of a frame together."""
    if sum(maintains(message) for message in messages) > UPKEEP_MAX:
        return Ruling(
            "blame",
            f"more than {UPKEEP_MAX} messages at once that maintain the overlay",
            "bad_messages",
        )
    return ACCEPT


def maintains(message: Message) -> bool:
    """Return whether a message maintains the overlay; others spread events."""
    return message.purpose not in ("data", "repair")


# -- rules for messages


def gossip_by_datagram(
    rules: Rules, sender: Sender, message: Message, now_ms: int
) -> Ruling | None:
    if not sender.by_datagram or message.purpose == "membership":
        return None
    return Ruling("blame", f"{type(message).__name__} does not come in datagrams")


def possible_numbers(rules: Rules, sender: Sender, message: Carrier, now_ms: int) -> Ruling | None:
    hops, age_ms = message.hops, message.age_ms
    numbered = 0 <= message.event.seq < SEQ_MAX
    if 0 < hops <= HOPS_MAX and 0 <= age_ms <= AGE_MS_MAX and numbered:
        return None
    # The sender may have let it in one hop and a moment ago.
    passed_on = 0 < hops <= HOPS_MAX + 1 and 0 <= age_ms <= 2 * AGE_MS_MAX and numbered
    reason = "an event with impossible numbers"
    return Ruling("drop" if passed_on else "blame", reason, "bad_messages")


def payload_size(rules: Rules, sender: Sender, message: Carrier, now_ms: int) -> Ruling | None:
    limit = rules.payload_bytes_max
    if len(message.event.payload) <= limit and all(len(one) <= limit for one in message.more):
        return None
    return Ruling("drop", f"a payload of more than payload_bytes_max={limit} bytes", "bad_messages")


def signature(rules: Rules, sender: Sender, message: Carrier, now_ms: int) -> Ruling | None:
    seal = message.event.seal
    if not rules.sign or (isinstance(seal, BatchSeal) and seal.covers(message.event, message.more)):
        return None
    return Ruling("blame", "an event that its publisher did not sign", "forged")


def signing_time(rules: Rules, sender: Sender, message: Carrier, now_ms: int) -> Ruling | None:
    seal = message.event.seal
    if not rules.sign or not isinstance(seal, BatchSeal):
        return None
    off_ms = abs(now_ms - seal.time_ms)
    if off_ms <= rules.replay_ms:
        return None
    # The clock of a correct sender may differ from ours.
    outcome: Literal["drop", "blame"] = "blame" if off_ms > 2 * rules.replay_ms else "drop"
    return Ruling(outcome, "an event from another time", "replayed")


def certified_publisher(
    rules: Rules, sender: Sender, message: Carrier, now_ms: int
) -> Ruling | None:
    seal = message.event.seal
    if not (rules.sign and rules.certified) or not isinstance(seal, BatchSeal):
        return None
    if seal.membership == "member":
        return None
    if seal.membership == "stranger":
        return Ruling("blame", "its publisher has no certificate of the authority", "uncertified")
    # The sender may not know yet that the key was revoked, or have another clock.
    return Ruling("drop", "its publisher's certificate has ended or was revoked", "uncertified")


def legal_topic(rules: Rules, sender: Sender, message: Carrier, now_ms: int) -> Ruling | None:
    fault = _fault_of_topic(message.event.topic)
    return Ruling("blame", fault, "bad_messages") if fault else None


def allowed_publisher(rules: Rules, sender: Sender, message: Carrier, now_ms: int) -> Ruling | None:
    event, seal = message.event, message.event.seal
    key = seal.key if rules.sign and isinstance(seal, BatchSeal) else None
    if rules.publishers.may_publish(event.publisher, key, event.topic):
        return None
    # The sender may have a different list for now.
    return Ruling("drop", "its publisher may not publish on its topic", "not_allowed")


Rule = Callable[[Rules, Sender, Any, int], Ruling | None]
"""A rule returns a ruling on a message that breaks it, and None otherwise."""

OTHER_RULES: tuple[Rule, ...] = (gossip_by_datagram,)
"""The rules for messages without an event."""
EVENT_RULES: tuple[Rule, ...] = (
    gossip_by_datagram,
    possible_numbers,
    payload_size,
    signature,
    signing_time,
    certified_publisher,
    legal_topic,
    allowed_publisher,
)
"""The rules for messages that carry an event. The first one that is broken decides."""


@lru_cache(4096)
def _fault_of_topic(topic: Topic) -> str:
    try:
        check_topic(topic)
    except UsageError as error:
        return str(error)
    return ""


# -- rules for frames


def is_array(body: bytes | memoryview) -> Ruling | None:
    if bytes(body[:1]) == b"\xdd":
        return None
    return Ruling("blame", f"a frame of {len(body)} bytes should be an array", "bad_frames")


def several_are_small(body: bytes | memoryview) -> Ruling | None:
    if len(body) <= SEVERAL_BYTES_MAX or int.from_bytes(body[1:5], "big") <= 1:
        return None
    return Ruling(
        "blame",
        f"a frame of {len(body)} bytes should have at most {SEVERAL_BYTES_MAX} bytes if it holds "
        "several messages",
        "bad_frames",
    )


FRAME_RULES = (is_array, several_are_small)
