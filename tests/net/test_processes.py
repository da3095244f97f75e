"""Nodes as processes, killed while events flow: whoever lives gets everything, once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from orbweaver.net.opening import open_params
from orbweaver.net.settings import Settings
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.testing.cases import QUICK as SETTINGS
from tests.net.processes import Fleet, Process, fleet, missing, until

TOPICS = ("news", "news/sport", "weather", "märkte", "games")
QUICK = {"catch_up_s": 1.0, "rejoin_s": 2.0, "window_events": 100_000}
CLAIMS = {name: o.claims(open_params(o, Settings())) for name, o in OVERLAYS.items()}
TOTAL = [name for name, claims in CLAIMS.items() if claims.total_delivery]


@pytest.mark.parametrize("overlay", TOTAL)
def test_killed_while_events_flow(overlay: str, tmp_path: Path) -> None:
    asyncio.run(kill_a_third(overlay, tmp_path, nodes=9, seconds=1.0))


@pytest.mark.slow
@pytest.mark.parametrize("overlay", TOTAL)
def test_fifty_of_whom_a_third_is_killed(overlay: str, tmp_path: Path) -> None:
    asyncio.run(kill_a_third(overlay, tmp_path, nodes=50, seconds=8.0))


@pytest.mark.parametrize(
    "overlay", ["spidercast", *(pytest.param(name, marks=pytest.mark.slow) for name in TOTAL[1:])]
)
def test_a_node_that_hangs_for_a_while(overlay: str, tmp_path: Path) -> None:
    """Nobody waits for it, and afterwards it has everything."""

    async def scenario() -> None:
        async with fleet(overlay=overlay, params=SETTINGS.get(overlay, {}), **QUICK) as made:
            await start(made, 5, tmp_path, Random(1))
            hangs, *others = made.lives
            for node in made.lives:
                await node.flow(0.05)
            await until(lambda: all(node.got for node in made.lives))
            hangs.freeze(True)
            await asyncio.sleep(6)
            for node in others:
                await node.flow(0)
            await until(lambda: not missing(others, others))
            assert not missing(others, others)
            assert missing([hangs], others)
            hangs.freeze(False)
            await hangs.flow(0)
            await until(lambda: not missing(made.up, made.up))
            lacking = missing(made.up, made.up)
            assert not lacking, f"{len(lacking)} missing, such as {lacking[:3]}"
            await made.look()
            check(made, CLAIMS[overlay].noiseless)

    asyncio.run(scenario())


async def kill_a_third(overlay: str, folder: Path, nodes: int, seconds: float) -> None:
    """Events flow from the start. When they arrive, and `seconds` have passed, a third of the
    nodes is killed, the first of all among them, and the last, which later comes back."""
    chance = Random(overlay)
    pause_s = nodes * 0.01
    async with fleet(overlay=overlay, params=SETTINGS.get(overlay, {}), **QUICK) as made:
        await start(made, nodes, folder, chance)
        await asyncio.gather(*(node.flow(pause_s) for node in made.lives))
        await until(lambda: all(node.got for node in made.lives))
        await asyncio.sleep(seconds)

        first, *others, returns = made.lives
        for node in (first, *chance.sample(others, nodes // 3 - 1), returns):
            await node.kill()
        survivors = made.up
        await asyncio.sleep(seconds)
        back = await made.started(
            returns.topics, before=returns, state=str(folder), join=addresses(survivors[:3])
        )
        assert back.id == returns.id
        await back.flow(pause_s)
        await asyncio.sleep(seconds)
        for node in made.up:
            await node.flow(0)

        took_s = await until(lambda: not missing(made.up, made.up))
        lacking = missing(made.up, made.up)
        assert not lacking, f"{len(lacking)} missing, such as {lacking[:3]}"
        await asyncio.sleep(1.5)  # for what comes once more
        await made.look()
        check(made, CLAIMS[overlay].noiseless)
        tell(made, took_s)


async def start(made: Fleet, nodes: int, folder: Path, chance: Random) -> None:
    """The first alone, the others ten at a time through some who are there."""
    for first in range(0, nodes, 10) or (0,):
        begun = []
        for number in range(first, min(first + 10, nodes)):
            topics = [TOPICS[number % len(TOPICS)]]
            topics += [t for t in chance.sample(TOPICS, 2) if t not in topics]
            there = [node for node in made.lives if node.id]
            join = addresses(chance.sample(there, min(3, len(there))))
            state = str(folder) if number == nodes - 1 else ""
            begun.append(await made.start(topics, state=state, join=join))
            if not there:
                await begun[0].wait_ready()
        for node in begun:
            await node.wait_ready()


def addresses(nodes: list[Process]) -> list[str]:
    return [node.address for node in nodes]


def check(made: Fleet, noiseless: bool) -> None:
    published = {event for node in made.lives for event in node.published}
    for node in made.lives:
        assert max(node.got.values(), default=1) == 1, "twice"
        assert {event[0] for event in node.got} <= {*node.topics}, "not subscribed to"
        assert node.id not in {event[1] for event in node.got}, "its own"
        assert node.missed == 0
        if node.before is not None:
            # What it got just before its end it may not have written down.
            written = [e for e, at in node.before.got_at.items() if at < node.before.killed_at - 3]
            assert not {*written} & {*node.got}, "again, in another life"
    for node in made.up:
        assert {*node.got} <= published | by_the_dead(made), "invented"
        assert not noiseless or node.counters["relayed"] == 0
        for name in ("forged", "bad_frames", "bad_messages", "bad_cards", "bad_seals"):
            assert node.counters[name] == 0, name


def by_the_dead(made: Fleet) -> set[object]:
    """What was published just before the end, too late to be told to us."""
    dead = {node.id for node in made.lives if not node.alive}
    return {event for node in made.up for event in node.got if event[1] in dead}


def tell(made: Fleet, took_s: float) -> None:
    events = [event for node in made.up for event in node.published]
    owed = sum(
        event[0] in node.topics and event[1] != node.id for node in made.up for event in events
    )
    got = sum(sum(node.got.values()) for node in made.lives)
    total = {
        name: sum(node.counters[name] for node in made.up)
        for name in ("caught_up", "repeated", "relayed", "peers_lost", "messages_in")
    }
    print(
        f"\n{len(made.lives) - 1} nodes, {len(made.up)} at the end: {len(events)} events by "
        f"these, {owed} deliveries owed, all there {took_s:.1f} s after the last; {got} "
        f"deliveries in all; {total}"
    )
