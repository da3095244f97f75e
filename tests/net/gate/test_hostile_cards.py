"""Attacks with contact cards, and what a node can be made to call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from orbweaver.core.ids import NodeId
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Exchange, News, Shuffle
from orbweaver.net.gate.standing import CUT_OFF
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers.cards import Card, make_card
from orbweaver.net.peers.dials import ADDRESS
from orbweaver.net.wire.datagrams import Letter
from orbweaver.net.wire.frames import Cards, Hello, Proof
from orbweaver.overlays.spidercast.messages import Connect, Redirect
from orbweaver.overlays.vitis.messages import Profile
from tests.net.gate.arena import MB, Arena, Growth, arena
from tests.net.gate.hostile import Attacker, Trap
from tests.net.live import until

OVERLAYS = ["spidercast", "vitis"]


def run(scenario: Any) -> None:
    asyncio.run(scenario())


def fakes(count: int, host: str = "127.0.0.1", port: int = 9, udp: bool = False) -> list[Card]:
    return [make_card(Identity.generate(), host, port, udp, 1) for _ in range(count)]


def gossip(overlay: str, entries: Sequence[Any] = (), ages: Sequence[int] = ()) -> bytes:
    """What goes by datagram, as it is on the wire."""
    return msgspec.msgpack.encode(["news" if overlay == "vitis" else "shuffle", entries, ages])


def tempt(attacker: Attacker, cards: list[Card]) -> None:
    """Have the node call these."""
    interest = attacker.table.interest(["news"])
    entries = tuple(Descriptor(card.node, interest, 1) for card in cards)
    ages = (0,) * len(cards)
    attacker.control(Cards(tuple(cards)))
    if attacker.overlay == "vitis":
        attacker.send(Exchange(entries, ages), News(entries, ages))
    else:
        redirects = [Redirect(0, card.node, interest) for card in cards]
        attacker.send(Shuffle(entries, ages), *redirects)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_thousands_of_nodes_that_do_not_exist(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring:
            honest = fakes(20)
            for card in honest:
                ring.victim.host.book.learn(card, ring.friend.host.me)
            attacker = await ring.member()
            with Growth() as growth:
                for _ in range(10):
                    attacker.control(Cards(tuple(fakes(300))))
                await attacker.drain()
                await ring.check()
            assert len(ring.victim.host.book) <= 128
            assert all(card.node in ring.victim.host.book for card in honest)
            assert growth.bytes < 30 * MB
            # Nor do they keep others from telling of theirs.
            other, told = await ring.member(), fakes(5)
            other.control(Cards(tuple(told)))
            await until(lambda: all(card.node in ring.victim.host.book for card in told))

    run(scenario)


CHANGES: dict[str, dict[str, Any]] = {
    "no signature": {"signature": b""},
    "wrong signature": {"signature": bytes(64)},
    "another address": {"host": "10.0.0.1"},
    "another port": {"port": 10},
    "no port": {"port": 0},
    "a port below 0": {"port": -1},
    "a port that is too large": {"port": 2**63},
    "no host": {"host": ""},
    "a long host": {"host": "x" * 1000},
    "a short key": {"key": b"short"},
    "a long key": {"key": bytes(1000)},
    "another version": {"version": 2**63},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_cards_that_their_node_did_not_sign(changes: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            known = len(ring.victim.host.book)
            cards = [msgspec.structs.replace(card, **changes) for card in fakes(50)]
            attacker.control(Cards(tuple(cards)))
            await attacker.is_cut_off()
            assert ring.counters.bad_cards == CUT_OFF + 1
            assert len(ring.victim.host.book) <= known + 1, "its own"
            await ring.check()

    run(scenario)


def test_a_neighbours_card_is_not_replaced_by_an_older_one_or_by_others() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            card = ring.friend.host.card
            attacker.control(Cards((msgspec.structs.replace(card, version=1, port=9),)))
            attacker.control(
                Cards((msgspec.structs.replace(card, version=card.version + 1, port=9),))
            )
            await until(lambda: ring.counters.bad_cards == 1)
            assert ring.victim.host.book.get(ring.friend.host.me) == card
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_cards_that_point_at_somebody_elses_machine(overlay: str) -> None:
    async def scenario() -> None:
        async with Trap() as trap, arena(overlay, handshake_s=1.0, connect_s=0.5) as ring:
            attacker = await ring.member()
            for _ in range(6):
                tempt(attacker, fakes(20, port=trap.port, udp=True))
                await asyncio.sleep(0.15)
            if overlay == "spidercast":
                await until(lambda: trap.calls > 0)  # it was tempted
            await ring.check()
            assert trap.calls <= 2 * ADDRESS[1] + 1, "by the victim, and by who heard it from there"
            assert trap.letters == 0

    run(scenario)


HOSTS = ["no such name.invalid", "a..b", "\0", "x" * 255, "256.256.256.256", "::1", "0.0.0.0",
         "-", "127.0.0.1:80", "ü.example", "xn--a"]  # fmt: skip


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_addresses_that_are_none(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay, connect_s=0.3) as ring:
            attacker = await ring.member()
            cards = [
                make_card(Identity.generate(), host, 9, udp, 1)
                for host in HOSTS
                for udp in (False, True)
            ]
            tempt(attacker, cards)
            await asyncio.sleep(0.5)
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_honest_nodes_address_under_another_name(overlay: str) -> None:
    """Calling there must not cost us the connection that we have with it."""

    async def scenario() -> None:
        async with arena(overlay) as ring:
            _, port = ring.friend.address.rsplit(":", 1)
            before = [p.connection for p in ring.victim.host.peers if p.connection]
            attacker = await ring.member()
            for _ in range(5):
                tempt(attacker, fakes(5, port=int(port)))
                await asyncio.sleep(0.1)
            await ring.check()
            peer = ring.victim.host.peers.known(ring.friend.host.me)
            assert peer is not None
            assert peer.connection in before
            assert ring.victim.neighbours() == [ring.friend.id]

    run(scenario)


class Liar:
    """Listens where its card says, shakes hands properly, and hangs up."""

    def __init__(self, ring: Arena) -> None:
        self.identity = Identity.generate()
        self.calls = 0
        self._ring = ring

    async def __aenter__(self) -> Liar:
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.card = make_card(self.identity, "127.0.0.1", port, False, 1)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        spoken = Attacker(
            "127.0.0.1:1", self._ring.victim.settings.overlay, self.identity, self.card
        )
        spoken.reader, spoken.writer, spoken.calls = reader, writer, False
        spoken.read_on()
        spoken.say_hello()
        try:
            await spoken.wait_for(Hello, 2)
            spoken.prove()
            await spoken.wait_for(Proof, 2)
        except (ConnectionError, TimeoutError):
            pass
        await asyncio.sleep(0.01)
        await spoken.close()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_neighbour_that_hangs_up_again_and_again(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring, Liar(ring) as liar:
            attacker = ring.attacker(identity=liar.identity, card=liar.card)
            await attacker.shake_hands()
            interest = attacker.table.interest(["news"])
            if overlay == "vitis":
                attacker.send(Profile(True, Descriptor(attacker.me, interest, 1), ()))
            else:
                attacker.send(Connect(0, 0, 0, interest))
            await until(lambda: attacker.me in ring.victim.host.overlay.links())
            await attacker.close()
            await asyncio.sleep(1.5)
            # In 15 s of the overlay.
            assert liar.calls <= 6
            await ring.check()

    run(scenario)


# -- datagrams


class Post(asyncio.DatagramProtocol):
    """Sends letters of any kind to the victim."""

    def __init__(self, ring: Arena) -> None:
        host = ring.victim.host
        self.scope = f"orbweaver\0{ring.victim.settings.overlay}".encode()
        self.to = host.me
        self.address = (host.card.host, host.card.port)

    async def __aenter__(self) -> Post:
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", 0)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.transport.close()
        await asyncio.sleep(0)

    def send(self, data: bytes) -> None:
        self.transport.sendto(data, self.address)

    def letter(
        self,
        identity: Identity,
        message: bytes,
        stamp: int = 1,
        cards: tuple[Card, ...] = (),
        **changes: Any,
    ) -> bytes:
        card = make_card(identity, "127.0.0.1", 9, True, 1)
        letter = Letter(self.to, card, stamp, cards, message)
        body = msgspec.msgpack.encode(msgspec.structs.replace(letter, **changes))
        return identity.sign(b"orbweaver datagram 1\0" + self.scope + b"\0" + body) + body


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_letters_of_every_bad_kind(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring, Post(ring) as post:
            friend, me, chance = ring.friend.host, Identity.generate(), Random(1)
            empty = gossip(overlay)
            for size in (0, 1, 63, 64, 65, 500, 1200, 1201, 60_000):
                post.send(chance.randbytes(size))
            good = post.letter(me, empty)
            bad = [
                post.letter(me, empty, card=friend.card),  # in another's name
                post.letter(me, empty, to=friend.me),
                post.letter(me, empty, to=NodeId(0)),
                post.letter(me, empty, card=ring.victim.host.card),
                post.letter(me, empty, stamp=-1),
                good[:-1],
                bytes(64) + good[64:],
                post.letter(me, b"rubbish", stamp=2),
                post.letter(me, b"", stamp=3),
                post.letter(me, msgspec.msgpack.encode(["goodbye", True]), stamp=4),
                post.letter(me, msgspec.msgpack.encode(["leave", None]), stamp=5),
                post.letter(me, gossip(overlay, [[1, [], 0]], [-1]), stamp=6),
                post.letter(me, empty, stamp=7, cards=(fakes(1)[0],) * 3),
                post.letter(me, empty, stamp=8, card=fakes(1)[0]),
                post.letter(me, empty, stamp=9, cards=(msgspec.structs.replace(
                    fakes(1)[0], signature=b"none"),)),
            ]  # fmt: skip
            for data in bad:
                post.send(data)
            await until(lambda: ring.counters.datagrams_in >= 23)
            assert ring.counters.bad_datagrams >= 20
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_letters_are_not_answered_to_addresses_that_nobody_proved(overlay: str) -> None:
    async def scenario() -> None:
        async with Trap() as trap, arena(overlay, handshake_s=1.0) as ring, Post(ring) as post:
            for stamp in range(100):
                for identity in (Identity.generate(), Identity.generate()):
                    card = make_card(identity, "127.0.0.1", trap.port, True, 1)
                    message = gossip(overlay)
                    post.send(post.letter(identity, message, stamp + 1, card=card))
            await until(lambda: ring.counters.datagrams_in >= 50)
            await asyncio.sleep(0.5)
            assert trap.letters == 0
            assert trap.calls <= 2 * ADDRESS[1] + 1
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_letters_fill_neither_the_book_nor_the_table_of_topics(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring, Post(ring) as post:
            known = len(ring.victim.host.topics)
            for n in range(300):
                names = [f"topic {n} {k}" for k in range(30)]
                message = gossip(overlay, [[n, names, 1]], [0])
                post.send(post.letter(Identity.generate(), message, cards=tuple(fakes(1))))
                if n % 5 == 0:
                    await asyncio.sleep(0.002)
            await until(lambda: ring.counters.datagrams_in >= 100)
            assert len(ring.victim.host.topics) == known
            assert ring.friend.host.me in ring.victim.host.book
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_letter_that_is_sent_twice(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring, Post(ring) as post:
            data = post.letter(Identity.generate(), gossip(overlay))
            before = ring.counters.bad_datagrams
            for _ in range(100):
                post.send(data)
            await until(lambda: ring.counters.bad_datagrams == before + 99)
            await ring.check()

    run(scenario)
