"""The rules of the gate, one by one: each has a message that it alone refuses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from orbweaver.core.messages import Event, Message
from orbweaver.gossip.messages import Relay, Shuffle
from orbweaver.gossip.plumtree.messages import Prune, Push, PushRun
from orbweaver.net.events.seen import SEQ_MAX
from orbweaver.net.gate import rules as the_rules
from orbweaver.net.gate.publishers import Publishers
from orbweaver.net.gate.rules import (
    ACCEPT,
    AGE_MS_MAX,
    EVENT_RULES,
    FRAME_RULES,
    HOPS_MAX,
    OTHER_RULES,
    SEVERAL_BYTES_MAX,
    UPKEEP_MAX,
    Rules,
    Sender,
    judge,
    judge_frame,
    judge_together,
    rules_of,
)
from orbweaver.net.keys.identity import Identity
from orbweaver.net.keys.members import Membership
from orbweaver.net.peers import outqueue
from orbweaver.net.settings import make_settings
from orbweaver.net.wire.seals import event_hashes, seal_events

NOW = 1_800_000_000_000
"""The time of day, in milliseconds."""
ME, OTHER = Identity(bytes(32)), Identity(bytes([1]) * 32)
PEER = Sender(ME.node)
RULES = Rules(True, 1000, 60_000, Publishers({"closed/#": [OTHER.public_key.hex()]}), True)


def sealed(
    time_ms: int = NOW,
    identity: Identity = ME,
    membership: Membership = "member",
    **fields: Any,
) -> Event:
    named = {"topic": "news", "publisher": identity.node, "epoch": 7, "seq": 0, "payload": b"x"}
    event = Event(**named | fields)
    seal = seal_events(identity, "test", event_hashes(event), time_ms)
    seal.membership = membership
    return msgspec.structs.replace(event, seal=seal)


def push(event: Event, hops: int = 1, age_ms: int = 0) -> Push:
    return Push(event, hops, age_ms)


def run(*payloads: bytes, signed: int = 256) -> PushRun:
    """A run of which the first `signed` events are signed."""
    first, more = Event("news", ME.node, 7, 0, payloads[0]), payloads[1:]
    seal = seal_events(ME, "test", event_hashes(first, more)[:signed], NOW)
    seal.membership = "member"
    return PushRun(msgspec.structs.replace(first, seal=seal), 1, 0, more)


def ruling(message: Message, sender: Sender = PEER, rules: Rules = RULES) -> tuple[str, str]:
    outcome, _, counter = judge(rules, sender, message, NOW)
    return outcome, counter


BY_DATAGRAM = Sender(ME.node, by_datagram=True)
BROKEN: list[tuple[str, Sender, Message, str, str]] = [
    ("gossip_by_datagram", BY_DATAGRAM, push(sealed()), "blame", ""),
    ("gossip_by_datagram", BY_DATAGRAM, Relay(("news",)), "blame", ""),
    ("gossip_by_datagram", BY_DATAGRAM, Prune("news"), "blame", ""),
    ("possible_numbers", PEER, push(sealed(), hops=0), "blame", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(), hops=HOPS_MAX + 1), "drop", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(), hops=HOPS_MAX + 2), "blame", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(), age_ms=-1), "blame", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(), age_ms=AGE_MS_MAX + 1), "drop", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(), age_ms=2 * AGE_MS_MAX + 1), "blame", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(seq=-1)), "blame", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(seq=-1), HOPS_MAX + 1), "blame", "bad_messages"),
    ("possible_numbers", PEER, push(sealed(seq=SEQ_MAX)), "blame", "bad_messages"),
    ("payload_size", PEER, push(sealed(payload=bytes(1001))), "drop", "bad_messages"),
    ("payload_size", PEER, run(b"x", bytes(1001), b"x"), "drop", "bad_messages"),
    ("signature", PEER, push(Event("news", ME.node, 7, 0, b"x")), "blame", "forged"),
    ("signature", PEER, run(b"x", b"y", b"z", signed=2), "blame", "forged"),
    ("signing_time", PEER, push(sealed(NOW - 60_001)), "drop", "replayed"),
    ("signing_time", PEER, push(sealed(NOW + 60_001)), "drop", "replayed"),
    ("signing_time", PEER, push(sealed(NOW - 120_001)), "blame", "replayed"),
    ("signing_time", PEER, push(sealed(NOW + 120_001)), "blame", "replayed"),
    ("certified_publisher", PEER, push(sealed(membership="stranger")), "blame", "uncertified"),
    ("certified_publisher", PEER, push(sealed(membership="former")), "drop", "uncertified"),
    ("legal_topic", PEER, push(sealed(topic="a//b")), "blame", "bad_messages"),
    ("legal_topic", PEER, push(sealed(topic="")), "blame", "bad_messages"),
    ("allowed_publisher", PEER, push(sealed(topic="closed/a")), "drop", "not_allowed"),
]  # fmt: skip
SOUND: list[Message] = [
    push(sealed()),
    push(sealed(), HOPS_MAX, AGE_MS_MAX),
    push(sealed(payload=bytes(1000))),
    push(sealed(payload=b"")),
    run(b"x", bytes(1000), b""),
    push(sealed(NOW - 60_000)),
    push(sealed(NOW + 60_000)),
    push(sealed(identity=OTHER, topic="closed/a")),
    Relay(("news",)),
    Prune("news"),
]


@pytest.mark.parametrize(("rule", "sender", "message", "outcome", "counter"), BROKEN)
def test_each_rule_alone_refuses_its_example(rule, sender, message, outcome, counter, monkeypatch):
    assert ruling(message, sender) == (outcome, counter)
    for rules in ("EVENT_RULES", "OTHER_RULES"):
        rest = tuple(each for each in getattr(the_rules, rules) if each.__name__ != rule)
        monkeypatch.setattr(the_rules, rules, rest)
    assert judge(RULES, sender, message, NOW) is ACCEPT


def test_no_rule_is_without_an_example():
    assert {rule for rule, *_ in BROKEN} == {r.__name__ for r in (*EVENT_RULES, *OTHER_RULES)}


@pytest.mark.parametrize("message", SOUND)
def test_what_is_within_bounds_is_let_in(message):
    assert judge(RULES, PEER, message, NOW) is ACCEPT


def test_gossip_may_come_in_datagrams():
    assert judge(RULES, BY_DATAGRAM, Shuffle((), ()), NOW) is ACCEPT


@pytest.mark.parametrize(
    "change",
    [{"topic": "other"}, {"epoch": 8}, {"seq": 1}, {"payload": b"y"}, {"publisher": OTHER.node}],
)
def test_a_seal_covers_every_part_of_its_event(change):
    assert ruling(push(msgspec.structs.replace(sealed(), **change))) == ("blame", "forged")


def test_without_signatures_neither_seals_nor_their_times_count():
    unsigned = RULES._replace(sign=False)
    for event in (Event("news", ME.node, 7, 0, b"x"), sealed(0), sealed(membership="stranger")):
        assert judge(unsigned, PEER, push(event), NOW) is ACCEPT


def test_the_rules_are_those_of_the_settings():
    keys = [OTHER.public_key.hex()]
    rules = rules_of(
        make_settings(
            {"sign": True, "payload_bytes_max": 1000, "replay_s": 300, "publishers": {"a": keys}}
        )
    )
    assert rules[:3] == (True, 1000, 300_000)
    assert not rules.publishers.may_publish(ME.node, ME.public_key, "a")
    assert rules.publishers.may_publish(OTHER.node, OTHER.public_key, "a")
    assert not rules_of(make_settings({"sign": False})).sign
    assert not rules.certified
    assert rules_of(make_settings({"tls": "node-1"})).certified
    assert not rules_of(make_settings({"tls": "node-1", "publishers_certified": False})).certified


def test_a_key_that_has_the_id_of_a_listed_one_may_not_publish():
    """It takes some years to find such a key; here the seal says that it has been found."""
    event = sealed(identity=OTHER, topic="closed/a")
    event.seal.key = ME.public_key  # type: ignore[union-attr]
    assert ruling(push(event)) == ("drop", "not_allowed")
    assert ruling(push(event), rules=RULES._replace(sign=False)) == ("accept", "")


# -- frames

SEVERAL = b"\xdd\x00\x00\x00\x02"
FRAMES = [
    ("is_array", b""),
    ("is_array", b"\xc0"),
    ("is_array", b"\x91\xa5hello"),
    ("several_are_small", SEVERAL + bytes(SEVERAL_BYTES_MAX - 4)),
]


@pytest.mark.parametrize(("rule", "body"), FRAMES)
def test_each_rule_for_frames_alone_refuses_its_example(rule, body, monkeypatch):
    outcome, _, counter = judge_frame(body)
    assert (outcome, counter) == ("blame", "bad_frames")
    rest = tuple(each for each in FRAME_RULES if each.__name__ != rule)
    monkeypatch.setattr(the_rules, "FRAME_RULES", rest)
    assert judge_frame(body) is ACCEPT


def test_no_rule_for_frames_is_without_an_example():
    assert {rule for rule, _ in FRAMES} == {rule.__name__ for rule in FRAME_RULES}


def test_a_large_frame_of_one_message_is_let_in():
    assert judge_frame(b"\xdd\x00\x00\x00\x01" + bytes(SEVERAL_BYTES_MAX)) is ACCEPT
    assert judge_frame(SEVERAL + bytes(SEVERAL_BYTES_MAX - 5)) is ACCEPT


def test_more_upkeep_at_once_than_waits_for_a_peer_is_refused():
    upkeep, others = [Shuffle((), ())] * UPKEEP_MAX, [push(sealed()), Prune("news")] * 1000
    assert judge_together([*upkeep, *others]) is ACCEPT
    assert judge_together([*upkeep, *upkeep[:1]])[::2] == ("blame", "bad_messages")
    assert UPKEEP_MAX >= outqueue.UPKEEP_MAX
