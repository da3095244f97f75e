from contextlib import suppress
from typing import get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import INTEREST_BYTES_MAX, PURPOSES, Carrier, Codec, Event, Seal
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.plumtree.messages import Prune, Push
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.overlays.spidercast.messages import Heartbeat, Leave, Redirect
from tests.core.any_value import LEAVES, SEALS, TABLE, values_of

CASES = [
    pytest.param(overlay, message, id=f"{overlay.name}-{message.__name__}")
    for overlay in OVERLAYS.values()
    for message in overlay.messages
]


@pytest.mark.parametrize(("overlay", "message"), CASES)
def test_every_message_survives_the_wire(overlay, message):
    codec = Codec(overlay.messages, TABLE)
    codec.seals = SEALS

    @settings(deadline=None, max_examples=30)
    @given(values_of(message, LEAVES | {float: st.floats(allow_nan=False)}))
    def survives(sample):
        back = codec.decode(codec.encode(sample))
        assert type(back) is (get_origin(message) or message)
        assert back == sample

    survives()


@pytest.mark.parametrize(("overlay", "message"), CASES)
def test_every_message_says_what_it_is_for(overlay, message):
    kind = get_origin(message) or message
    assert kind.purpose in PURPOSES
    assert kind.carries == issubclass(kind, Carrier) == (kind.purpose == "data")


def test_an_interest_is_numbered_anew_by_the_receiver():
    near, far = TopicTable(["a", "b", "c"]), TopicTable(["c"])
    sent = Codec([Heartbeat], near).encode(Heartbeat((), near.interest(["b", "c"])))
    got = Codec([Heartbeat], far).decode(sent).interest
    assert sorted(got) == ["b", "c"]
    assert got == far.interest(["c", "b"])
    assert got.mask == 0b11


def test_an_interest_goes_as_names_in_compact_arrays():
    sent = Codec([Heartbeat], TABLE).encode(Heartbeat((), TABLE.interest(["news"])))
    assert msgspec.msgpack.decode(sent) == ["heartbeat", [], ["news"]]


def test_a_stream_is_named_by_publisher_epoch_and_topic():
    assert Event("t", NodeId(3), 17, 5, b"x").stream == (3, 17, "t")


@pytest.mark.parametrize(("limit", "room"), [(2, 100), (100, 2)])
def test_a_stranger_cannot_fill_the_topic_table(limit, room):
    table = TopicTable(limit=limit)
    codec = Codec([Heartbeat], table)
    codec.room = room
    for names in (["a", "b", "c"], ["d", "b", "e", "b"]):
        got = codec.decode(msgspec.msgpack.encode(["heartbeat", [], names]))
        assert list(got.interest) == [name for name in ("a", "b") if name in names]
    assert len(table) == 2


def test_an_interest_has_to_fit_into_a_message_with_others():
    codec = Codec([Heartbeat], TopicTable())
    most = [f"{n:03}" + "x" * 252 for n in range(INTEREST_BYTES_MAX // 255)]
    assert len(codec.decode(msgspec.msgpack.encode(["heartbeat", [], most])).interest) == 128
    for names in ([*most, "y" * 255], ["ö" * 127] * 300):
        with pytest.raises(ProtocolError, match="an interest of"):
            codec.decode(msgspec.msgpack.encode(["heartbeat", [], names]))


def test_what_is_no_message_cannot_be_encoded():
    with pytest.raises(TypeError, match="object"):
        Codec([Prune], TABLE).encode(Prune(object()))


UNDECODABLE = {
    "nothing": b"",
    "cut short": Codec([Prune], TABLE).encode(Prune("news"))[:-1],
    "too long": Codec([Prune], TABLE).encode(Prune("news")) + b"\x00",
    "no array": b"\xc0",
    "unknown tag": msgspec.msgpack.encode(["nonsense", 1]),
    "of another overlay": msgspec.msgpack.encode(["ring-leave"]),
    "a field too few": msgspec.msgpack.encode(["redirect", 0, 1]),
    "wrong type": msgspec.msgpack.encode(["leave", "all"]),
    "interest not a list": msgspec.msgpack.encode(["heartbeat", [], "news"]),
    "interest of numbers": msgspec.msgpack.encode(["heartbeat", [], [1, 2]]),
    "bad utf-8 in a topic": b"\x92\xa5prune\xa1\xff",
    "bad utf-8 in an interest": b"\x93\xa9heartbeat\x90\x91\xa1\xff",
    "age below 0": msgspec.msgpack.encode(["shuffle", [[1, [], 0, -1]]]),
    "version below 0": msgspec.msgpack.encode(["shuffle", [[1, [], -1, 0]]]),
    "absurd version": msgspec.msgpack.encode(["shuffle", [[1, [], 2**63, 0]]]),
    "more entries than any view": msgspec.msgpack.encode(["shuffle", [[1, [], 0, 0]] * 5000]),
    "a topic without end": msgspec.msgpack.encode(["prune", "x" * 256]),
    "too deep": b"\x93\xa9heartbeat\x90" + b"\x91" * 100_000,
    "unhashable map key": b"\x93\xa9heartbeat\x90\x81\x80\x01",
}


@pytest.mark.parametrize("data", UNDECODABLE.values(), ids=UNDECODABLE.keys())
def test_undecodable_bytes_are_the_fault_of_the_peer(data):
    with pytest.raises(ProtocolError):
        Codec(OVERLAYS["spidercast"].messages, TABLE).decode(data)


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS.keys())
def test_random_bytes_decode_or_raise_a_protocol_error(overlay):
    codec = Codec(overlay.messages, TopicTable(limit=100))

    @settings(deadline=None)
    @given(st.binary(max_size=60))
    def holds(data):
        with suppress(ProtocolError):
            assert type(codec.decode(data)) in overlay.messages

    holds()


VALID = [
    Heartbeat((), TABLE.interest(["news", "t4"])),
    Push(Event("news", NodeId(300), 1000, 7, b"payload"), 3, 250),
    Redirect(1, NodeId(70_000), TABLE.interest(["t5"])),
    Leave(None),
]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(VALID), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255))))
def test_damaged_messages_decode_or_raise_a_protocol_error(message, damages):
    codec = Codec(OVERLAYS["spidercast"].messages, TopicTable(limit=100))
    data = bytearray(codec.encode(message))
    for place, byte in damages:
        data[place % len(data)] = byte
    with suppress(ProtocolError):
        assert type(codec.decode(bytes(data))) in OVERLAYS["spidercast"].messages


def test_of_a_seal_that_is_not_there_only_the_name_comes():
    codec = Codec((Push,), TABLE)
    event = Event("news", NodeId(1), 0, 0, b"", SEALS[b"one"])
    back = codec.decode(codec.encode(Push(event, 1, 0)))
    assert back.event.seal == Seal(b"one")
    assert back.event.seal is not SEALS[b"one"]


def test_many_messages_in_one_array():
    codec = Codec((Prune, Leave), TABLE)
    messages = [Prune("news"), Leave(None), Leave(3)]
    body = b"\xdd" + len(messages).to_bytes(4, "big") + b"".join(map(codec.encode, messages))
    assert codec.decode_list(body) == messages
    with pytest.raises(ProtocolError):
        codec.decode_list(body[:-1])


@pytest.mark.parametrize("name", ["", "a//b", "\x00", "x" * 256])
def test_an_interest_in_an_illegal_topic_is_refused(name):
    data = msgspec.msgpack.encode(["redirect", 0, None, [name]])
    with pytest.raises(ProtocolError, match="topic"):
        Codec((Redirect,), TopicTable()).decode(data)
