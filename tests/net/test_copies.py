"""What live nodes record of each copy, and what `orbweaver trace` makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.missed import Stop, Stops
from orbweaver.metrics.trace import EventTrace, follow
from orbweaver.records import Records
from orbweaver.records.gather import gather
from tests.net.live import make_node, nodes, until


def recorded(play: Callable[[dict[str, object]], Awaitable[None]], folder: Path) -> Records:
    asyncio.run(play({"records": str(folder), "records_copies": True}))
    return gather(folder)[0]


def traced(records: Records, topic: str, node: int) -> tuple[EventTrace, Stop]:
    """The trace of the first event on a topic, and what it says of a node."""
    row = records["publications"]["topic"].index(topic)
    trace = follow(records, records["publications"]["event"][row])
    return trace, Stops(records, trace).why(node)


def test_refused_by_the_gate(tmp_path: Path) -> None:
    ids: list[int] = []

    async def play(settings: dict[str, object]) -> None:
        async with make_node(**settings) as first:
            rules: dict[str, list[str]] = {"closed": []}
            async with make_node(join=[first.address], publishers=rules, **settings) as second:
                ids.extend((first.host.me, second.host.me))
                for topic in ("free", "closed"):
                    await first.subscribe(topic)
                    reader = await second.subscribe(topic)
                await until(lambda: bool(second.neighbours() and first.neighbours()))
                await first.publish("closed", "hi")
                await first.publish("free", "hi")
                await until(lambda: second.counters.delivered == 1)
                assert len(reader) == 0

    records = recorded(play, tmp_path)
    _, refused = traced(records, "closed", ids[1])
    assert (refused.reason, refused.way) == ("refused", tuple(ids))
    assert refused.why == "its publisher may not publish on its topic"
    trace, delivered = traced(records, "free", ids[1])
    assert delivered.reason == "delivered"
    assert [(hop.sender, hop.receiver, hop.fate) for hop in trace.path(ids[1])] == [(*ids, "first")]
    assert all(hop.sent_ms is not None for hop in trace.hops)


def test_pulled_out_of_a_window(tmp_path: Path) -> None:
    ids: list[int] = []

    async def play(settings: dict[str, object]) -> None:
        async with make_node(**settings) as first:
            await first.publish("news", "early")
            async with make_node(join=[first.address], **settings) as second:
                ids.extend((first.host.me, second.host.me))
                inside = second.host.gate.inside

                def without_events(sender: NodeId, messages: Sequence[Message]) -> None:
                    if not messages[0].carries:
                        inside(sender, messages)

                second.host.gate.inside = without_events
                reader = await second.subscribe("news", since=600)
                assert (await reader.next(60)).payload == b"early"

    trace, stop = traced(recorded(play, tmp_path), "news", ids[1])
    (hop,) = [hop for hop in trace.hops if hop.fate == "pulled"]
    assert trace.path(ids[1]) == [hop]
    assert (hop.sender, hop.receiver) == tuple(ids)
    assert stop.reason == "delivered"


def test_dropped_by_a_queue(tmp_path: Path) -> None:
    async def play(settings: dict[str, object]) -> None:
        options = {"queue_messages": 20, "when_full": "drop", "window_events": 0}
        async with nodes(2, topics=["news"], **options, **settings) as made:
            [peer] = made[0].host.peers
            peer.connection.pause_writing()
            for n in range(50):  # in runs of ten
                await made[0].publish("news", str(n))
                if n % 10 == 9:
                    await asyncio.sleep(0)
            peer.connection.resume_writing()
            await until(lambda: made[1].counters.delivered >= 20)

    records = recorded(play, tmp_path)
    rows = [row for row in records["copies"].rows() if row[5] == "lost"]
    assert len(rows) >= 30, "and some of those that the other node asks for again"
    assert {row[6] for row in rows} == {"queue"}
    receiver = rows[0][3]
    trace, stop = traced(records, "news", receiver)
    if receiver in trace.delivered:  # the other node asked for it again
        assert trace.path(receiver)
    else:
        again = ("under way", "")  # asked for again, and not there when the node stopped
        assert (stop.reason, stop.why) in (("lost", "queue"), again)


def test_a_peer_that_cannot_be_reached(tmp_path: Path) -> None:
    stranger = NodeId(12345)

    async def play(settings: dict[str, object]) -> None:
        async with make_node(**settings) as node:
            await node.publish("news", b"hi")
            await asyncio.sleep(0)
            [(event, _)] = node._log.missing_of("news", {}, 1 << 40, 1 << 40, node.host.now())
            node.host.send(stranger, Push(event, 1, 0))
            await until(lambda: node.counters.dropped_unreachable == 1)

    records = recorded(play, tmp_path)
    assert [row[3:] for row in records["copies"].rows()] == [(stranger, 1, "lost", "unreachable")]
