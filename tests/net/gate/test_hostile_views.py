"""Attacks with lies about other nodes, and with cards that are too new."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import Interest
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import News, Shuffle
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.cards import make_card
from orbweaver.net.wire.frames import Cards, Ping, Pong
from tests.net.gate.arena import PATIENT, Arena, arena
from tests.net.gate.hostile import Attacker
from tests.net.live import until


def run(scenario: Any) -> None:
    asyncio.run(scenario())


def known_interest(ring: Arena, node: NodeId) -> Interest | None:
    """What the victim believes of a node."""
    overlay: Any = ring.victim.host.overlay
    if ring.victim.settings.overlay == "spidercast":
        return overlay.membership.cyclon.interest_of(node)  # type: ignore[no-any-return]
    found = [entry for entry in overlay.newscast.entries() if entry.node == node]
    return found[0].interest if found else None


async def say(attacker: Attacker, *entries: Descriptor) -> None:
    kind = Shuffle if attacker.overlay == "spidercast" else News
    attacker.send(kind(entries, (0,) * len(entries)))
    attacker.heard.clear()
    attacker.control(Ping())
    await attacker.wait_for(Pong)


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_lies_about_nodes_do_not_empty_a_view(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay, **PATIENT) as ring:
            friend = ring.friend.host.me
            # A view may drop a node for a moment: the lie must not be what is believed then.
            await until(lambda: known_interest(ring, friend) is not None)
            attacker = await ring.member()
            nothing = attacker.table.interest([])
            for version in (2**62, round(1000 * time.time()) + 10**9):
                await say(attacker, Descriptor(friend, nothing, version))
                await until(lambda: known_interest(ring, friend) is not None)
                assert "news" in (known_interest(ring, friend) or ())
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_a_stranger_far_in_the_future_is_not_taken_from_others(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay, **PATIENT) as ring:
            attacker = await ring.member()
            interest = attacker.table.interest(["news"])
            await say(attacker, Descriptor(NodeId(4711), interest, 2**62))
            assert known_interest(ring, NodeId(4711)) is None
            await say(attacker, Descriptor(attacker.me, interest, 2**62))
            assert known_interest(ring, attacker.me) is not None, "of itself it may say so"

    run(scenario)


def test_a_node_whose_clock_was_fast_is_found_at_its_new_address() -> None:
    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            identity, book = Identity.generate(), ring.victim.host.book
            now_ms = round(1000 * time.time())
            fast = make_card(identity, "127.0.0.1", 9, False, now_ms + 10**10)
            right = make_card(identity, "127.0.0.1", 10, False, now_ms)
            attacker = await ring.member()
            for card in (fast, right, fast):
                attacker.control(Cards((card,)))
            await until(lambda: book.get(identity.node) == right)
            # What the node shows itself counts in any case.
            for card in (fast, right):
                await ring.attacker(identity=identity, card=card).shake_hands()
                await until(lambda: book.get(identity.node) == card)  # noqa: B023
            await ring.check()

    run(scenario)
