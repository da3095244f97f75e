"""Whoever is told of a node is told where it is: every id in a message is found."""

from __future__ import annotations

import msgspec
import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Codec, Event, Message
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import News, Notice, Shuffle
from orbweaver.gossip.plumtree.messages import Graft, IHave, Newest, Prune, Push
from orbweaver.net.wire.names import finder
from orbweaver.overlays.spidercast.messages import Redirect
from orbweaver.overlays.vitis.messages import Profile, Proposal


class Nested(msgspec.Struct, frozen=True):
    who: NodeId
    note: str


class Everything(Message, frozen=True, tag="everything"):
    one: NodeId
    maybe: NodeId | None
    many: tuple[NodeId, ...]
    inside: Nested | None
    by_node: dict[NodeId, int]
    by_name: dict[str, NodeId]
    listed: list[Nested]
    number: int


def names(message: Message) -> list[int]:
    find = finder(type(message))
    return [] if find is None else list(find(message))


def test_ids_are_found_wherever_they_are():
    message = Everything(
        NodeId(1), NodeId(2), (NodeId(3), NodeId(4)), Nested(NodeId(5), "x"), {NodeId(6): 99},
        {"a": NodeId(7)}, [Nested(NodeId(8), "y")], 99,
    )  # fmt: skip
    assert names(message) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert names(Everything(NodeId(1), None, (), None, {}, {}, [], 99)) == [1]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (Shuffle(tuple(Descriptor(NodeId(n), NOTHING, 1) for n in (7, 8)), (0, 0)), [7, 8]),
        (Redirect(0, NodeId(3), None), [3]),
        (Redirect(0, None, None), []),
        (Profile(True, None, (Proposal("t", NodeId(1), NodeId(2), 3),)), [1, 2]),
        (Prune("t"), []),
    ],
)  # fmt: skip
def test_messages_of_overlays(message, found):
    assert names(message) == found


@pytest.mark.parametrize(
    "message",
    [
        Push(Event("t", NodeId(1), 0, 0), 1, 0),
        Notice((NodeId(1), 0, "t", 0)),
        Graft((NodeId(1), 0, "t"), (0,), 10),
        IHave((Newest((NodeId(1), 0, "t"), 0, 0),)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_publisher_need_not_be_reached(message):
    assert names(message) == []


class PlacedDescriptor(Descriptor, frozen=True):
    place: int
    beside: NodeId


def test_ids_of_richer_descriptors_are_found_and_survive_the_codec():
    table = TopicTable(["a"])
    codec = Codec([Shuffle[PlacedDescriptor], News[Descriptor]], table)
    entry = PlacedDescriptor(NodeId(1), table.interest(["a"]), 2, 77, NodeId(3))
    message = codec.decode(codec.encode(Shuffle((entry,), (4,))))
    assert message == Shuffle((entry,), (4,))
    assert names(message) == [1, 3]
    plain = Descriptor(NodeId(1), table.interest(["a"]), 2)
    assert codec.decode(codec.encode(News((plain,), (4,)))) == News((plain,), (4,))
