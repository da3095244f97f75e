"""A node as an application sees it."""

from __future__ import annotations

import asyncio

import pytest

import orbweaver
from orbweaver.core.errors import UsageError
from orbweaver.core.messages import Carrier, Event
from orbweaver.net.events.handover import Handover
from orbweaver.net.events.readers import _order
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.events.window import EventLog
from orbweaver.net.settings import Settings
from tests.net.live import make_node, nodes, until

OVERLAYS = ["spidercast", "vitis", "rvr", "ring-per-topic"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_is_published_is_read(overlay):
    async def scenario():
        async with nodes(4, overlay, ["news"]) as made:
            readers = [await node.subscribe("news") for node in made]
            receipt = await made[0].publish("news", "hello")
            for reader in readers[1:]:
                got = await reader.next(timeout=20)
                assert (got.topic, got.payload, got.missed) == ("news", b"hello", 0)
                assert (got.publisher, got.epoch, got.topic, got.seq) == receipt.event
                assert got.publisher == made[0].id
                assert got.hops >= 1
            assert len(readers[0]) == 0, "not to oneself"
            if overlay == "spidercast":  # others may still be asking for their way
                assert receipt.neighbours >= 1

    asyncio.run(scenario())


def test_a_node_takes_part_in_the_topics_of_its_settings() -> None:
    async def scenario() -> None:
        async with make_node(subscribe=["news", "sport", "news"], window_events=3000) as keeper:
            topics = {topic.topic: topic.subscribers for topic in keeper.status().topics}
            assert topics == {"news": 1, "sport": 1}
            async with make_node(join=keeper.address) as publisher:
                handover = Handover(publisher)
                for _ in range(12):
                    for _ in range(1000):
                        await handover.publish("news", b"x")
                    assert await handover.settle(60)
            async with make_node(join=keeper.address) as late:
                reader = await late.subscribe("news", since=600)
                assert (await reader.next(20)).payload == b"x"
            assert keeper.counters.missed == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())


def test_payloads_are_bytes_or_text_and_copied():
    async def scenario():
        async with make_node() as node:
            for wrong in ({"temperature": 21}, None, 5):
                with pytest.raises(UsageError, match="a payload is bytes or text, not"):
                    await node.publish("news", wrong)
            buffer = bytearray(b"first")
            for payload in (buffer, memoryview(buffer)):
                await node.publish("news", payload)
            buffer[:] = b"other"
            async with make_node(join=[node.address]) as late:
                kept = await late.subscribe("news", since=60)
                assert [(await kept.next(timeout=20)).payload for _ in "ab"] == [b"first"] * 2

    asyncio.run(scenario())


@pytest.mark.parametrize("since", [-1.0, float("nan"), float("inf")])
def test_how_long_ago_is_a_number(since):
    async def scenario():
        async with make_node() as node:
            with pytest.raises(UsageError, match="should be a number of seconds"):
                await node.subscribe("news", since=since)

    asyncio.run(scenario())


def test_nothing_is_published_into_the_void_in_silence():
    async def scenario():
        async with make_node() as first:
            receipts = [await first.publish("news", f"{n}") for n in range(200)]
            assert all(receipt.neighbours == 0 for receipt in receipts)
            assert first.counters.published_to_nobody == 200
            async with make_node(join=[first.address]) as second:
                # Kept for those who come, as far back as they ask for.
                reader = await second.subscribe("news", since=30, ordered=True)
                got = [await reader.next(timeout=20) for _ in range(200)]
                assert [item.payload for item in got] == [b"%d" % n for n in range(200)]

    asyncio.run(scenario())


def test_a_latecomer_gets_nothing_older_than_it_asked_for():
    async def scenario():
        async with nodes(2, topics=["news"], tempo=1.0) as made:
            await made[0].publish("news", "old")
            await asyncio.sleep(1.5)
            async with make_node(join=[made[0].address], tempo=1.0) as late:
                reader = await late.subscribe("news")
                await until(lambda: bool(late.neighbours()))
                await asyncio.sleep(1.5)
                await made[0].publish("news", "new")
                assert (await reader.next(timeout=20)).payload == b"new"

    asyncio.run(scenario())


@pytest.mark.parametrize("ordered", [False, True])
def test_a_second_reader_is_given_what_the_first_has_had(ordered):
    async def scenario():
        async with nodes(2, topics=["news"]) as (publisher, node):
            first = await node.subscribe("news")
            for text in ("one", "two"):
                await publisher.publish("news", text)
                await first.next(20)
            await node.publish("news", "own")
            second = await node.subscribe("news", since=60, ordered=ordered)
            late = await node.subscribe("news", ordered=ordered)
            await publisher.publish("news", "three")
            got = [(await second.next(20)).payload for _ in range(3)]
            assert got == [b"one", b"two", b"three"]
            assert (await late.next(20)).payload == b"three"
            assert (await first.next(20)).payload == b"three"
            assert len(first) == len(second) == 0

    asyncio.run(scenario())


def test_a_slow_reader_loses_the_oldest_and_is_told():
    async def scenario():
        async with nodes(2, topics=["news"]) as made:
            slow = await made[1].subscribe("news", buffer=3)
            quick = await made[1].subscribe("news")
            for n in range(10):
                await made[0].publish("news", str(n))
            await until(lambda: len(quick) == 10)
            first = await slow.next(1)
            assert (first.payload, first.missed) == (b"7", 7)
            assert (await slow.next(1)).missed == 0
            assert slow.missed == 7
            # Ten more that nobody reads: those of the first reader of `nodes` do not count.
            assert made[1].counters.missed == 7

    asyncio.run(scenario())


def test_a_reader_that_does_not_read_is_bounded_in_bytes_too(monkeypatch):
    monkeypatch.setattr(Subscription, "BYTES_MAX", 10_000)

    async def scenario():
        async with nodes(2, topics=["news"]) as made:
            slow = await made[1].subscribe("news")
            quick = await made[1].subscribe("news", ordered=True)
            for n in range(30):
                await made[0].publish("news", b"%04d" % n + bytes(996))
            await until(lambda: made[1].counters.delivered == 30)
            await until(lambda: slow.missed == 20)
            for reader in (slow, quick):
                assert (await reader.next(5)).payload[:4] == b"0020"
            assert (len(slow), slow._bytes) == (9, 9000)

    asyncio.run(scenario())


def test_a_closed_subscription_ends_and_the_last_one_unsubscribes():
    async def scenario():
        async with nodes(2, topics=["other"]) as made:
            with await made[1].subscribe("news") as one, await made[1].subscribe("news") as two:
                assert [topic.subscribers for topic in made[1].status().topics] == [1, 2]
                one.close()
                assert [topic.subscribers for topic in made[1].status().topics] == [1, 1]
            assert [item async for item in two] == []
            assert [topic.topic for topic in made[1].status().topics] == ["other"]
            with pytest.raises(UsageError, match="closed"):
                await two.next(1)

    asyncio.run(scenario())


def test_a_reader_that_waits_is_woken_when_the_node_stops():
    async def scenario():
        node = make_node()
        await node.start()
        reader = await node.subscribe("news")

        async def read() -> list[object]:
            return [item async for item in reader]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        await node.stop()
        assert await reading == []

    asyncio.run(scenario())


def test_a_node_may_be_stopped_twice(tmp_path):
    async def scenario():
        async with orbweaver.Node(state=str(tmp_path)) as node:
            await node.subscribe("news")
            await node.stop()
            await node.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("topic", ["", "a//b", "/a", "x" * 300, "tab\t", None, "#", "a/+/b", "a/*"])
def test_illegal_topics_are_refused(topic):
    async def scenario():
        async with make_node() as node:
            with pytest.raises(UsageError, match="topic"):
                await node.subscribe(topic)
            with pytest.raises(UsageError, match="topic"):
                await node.publish(topic, b"")

    asyncio.run(scenario())


def test_more_topics_than_fit_into_messages_are_refused():
    async def scenario():
        async with make_node() as node:
            names = [f"{n:03}" + "x" * 250 for n in range(200)]
            for name in names[:129]:
                await node.subscribe(name)
            with pytest.raises(UsageError, match="names of 130 topics take more than"):
                await node.subscribe(names[129])
            with pytest.raises(UsageError, match="names of 130 topics take more than"):
                await node.publish(names[129], b"")
            await node.subscribe(names[0])

    asyncio.run(scenario())


def test_misuse_is_told():
    async def scenario():
        node = make_node(payload_bytes_max=10)
        with pytest.raises(UsageError, match="does not run"):
            await node.publish("news", b"")
        async with node:
            with pytest.raises(UsageError, match="11 bytes"):
                await node.publish("news", b"x" * 11)
            with pytest.raises(UsageError, match="buffer"):
                await node.subscribe("news", buffer=0)
            with pytest.raises(UsageError, match="been started"):
                await node.start()
        with pytest.raises(UsageError, match="been started"):
            await node.start()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"overlay": "vitas"}, "vitis"),
        ({"lisen": "x"}, "listen"),
        ({"listen": "nowhere"}, "address"),
        ({"join": ["a:b"]}, "address"),
        ({"params": {"ks": 1}}, "parameter"),
        ({"queue_messages": 0}, "queue_messages"),
        ({"window_s": 1000, "replay_s": 900}, "lower window_s"),
        ({"payload_bytes_max": 8 << 20}, "raise frame_bytes_max"),
        ({"publishers": {"a/#/b": []}}, "a/#/b"),
        ({"publishers": {"a": ["1f00c0ffee15600d"]}}, "an id is too short"),
    ],
)
def test_wrong_settings_say_what_is_wrong(settings, message):
    async def scenario():
        async with orbweaver.Node(**settings):
            pass

    with pytest.raises(UsageError, match=message):
        asyncio.run(scenario())


def test_a_port_in_use_is_said():
    async def scenario():
        async with make_node() as node:
            with pytest.raises(UsageError, match="cannot listen"):
                async with make_node(listen=node.address):
                    pass

    asyncio.run(scenario())


def test_a_config_file_sets_what_arguments_do_not(tmp_path):
    file = tmp_path / "node.toml"
    file.write_text('overlay = "vitis"\nwindow_s = 7\n[params]\ntable_size = 9\n')
    node = orbweaver.Node(config=file, window_s=8)
    assert (node.settings.overlay, node.settings.window_s) == ("vitis", 8)
    assert node.settings.params == {"table_size": 9}
    file.write_text("overlay = ")
    with pytest.raises(UsageError, match="not valid TOML"):
        orbweaver.Node(config=file)


def test_only_allowed_publishers_are_heard():
    async def scenario():
        async with make_node() as first:
            rules = {"closed/#": [first.public_key], "closed/open": ["00" * 32]}
            async with make_node(join=[first.address], publishers=rules) as second:
                await first.subscribe("free")
                readers = [await second.subscribe(t) for t in ("closed/x", "closed/open", "free")]
                await until(lambda: bool(second.neighbours() and first.neighbours()))
                for topic in ("closed/open", "closed/x", "free"):
                    await first.publish(topic, "hi")
                for reader in (readers[0], readers[2]):
                    assert (await reader.next(20)).payload == b"hi"
                assert len(readers[1]) == 0
                assert second.counters.not_allowed >= 1

    asyncio.run(scenario())


def test_only_the_publisher_in_a_feeds_name_is_heard():
    """Also where a false publisher's own node lets it publish."""

    async def scenario():
        async with make_node() as first:
            feed = f"news@{first.id}"
            async with make_node(join=[first.address]) as second:
                reader = await second.subscribe(feed)
                await first.subscribe(feed)
                await until(lambda: bool(second.neighbours() and first.neighbours()))
                with pytest.raises(UsageError, match=f"{second.id} may not publish on '{feed}'"):
                    await second.publish(feed, "false")
                runs = second._runs
                runs.append(runs.begin(feed), b"false")
                await until(lambda: first.counters.not_allowed >= 1)
                await first.publish(feed, "true")
                assert (await reader.next(20)).payload == b"true"
                assert first.counters.delivered == 0
                assert second.host.overlay.context.publisher_of(feed) == first.host.me

    asyncio.run(scenario())


def test_unsigned_events_are_refused_where_signatures_are_wanted():
    async def scenario():
        async with (
            make_node(sign=False) as first,
            make_node(join=[first.address]) as second,
        ):
            await second.subscribe("news")
            await first.subscribe("news")
            await until(lambda: bool(second.neighbours() and first.neighbours()))
            await first.publish("news", "hi")
            await until(lambda: second.counters.forged > 0)
            assert second.counters.delivered == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_who_waits_to_publish_is_told_that_the_node_has_stopped(overlay):
    async def scenario():
        node = make_node(overlay)
        await node.start()
        node.host.overlay.backlog = lambda: 1 << 20
        node._burst = 1 << 20
        waiting = [asyncio.create_task(node.publish("news", b"x")) for _ in range(2)]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in waiting)
        await node.stop()
        async with asyncio.timeout(20):
            told = await asyncio.gather(*waiting, return_exceptions=True)
        assert [str(error) for error in told] == ["the node has stopped; make a new node"] * 2

    asyncio.run(scenario())


def test_a_late_reader_in_order_does_not_wait_for_what_came_before_it():
    """Of a stream that this node has seen from number 50 on."""
    log = EventLog()
    for seq in (50, 51):
        log.put(Event("news", 1, 7, seq, b""), 0, 1000)
    order = _order(log, "news", Settings(overlay="spidercast"), past=False, shared=True)
    following = Carrier(Event("news", 1, 7, 52, b""), 1, 0)
    assert order.offer(following, 1000) == [following]


def test_a_reader_in_order_does_not_wait_for_what_was_given_out_before_a_restart():
    """The log has numbers 0 and 2; only 1 is missing."""
    log = EventLog()
    for seq in (0, 2):
        log.put(Event("news", 1, 7, seq, b""), 0, 1000)
    order = _order(log, "news", Settings(overlay="spidercast"), past=True, shared=False)
    later = [Carrier(Event("news", 1, 7, seq, b""), 1, 0) for seq in (3, 1)]
    assert order.offer(later[0], 2000) == []
    assert order.offer(later[1], 2000) == later[::-1]
