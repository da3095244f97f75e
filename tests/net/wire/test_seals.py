from __future__ import annotations

import msgspec
import pytest

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.net.keys.identity import Identity
from orbweaver.net.wire.seals import EVENTS_MAX, BatchSeal, SealBody, SealChecker, Sealer

ME = Identity.generate()


def sealed(count: int) -> list[Event]:
    sealer = Sealer(ME, lambda: 1000)
    events = [Event("t", ME.node, 5, seq, b"payload") for seq in range(count)]
    for event in events:
        sealer.add(event)
    sealer.close()
    return events


def test_events_of_a_tick_share_a_signature():
    events = sealed(3)
    seals = {id(event.seal) for event in events}
    assert len(seals) == 1
    seal = SealChecker().check(events[0].seal.data)
    assert all(seal.covers(event) for event in events)
    assert seal.time_ms == 1000
    assert seal.publisher == ME.node


def test_a_seal_has_room_for_so_many():
    events = sealed(EVENTS_MAX + 1)
    assert len({id(event.seal) for event in events}) == 2
    assert all(SealChecker().check(event.seal.data).covers(event) for event in events[-2:])


@pytest.mark.parametrize(
    "change",
    [{"payload": b"other"}, {"topic": "u"}, {"publisher": NodeId(1)}, {"epoch": 6}, {"seq": 9}],
    ids=str,
)
def test_a_changed_event_is_not_covered(change):
    event = sealed(3)[1]
    seal = SealChecker().check(event.seal.data)
    assert seal.covers(event)
    assert not seal.covers(msgspec.structs.replace(event, **change))


def body(data: bytes) -> SealBody:
    return msgspec.msgpack.decode(data, type=SealBody)


@pytest.mark.parametrize(
    "change",
    [
        {"time_ms": 2000}, {"hashes": bytes(16)}, {"hashes": b""}, {"hashes": bytes(17)},
        {"hashes": bytes(16 * (EVENTS_MAX + 1))}, {"signature": bytes(64)}, {"signature": b""},
        {"key": Identity(bytes(32)).public_key}, {"key": b""},
    ],
    ids=lambda change: str(change)[:30],
)  # fmt: skip
def test_a_changed_seal_is_refused(change):
    data = sealed(2)[0].seal.data
    false = msgspec.msgpack.encode(msgspec.structs.replace(body(data), **change))
    with pytest.raises(ProtocolError):
        SealChecker().check(false)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xc1", b"\x94\x01\x02\x03\x04", b"\xff" * 100])
def test_rubbish_is_no_seal(data):
    with pytest.raises(ProtocolError):
        SealChecker().check(data)


def test_a_seal_is_checked_once(monkeypatch):
    checks = []
    monkeypatch.setattr("orbweaver.net.wire.seals.verify", lambda *_: checks.append(1) or True)
    checker = SealChecker()
    data = sealed(2)[0].seal.data
    assert checker.check(data) is checker.check(bytes(data))
    assert len(checks) == 1


def test_what_was_checked_is_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(SealChecker, "SEALS_MAX", 3)
    checker = SealChecker()
    for _ in range(10):
        checker.check(sealed(1)[0].seal.data)
    assert len(checker._checked) == 1  # equal events, equal seals
    for n in range(10):
        sealer = Sealer(ME, lambda n=n: n)
        event = Event("t", ME.node, 5, n)
        sealer.add(event)
        sealer.close()
        checker.check(event.seal.data)
    assert len(checker._checked) == 3


def test_a_seal_is_open_until_the_tick_ends():
    sealer = Sealer(ME, lambda: 0)
    event = Event("t", ME.node, 0, 0)
    sealer.add(event)
    assert isinstance(event.seal, BatchSeal)
    assert not event.seal.data
    sealer.close()
    assert event.seal.data
    sealer.close()  # nothing to sign
