"""Whatever comes off the wire is read, or is a ProtocolError: nothing else."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError
from orbweaver.core.messages import Codec
from orbweaver.core.topics import TopicTable
from orbweaver.net.peers.cards import Card
from orbweaver.net.wire.datagrams import Letter
from orbweaver.net.wire.frames import (
    CONTROL_TYPES,
    HEADER,
    FrameReader,
    control_frame,
    messages_header,
    read_control,
)
from orbweaver.net.wire.seals import SealBody, SealChecker
from orbweaver.overlays.catalog import OVERLAYS
from tests.core.any_value import SEALS, TABLE, values_of

SIZE_MAX = 1 << 16

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.binary(max_size=8),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)
"""Anything that msgpack can say."""


def tagged(tags: list[str]) -> st.SearchStrategy[bytes]:
    """Arrays that begin as a message does, and go on as they like."""
    return st.tuples(st.sampled_from(tags), st.lists(TREES, max_size=7)).map(
        lambda parts: msgspec.msgpack.encode([parts[0], *parts[1]])
    )


def damaged(data: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    def damage(parts: tuple[bytes, list[tuple[int, int]]]) -> bytes:
        spoilt = bytearray(parts[0])
        for place, byte in parts[1]:
            if spoilt:
                spoilt[place % len(spoilt)] = byte
        return bytes(spoilt)

    places = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255)), max_size=4)
    return st.tuples(data, places).map(damage)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


def frames_of(chunks: list[bytes]) -> tuple[list[tuple[int, bytes]], bool]:
    """What was read, and whether it ended in an error."""
    reader, read = FrameReader(SIZE_MAX), []
    try:
        for chunk in chunks:
            for kind, body in reader.feed(chunk):
                read.append((kind, bytes(body)))
    except ProtocolError:
        return read, True
    return read, False


FRAMES = st.lists(
    st.tuples(st.integers(0, 255), st.binary(max_size=40)).map(
        lambda frame: (len(frame[1]) + 1).to_bytes(4, "big") + bytes([frame[0]]) + frame[1]
    ),
    max_size=6,
).map(b"".join)


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.binary(max_size=100), FRAMES, damaged(FRAMES)), st.lists(st.integers(0, 300)))
def test_however_the_bytes_come_the_frames_are_the_same(data: bytes, places: list[int]) -> None:
    whole = frames_of([data])
    assert frames_of(cut(data, places)) == whole
    assert frames_of([bytes([byte]) for byte in data]) == whole


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=2000)), max_size=5),
       st.lists(st.integers(0, 10_000)))  # fmt: skip
def test_what_was_sent_is_read(sent: list[tuple[int, bytes]], places: list[int]) -> None:
    data = b"".join(
        (len(body) + 1).to_bytes(4, "big") + bytes([kind]) + body for kind, body in sent
    )
    assert frames_of(cut(data, places)) == (sent, False)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=500), st.integers(1, 300))
def test_no_more_is_kept_than_a_frame(data: bytes, size: int) -> None:
    reader, kept = FrameReader(300), 0
    for chunk in cut(data * 20, list(range(0, len(data) * 20, size))):
        try:
            for _ in reader.feed(chunk):
                pass
        except ProtocolError:
            break
        kept = max(kept, len(reader._rest))
    assert kept <= 300 + HEADER


# -- control


CONTROL_TAGS = [kind.__struct_config__.tag for kind in CONTROL_TYPES]
CONTROL_BYTES = st.one_of(
    st.binary(max_size=200),
    TREES.map(msgspec.msgpack.encode),
    tagged(CONTROL_TAGS),  # type: ignore[arg-type]
    st.one_of([values_of(kind) for kind in CONTROL_TYPES]).map(
        lambda message: control_frame(message)[HEADER:]
    ),
)


@settings(deadline=None, max_examples=1000)
@given(st.one_of(CONTROL_BYTES, damaged(CONTROL_BYTES)))
def test_control_is_read_or_refused(body: bytes) -> None:
    with suppress(ProtocolError):
        message = read_control(memoryview(body))
        assert type(message) in CONTROL_TYPES
        again = control_frame(message)[HEADER:]
        assert read_control(again) == message


# -- messages


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS.keys())
def test_messages_are_read_or_refused(overlay: Any) -> None:
    codec = Codec(overlay.messages, TopicTable(limit=50))
    codec.seals = SEALS
    sender = Codec(overlay.messages, TABLE)
    classes = [get_origin(kind) or kind for kind in overlay.messages]
    one = st.one_of(
        st.one_of([values_of(kind) for kind in overlay.messages]).map(sender.encode),
        tagged([kind.__struct_config__.tag for kind in classes]),
        TREES.map(msgspec.msgpack.encode),
    )
    body = st.lists(one, max_size=4).map(
        lambda bodies: (
            messages_header(len(bodies), sum(map(len, bodies)))[HEADER:] + b"".join(bodies)
        )
    )

    @settings(deadline=None, max_examples=300)
    @given(st.one_of(body, damaged(body), st.binary(max_size=100)))
    def holds(data: bytes) -> None:
        with suppress(ProtocolError):
            for message in codec.decode_list(memoryview(data)):
                assert type(message) in classes
                # What an overlay has been given, it can pass on.
                assert type(codec.decode(codec.encode(message))) is type(message)

    holds()


# -- what else is signed


SEAL_BYTES = st.one_of(
    st.binary(max_size=200), TREES.map(msgspec.msgpack.encode),
    values_of(SealBody).map(msgspec.msgpack.encode),
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.one_of(SEAL_BYTES, damaged(SEAL_BYTES)))
def test_seals_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        SealChecker("orbweaver").check(data)


@settings(deadline=None, max_examples=300)
@given(st.one_of(values_of(Letter), values_of(Card)))
def test_cards_and_letters_name_a_node_whatever_their_key(found: Letter | Card) -> None:
    card = found.card if isinstance(found, Letter) else found
    assert 0 <= card.node < 2**63
    assert isinstance(card.signed_part(), bytes)
