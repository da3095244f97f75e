from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from types import SimpleNamespace

import msgspec
import pytest

from orbweaver.net.counters import Counters
from orbweaver.net.gate.limits import Bucket
from orbweaver.net.keys.identity import SIGNATURE_BYTES, Identity
from orbweaver.net.peers.cards import make_card
from orbweaver.net.wire.datagrams import PER_S, SIZE_MAX, Datagrams, Letter

ONE, TWO = Identity.generate(), Identity.generate()
CARD_ONE, CARD_TWO = (make_card(i, "127.0.0.1", 5, True, 1) for i in (ONE, TWO))


class Wire:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def sendto(self, data: bytes, address: object) -> None:
        self.sent.append(data)

    def get_extra_info(self, name: str) -> SimpleNamespace:
        assert name == "socket"
        return SimpleNamespace(family=socket.AF_INET)


def meeting(check: Callable[[Datagrams, Wire, Datagrams, list[Letter], Counters], None]) -> None:
    async def scenario() -> None:
        got: list[Letter] = []
        counters = Counters()
        wire = Wire()
        sender = Datagrams(ONE, "scope", Counters(), got.append)
        sender.connection_made(wire)  # type: ignore[arg-type]
        check(sender, wire, Datagrams(TWO, "scope", counters, got.append), got, counters)

    asyncio.run(scenario())


def test_a_letter_arrives_with_its_cards():
    def check(sender, wire, receiver, got, counters):
        assert sender.send(CARD_TWO, CARD_ONE, 1, [CARD_ONE], b"message")
        receiver.datagram_received(wire.sent[0], None)
        assert got == [Letter(TWO.node, CARD_ONE, 1, (CARD_ONE,), b"message")]
        assert counters.bad_datagrams == 0

    meeting(check)


def test_an_address_of_the_other_family_goes_by_tcp():
    """Not every loop says that nothing went out."""

    def check(sender, wire, receiver, got, counters):
        assert not sender.send(make_card(TWO, "::1", 5, True, 2), CARD_ONE, 1, [], b"message")
        assert wire.sent == []

    meeting(check)


def test_what_does_not_fit_is_not_sent():
    def check(sender, wire, receiver, got, counters):
        assert not sender.send(CARD_TWO, CARD_ONE, 1, [], bytes(SIZE_MAX + 1))
        assert not sender.send(CARD_TWO, CARD_ONE, 1, [CARD_ONE] * 9, b"")
        assert wire.sent == []

    meeting(check)


def changed(data: bytes, **changes: object) -> bytes:
    letter = msgspec.msgpack.decode(data[SIGNATURE_BYTES:], type=Letter)
    return data[:SIGNATURE_BYTES] + msgspec.msgpack.encode(
        msgspec.structs.replace(letter, **changes)
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: changed(data, message=b"other"),
        lambda data: changed(data, stamp=99),
        lambda data: changed(data, to=ONE.node),
        lambda data: changed(data, card=CARD_TWO),
        lambda data: changed(data, card=make_card(Identity.generate(), "127.0.0.1", 5, True, 1)),
        lambda data: data[:-1],
        lambda data: data[:60],
        lambda data: bytes(len(data)),
        lambda data: b"",
    ],
)
def test_what_was_changed_on_the_way_is_refused(spoil):
    def check(sender, wire, receiver, got, counters):
        sender.send(CARD_TWO, CARD_ONE, 1, [], b"message")
        receiver.datagram_received(spoil(wire.sent[0]), None)
        assert got == []
        assert counters.bad_datagrams == 1
        receiver.datagram_received(wire.sent[0], None)
        assert len(got) == 1, "the genuine one is still welcome"

    meeting(check)


def test_nothing_counts_twice_or_out_of_turn():
    def check(sender, wire, receiver, got, counters):
        for stamp in (5, 6):
            sender.send(CARD_TWO, CARD_ONE, stamp, [], b"message")
        newer, older = wire.sent[1], wire.sent[0]
        for data in (newer, newer, older):
            receiver.datagram_received(data, None)
        assert [letter.stamp for letter in got] == [6]
        assert counters.bad_datagrams == 2

    meeting(check)


def test_another_cluster_is_not_heard():
    def check(sender, wire, receiver, got, counters):
        elsewhere = Datagrams(TWO, "other scope", counters, got.append)
        sender.send(CARD_TWO, CARD_ONE, 1, [], b"message")
        elsewhere.datagram_received(wire.sent[0], None)
        assert got == []
        assert counters.bad_datagrams == 1

    meeting(check)


def test_signatures_of_a_flood_are_not_looked_at_and_it_leaves_no_debt():
    clock = 0.0

    def check(sender, wire, receiver, got, counters):
        nonlocal clock
        receiver._loop = SimpleNamespace(time=lambda: clock)
        receiver._bucket = Bucket(PER_S, PER_S, clock)
        sender.send(CARD_TWO, CARD_ONE, 1, [], b"message")
        forged = changed(wire.sent[0], message=b"other")
        for _ in range(3 * round(PER_S)):
            receiver.datagram_received(forged, None)
        assert counters.bad_datagrams == PER_S
        clock += 2 / PER_S
        receiver.datagram_received(wire.sent[0], None)
        assert len(got) == 1

    meeting(check)


def test_rubbish_keeps_nobody_out():
    def check(sender, wire, receiver, got, counters):
        for _ in range(3 * round(PER_S)):
            receiver.datagram_received(b"rubbish", None)
        sender.send(CARD_TWO, CARD_ONE, 1, [], b"message")
        receiver.datagram_received(wire.sent[0], None)
        assert len(got) == 1
        assert counters.bad_datagrams == 3 * PER_S

    meeting(check)


@pytest.mark.parametrize("host", ["example.org", "localhost", "x" * 200, "a..b", "1.2.3"])
def test_a_name_is_not_looked_up(host):
    def check(sender, wire, receiver, got, counters):
        assert not sender.send(make_card(TWO, host, 5, True, 1), CARD_ONE, 1, [], b"message")
        assert wire.sent == []

    meeting(check)


def test_what_the_system_does_not_send_goes_by_tcp():
    def check(sender, wire, receiver, got, counters):
        for error in (OSError, ValueError):
            wire.sendto = lambda *_, error=error: (_ for _ in ()).throw(error())
            assert not sender.send(CARD_TWO, CARD_ONE, 1, [], b"message")

    meeting(check)
