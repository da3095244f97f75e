"""A node that was down comes back with its id, its view, and a claim to what it missed."""

from __future__ import annotations

import asyncio
import os
import stat
import time

import pytest

from orbweaver.net import host, opening
from orbweaver.net.keys import lastlife
from orbweaver.net.keys.lastlife import read_epoch, write_epoch
from tests.net.gate.arena import Logs
from tests.net.live import make_node, until


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_what_was_missed_is_caught_up(tmp_path, overlay):
    state = str(tmp_path / "state")

    async def scenario():
        async with make_node(overlay, tempo=4.0) as stays:
            await stays.subscribe("news")

            async def life(join):
                return make_node(overlay, tempo=4.0, state=state, join=join)

            async with await life([stays.address]) as node:
                first_id = node.id
                reader = await node.subscribe("news")
                await until(lambda: bool(stays.neighbours() and node.neighbours()))
                await stays.publish("news", "before")
                assert (await reader.next(20)).payload == b"before"
            for n in range(100):
                await stays.publish("news", f"meanwhile {n}")
            # No address to join through: it remembers its peers.
            async with await life([]) as node:
                assert node.id == first_id
                reader = await node.subscribe("news", ordered=True)
                got = [(await reader.next(30)).payload for _ in range(100)]
                assert got == [f"meanwhile {n}".encode() for n in range(100)]
                await stays.publish("news", "after")
                assert (await reader.next(30)).payload == b"after"
                assert len(reader) == 0, "nothing twice"

    asyncio.run(scenario())


def test_a_restarted_node_still_has_its_window(tmp_path):
    state = str(tmp_path / "state")

    async def scenario():
        async with make_node(state=state) as node:
            await node.publish("news", "kept on disk")
        async with make_node(state=state) as node, make_node(join=[node.address]) as reader_node:
            await node.subscribe("news")
            reader = await reader_node.subscribe("news", since=60)
            got = await reader.next(30)
            assert got.payload == b"kept on disk"

    asyncio.run(scenario())


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_readers_in_order_hear_a_publisher_whose_clock_was_set_back(tmp_path, overlay, monkeypatch):
    async def scenario():
        async with make_node(overlay) as other:
            reader = await other.subscribe("news", ordered=True)
            for n, offset_s in enumerate((0, -600, -800)):
                clock = type("Clock", (), {"time": staticmethod(lambda o=offset_s: now() + o)})
                monkeypatch.setattr(host, "time", clock)
                key = str(tmp_path / "node.key")
                async with make_node(overlay, key=key, join=[other.address]) as publisher:
                    await publisher.subscribe("news")
                    await until(lambda: other.host.me in publisher.host.links())
                    for m in range(20):
                        await publisher.publish("news", f"{n} {m}")
                    got = [(await reader.next(20)).payload.decode() for _ in range(20)]
                    assert got == [f"{n} {m}" for m in range(20)]
            assert reader.missed == 0

    now = time.time
    asyncio.run(scenario())


def test_an_epoch_survives_and_trouble_with_its_file_is_no_more_than_said(tmp_path, monkeypatch):
    logs = Logs()
    monkeypatch.setattr(lastlife, "log", logs)
    path = tmp_path / "node.epoch"
    assert read_epoch(None) == read_epoch(path) == 0
    write_epoch(None, 5)
    write_epoch(path, 7)
    assert read_epoch(path) == 7
    assert [file.name for file in tmp_path.iterdir()] == ["node.epoch"]
    for damaged in ("not a number", f"{1 << 70}"):
        path.write_text(damaged)
        assert read_epoch(path) == 0
    write_epoch(tmp_path / "no" / "node.epoch", 8)
    assert [(level, event) for level, event, _ in logs.lines] == [
        ("warning", "the last epoch cannot be read; the clock decides"),
        ("warning", "the last epoch cannot be read; the clock decides"),
        ("warning", "the epoch is not kept"),
    ]


@pytest.mark.parametrize("settings", [{}, {"key": "key/node.key"}])
def test_only_the_owner_can_look_into_the_state_folder(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "state"

    async def start():
        async with make_node(state=state, **settings):
            pass

    old = os.umask(0)
    try:
        asyncio.run(start())
    finally:
        os.umask(old)
    made = [state, *([tmp_path / "key"] if settings else [])]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700] * len(made)
    logs = Logs()
    monkeypatch.setattr(opening, "log", logs)
    asyncio.run(start())
    assert logs.lines == []
    state.chmod(0o750)
    asyncio.run(start())
    assert [line[1] for line in logs.lines] == [
        "others can look into the state folder; run chmod 700"
    ]
