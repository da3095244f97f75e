"""What waits for a peer, and how it is packed into frames."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Codec, Event, Message
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Shuffle
from orbweaver.gossip.plumtree.messages import Prune, Push, PushRun
from orbweaver.net.counters import Counters
from orbweaver.net.gate.rules import SEVERAL_BYTES_MAX
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.cards import make_card
from orbweaver.net.peers.outqueue import UPKEEP_MAX, OutQueue, wrap
from orbweaver.net.wire.connection import TOLD_CARDS_MAX, TOLD_SEALS_MAX
from orbweaver.net.wire.frames import MESSAGES, Cards, FrameReader, Seals, read_control
from orbweaver.net.wire.packing import FRAME_SOFT_MAX, SEALS_TOGETHER, pack
from orbweaver.net.wire.seals import event_hashes, seal_events
from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.overlays.spidercast.messages import Leave

CODEC = Codec(SpiderCast.messages, TopicTable())
ME, OTHER = Identity.generate(), Identity.generate()
CARDS = {i.node: make_card(i, "127.0.0.1", 5, False, 1) for i in (ME, OTHER)}


def push(seq: int, size: int = 0) -> Push:
    return Push(Event("t", ME.node, 0, seq, bytes(size)), 1, 0)


def taken(queue: OutQueue, bytes_max: int = 1 << 20) -> list[Message]:
    return [parcel.message for parcel in queue.take(bytes_max, CODEC.encode)]


def put_all(*messages: Message, messages_max: int = 100, bytes_max: int = 1000):
    queue, counters = OutQueue(), Counters()
    for message in messages:
        queue.put(wrap(message), messages_max, bytes_max, counters)
    return queue, counters


def test_upkeep_goes_first_and_repair_stays_in_line():
    queue, _ = put_all(push(0), Prune("t"), Leave(None), push(1))
    assert taken(queue) == [Leave(None), push(0), Prune("t"), push(1)]
    assert len(queue) == 0


def test_of_events_the_oldest_go_when_there_are_too_many():
    queue, counters = put_all(*(push(n) for n in range(5)), messages_max=3)
    assert [m.event.seq for m in taken(queue)] == [2, 3, 4]
    assert (counters.dropped_data, counters.dropped_control) == (2, 0)


def test_what_is_dropped_is_returned():
    queue, counters = OutQueue(), Counters()
    dropped = [queue.put(wrap(push(n)), 3, 1000, counters) for n in range(5)]
    assert [[p.message.event.seq for p in parcels] for parcels in dropped] == [[], [], [], [0], [1]]


def test_of_events_the_oldest_go_when_they_are_too_large():
    queue, counters = put_all(*(push(n, size=400) for n in range(5)))
    assert queue.bytes == 800
    assert [m.event.seq for m in taken(queue)] == [3, 4]
    assert counters.dropped_data == 3
    assert queue.bytes == 0


def test_of_upkeep_the_newest_go():
    queue, counters = put_all(*(Leave(n) for n in range(5)), messages_max=3)
    assert taken(queue) == [Leave(0), Leave(1), Leave(2)]
    assert counters.dropped_control == 2


def test_only_so_much_is_taken_at_once():
    queue, _ = put_all(*(push(n, size=100) for n in range(8)))
    first = taken(queue, bytes_max=300)
    assert 2 <= len(first) <= 3
    assert [m.event.seq for m in first + taken(queue)] == list(range(8))


def test_what_cannot_be_encoded_is_left_out_and_nothing_else():
    queue, _ = put_all(Leave(1), push(0), Leave(2), push(1))
    bad = (Leave(1), push(0))
    parcels = queue.take(1000, lambda message: b"" if message in bad else CODEC.encode(message))
    assert [parcel.message for parcel in parcels] == [Leave(2), push(1)]
    assert (len(queue), queue.bytes) == (0, 0)


def test_upkeep_that_nobody_reads_is_bounded_and_taken_in_lots():
    queue, counters = put_all(*(Leave(n) for n in range(3000)), messages_max=20_000)
    assert (len(queue), counters.dropped_control) == (UPKEEP_MAX, 3000 - UPKEEP_MAX)
    assert 10 < len(taken(queue, bytes_max=100)) < 20
    assert len(queue) > UPKEEP_MAX - 20


def test_a_message_to_many_is_encoded_once():
    calls = []
    parcel = wrap(push(0))
    for _ in range(3):
        queue = OutQueue()
        queue.put(parcel, 10, 1000, Counters())
        queue.take(1000, lambda message: calls.append(message) or CODEC.encode(message))
    assert len(calls) == 1


# -- runs


def run(first: int, *sizes: int) -> PushRun:
    payloads = [bytes(size) for size in sizes]
    return PushRun(Event("t", ME.node, 0, first, payloads[0]), 1, 0, tuple(payloads[1:]))


def test_limits_count_the_events_of_runs():
    queue, counters = put_all(run(0, 1, 1), run(2, 1, 1, 1), Prune("t"), messages_max=5)
    assert (queue.events, queue.bytes, len(queue), counters.dropped_data) == (4, 3, 4, 2)
    queue, counters = put_all(run(0, 400, 400), run(2, 400, 400))
    assert (queue.events, queue.bytes, counters.dropped_data) == (2, 800, 2)
    mark = queue.mark()
    assert [message.event.seq for message in taken(queue)] == [2]
    assert (queue.events, queue.bytes, queue.passed) == (0, 0, mark)


def test_a_run_larger_than_the_queue_is_still_sent():
    queue, counters = put_all(run(0, *[0] * 30), messages_max=10)
    assert (queue.events, counters.dropped_data) == (30, 0)
    assert [message.count for message in taken(queue)] == [30]


def test_of_a_run_only_the_events_that_are_too_large_are_dropped():
    queue, _ = put_all(run(0, 10, 2000, 20), run(3, 1, 1), bytes_max=10_000)
    mark = queue.mark()
    dropped = queue.drop_larger(1000)
    assert [parcel.message for parcel in dropped] == [push(1, 2000)]
    assert (queue.events, queue.bytes, mark - queue.passed) == (4, 32, 4)
    assert taken(queue) == [push(0, 10), push(2, 20), run(3, 1, 1)]


# -- packing


def a_connection() -> SimpleNamespace:
    return SimpleNamespace(told_cards={}, told_seals={}, peer=NodeId(9))


def frames(connection, *messages: Message) -> list[object]:
    """What the far end reads: control messages, and lists of overlay messages."""
    parcels = [wrap(message) for message in messages]
    for parcel in parcels:
        parcel.encode(CODEC.encode)
    data = b"".join(pack(parcels, connection, CARDS.get))
    read: list[object] = []
    for kind, body in FrameReader(1 << 24).feed(data):
        read.append(CODEC.decode_list(body) if kind == MESSAGES else read_control(body))
    return read


def test_a_card_goes_before_the_message_that_names_its_node_and_once():
    connection = a_connection()
    message = Shuffle((Descriptor(OTHER.node, NOTHING, 1),), (0,))
    assert frames(connection, message) == [Cards((CARDS[OTHER.node],)), [message]]
    assert frames(connection, message) == [[message]]


def test_a_newer_card_is_told_again(monkeypatch):
    connection = a_connection()
    message = Shuffle((Descriptor(OTHER.node, NOTHING, 1),), (0,))
    frames(connection, message)
    newer = make_card(OTHER, "127.0.0.1", 6, False, 2)
    monkeypatch.setitem(CARDS, OTHER.node, newer)
    assert frames(connection, message) == [Cards((newer,)), [message]]


def test_who_is_unknown_or_the_receiver_itself_needs_no_card():
    connection = a_connection()
    connection.peer = OTHER.node
    entries = tuple(Descriptor(n, NOTHING, 1) for n in (NodeId(77), OTHER.node))
    message = Shuffle(entries, (0, 0))
    assert frames(connection, message) == [[message]]


def test_what_was_told_is_bounded():
    connection = a_connection()
    connection.told_cards = {NodeId(n): 1 for n in range(TOLD_CARDS_MAX)}
    frames(connection, Shuffle((Descriptor(OTHER.node, NOTHING, 1),), (0,)))
    assert len(connection.told_cards) == TOLD_CARDS_MAX


def sealed(count: int) -> list[Push]:
    """Each event under a seal of its own."""
    made = []
    for seq in range(count):
        event = push(seq).event
        seal = seal_events(ME, "test", event_hashes(event), seq)
        made.append(Push(msgspec.structs.replace(event, seal=seal), 1, 0))
    return made


def test_a_seal_goes_before_its_event_and_once():
    connection = a_connection()
    [message] = sealed(1)
    first, second = frames(connection, message)
    assert first == Seals((message.event.seal.data,))
    assert len(second) == 1
    assert len(frames(connection, message)) == 1


def test_never_more_seals_ahead_than_the_far_end_keeps():
    connection = a_connection()
    read = frames(connection, *sealed(2 * TOLD_SEALS_MAX))
    assert max(len(m.seals) for m in read if isinstance(m, Seals)) <= SEALS_TOGETHER
    assert sum(len(m) for m in read if isinstance(m, list)) == 2 * TOLD_SEALS_MAX
    assert len(connection.told_seals) <= TOLD_SEALS_MAX


def test_frames_are_closed_before_they_grow_too_large():
    assert FRAME_SOFT_MAX + 5 < SEVERAL_BYTES_MAX, "or nobody would read them"
    size = FRAME_SOFT_MAX // 3
    read = frames(a_connection(), *(push(n, size) for n in range(7)))
    assert [len(messages) for messages in read] == [2, 2, 2, 1]
