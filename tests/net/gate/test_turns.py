"""How the time of a node is divided among those that it hears from."""

import asyncio

import pytest

from orbweaver.net.gate import turns
from orbweaver.net.gate.standing import Fading
from orbweaver.net.gate.turns import TURN_S, RoundRobin, is_heavy


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Peer:
    """A connection with some frames, each of which takes `cost` seconds."""

    def __init__(self, name, address, frames, clock, served, cost=0.6 * TURN_S):
        self.name, self.address, self.frames = name, address, frames
        self.use = Fading(1.0)
        self._clock, self._served, self._cost = clock, served, cost

    def serve(self, seconds):
        end = self._clock() + seconds
        while self.frames:
            self.frames -= 1
            self._clock.now += self._cost
            self._served.append(self.name)
            if self._clock() >= end:
                break
        return self.frames > 0


def serve(monkeypatch, peers):
    """The names of the peers in the order in which their frames are handled."""
    clock, served = Clock(), []
    monkeypatch.setattr(turns, "perf_counter", clock)

    async def scenario():
        order = RoundRobin()
        made = [Peer(*peer, clock, served) for peer in peers]
        for peer in made:
            order.take(peer)
        while any(peer.frames for peer in made):
            await asyncio.sleep(0)
        return order

    order = asyncio.run(scenario())
    assert not order._waiting
    return "".join(served)


def test_one_peer_alone_is_served_without_a_pause(monkeypatch):
    assert serve(monkeypatch, [("a", "x", 7)]) == "a" * 7


def test_what_one_address_sends_does_not_delay_another(monkeypatch):
    assert serve(monkeypatch, [("a", "x", 8), ("b", "y", 3)]) == "aab" + "b" + "aab" + "aaaa"


def test_an_address_with_many_ids_gets_no_more_than_one_with_one(monkeypatch):
    peers = [("a", "x", 4), ("b", "x", 4), ("c", "x", 4), ("h", "y", 6)]
    served = serve(monkeypatch, peers)
    in_turns = ["".join(sorted(served[at : at + 4])) for at in (0, 4, 8)]
    assert in_turns == ["aahh", "bbhh", "cchh"]
    assert sorted(served) == sorted("aaaabbbbcccc" + "hhhhhh")


def test_connections_of_one_address_take_turns(monkeypatch):
    assert serve(monkeypatch, [("a", "x", 6), ("b", "x", 2)]) == "aabbaaaa"


@pytest.mark.parametrize(
    ("uses", "heavy"),
    [
        ({("a", "x"): 1.0}, "a"),
        ({("a", "x"): 1.0, ("b", "y"): 0.9}, "ab"),
        ({("a", "x"): 9.0, ("b", "y"): 1.0, ("c", "z"): 1.0}, "a"),
        ({("a", "x"): 1.0, ("b", "x"): 1.0, ("c", "x"): 1.0, ("d", "y"): 1.0}, "abc"),
        ({("a", "x"): 9.0, ("b", "x"): 1.0, ("c", "y"): 6.0}, "ac"),
    ],
)
def test_only_those_that_take_most_are_slowed_down(uses, heavy):
    peers = []
    for (name, address), use in uses.items():
        peer = Peer(name, address, 0, None, None)
        peer.use.add(use, 0.0)
        peers.append(peer)
    assert "".join(peer.name for peer in peers if is_heavy(peer, peers, 1.0)) == heavy
