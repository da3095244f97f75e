from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError
from orbweaver.core.messages import Codec
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.plumtree.messages import Gone, Prune
from orbweaver.net.wire.frames import (
    CONTROL,
    MESSAGES,
    Ask,
    Bye,
    FrameReader,
    Position,
    WantedTopic,
    control_frame,
    messages_header,
    read_control,
)


def read(reader: FrameReader, *pieces: bytes) -> list[tuple[int, bytes]]:
    return [(kind, bytes(body)) for piece in pieces for kind, body in reader.feed(piece)]


def raw(kind: int, body: bytes) -> bytes:
    return (len(body) + 1).to_bytes(4, "big") + bytes([kind]) + body


@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=40)), max_size=6), st.data())
def test_frames_come_out_however_the_bytes_come_in(frames, data):
    stream = b"".join(raw(kind, body) for kind, body in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(FrameReader(100), *pieces) == frames


def test_a_frame_of_the_largest_size_is_read_and_no_larger():
    assert read(FrameReader(10), raw(7, b"x" * 9)) == [(7, b"x" * 9)]
    with pytest.raises(ProtocolError, match="11 bytes"):
        read(FrameReader(10), raw(7, b"x" * 10))
    with pytest.raises(ProtocolError):
        read(FrameReader(10), bytes(4))


def test_a_large_frame_in_small_pieces_is_not_copied_for_each():
    reader = FrameReader(1 << 20)
    stream = raw(1, bytes(1 << 19))
    found = [frame for at in range(len(stream)) for frame in reader.feed(stream[at : at + 1])]
    assert len(found) == 1


def test_control_survives_the_wire():
    message = Ask((WantedTopic("news", 5, (Position(3, 4, (0, 2, 5)),)),))
    [(kind, body)] = read(FrameReader(1000), control_frame(message))
    assert kind == CONTROL
    assert read_control(body) == message


@pytest.mark.parametrize("body", [b"", b"\x91\xa5nobody", b"\xa3bye", b"\x00" * 9, b"\x91" * 5000])
def test_rubbish_is_no_control(body):
    with pytest.raises(ProtocolError):
        read_control(body)


def test_messages_of_a_tick_make_one_frame():
    codec = Codec((Prune, Gone), TopicTable())
    messages = [Prune("a"), Prune("b")]
    bodies = [codec.encode(message) for message in messages]
    frame = messages_header(2, sum(map(len, bodies))) + b"".join(bodies)
    [(kind, body)] = read(FrameReader(1000), frame + control_frame(Bye()))[:1]
    assert kind == MESSAGES
    assert codec.decode_list(body) == messages
