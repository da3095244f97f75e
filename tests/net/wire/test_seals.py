from __future__ import annotations

import msgspec
import pytest

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event, run_of
from orbweaver.net.keys.identity import Identity
from orbweaver.net.wire.seals import EVENTS_MAX, SealBody, SealChecker, event_hashes, seal_events

ME = Identity.generate()


def run(count: int) -> tuple[Event, list[bytes]]:
    """The first event and the payloads of the others."""
    return Event("t", ME.node, 5, 7, b"payload 0"), [b"payload %d" % n for n in range(1, count)]


def sealed(count: int, time_ms: int = 1000) -> bytes:
    return seal_events(ME, "test", event_hashes(*run(count)), time_ms).data


def check(data: bytes, cluster: str = "test"):
    return SealChecker(cluster).check(data)


def test_events_of_a_tick_share_a_signature():
    seal = check(sealed(3))
    assert seal.covers(*run(3))
    assert all(seal.covers(event) for event in run_of(*run(3)))
    assert seal.time_ms == 1000
    assert seal.publisher == ME.node


@pytest.mark.parametrize("change", [{"topic": "u"}, {"seq": 6}, {"seq": 8}, {"epoch": 6}], ids=str)
def test_a_changed_run_is_not_covered(change):
    first, more = run(5)
    seal = check(sealed(5))
    assert not seal.covers(msgspec.structs.replace(first, **change), more)
    assert not seal.covers(first, [*more[:2], b"other", *more[3:]])
    assert not seal.covers(first, [*more, b"one more"])
    assert seal.covers(first, more[:2]), "each event is signed, not the run"


def test_a_seal_is_worth_nothing_in_another_cluster():
    with pytest.raises(ProtocolError, match="not in cluster 'prod'"):
        check(sealed(1), "prod")


def test_a_seal_has_room_for_a_run():
    assert check(sealed(EVENTS_MAX)).covers(*run(EVENTS_MAX))


@pytest.mark.parametrize(
    "change",
    [{"payload": b"other"}, {"topic": "u"}, {"publisher": NodeId(1)}, {"epoch": 6}, {"seq": 9}],
    ids=str,
)
def test_a_changed_event_is_not_covered(change):
    _, event, _ = run_of(*run(3))
    seal = check(sealed(3))
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
    data = sealed(2)
    false = msgspec.msgpack.encode(msgspec.structs.replace(body(data), **change))
    with pytest.raises(ProtocolError):
        check(false)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xc1", b"\x94\x01\x02\x03\x04", b"\xff" * 100])
def test_rubbish_is_no_seal(data):
    with pytest.raises(ProtocolError):
        check(data)


def test_a_seal_is_checked_once(monkeypatch):
    checks = []
    monkeypatch.setattr("orbweaver.net.wire.seals.verify", lambda *_: checks.append(1) or True)
    checker = SealChecker("test")
    data = sealed(2)
    assert checker.check(data) is checker.check(bytes(data))
    assert len(checks) == 1


def test_what_was_checked_is_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(SealChecker, "SEALS_MAX", 3)
    checker = SealChecker("test")
    for _ in range(10):
        checker.check(sealed(1))
    assert len(checker._checked) == 1  # equal events, equal seals
    for n in range(10):
        checker.check(sealed(1, time_ms=n))
    assert len(checker._checked) == 3
