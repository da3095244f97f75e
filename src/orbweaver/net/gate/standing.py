"""How each peer stands: what it may still send, and a score of what it has done, which fades.

The score follows gossipsub 1.1 (Vyzovitis et al., 2020) in that it decays, outlives a connection,
and counts the address beside the peer, since a peer can make itself any number of ids. It has
penalties only: each fault that the gate blames a peer for, and each second's worth of upkeep that
a peer sends beyond its allowance. A peer with too many of them is cut off, and refused until half
of them have faded.
"""

from __future__ import annotations

from orbweaver.core.ids import NodeId
from orbweaver.net.gate.limits import Bucket

HALF_S = 60.0
"""Seconds in which half of a score fades."""
CUT_OFF = 20
"""Score above which a peer is cut off. One fault counts 1."""
REFUSED = 10
"""Score above which a peer is not let in."""
ADDRESS_REFUSED = 50
"""Score of all peers at one address together above which none is let in from there. Connections
that are open stay."""
EFFORT = 0.25
"""Share of this node's time that the messages of one peer may take up, other than those that
spread events."""
UPKEEP_BYTES = 2000
"""Bytes that count as one message."""
BURST_S = 5.0
"""For how many seconds allowances can be saved up."""
KEPT_MAX = 4096
"""How many peers, and how many addresses, are remembered."""


class Fading:
    """A sum whose parts lose half of their weight every `half_s` seconds."""

    __slots__ = ("_half_s", "_since", "_sum")

    def __init__(self, half_s: float) -> None:
        self._half_s = half_s
        self._sum = self._since = 0.0

    def add(self, amount: float, now: float) -> float:
        """Add to the sum, and return it."""
        self._sum = self.value(now) + amount
        self._since = now
        return self._sum

    def value(self, now: float) -> float:
        return self._sum * 0.5 ** ((now - self._since) / self._half_s) if self._sum else 0.0


class Standing:
    """What this node remembers of one peer, however often it connects."""

    __slots__ = ("_per_s", "_score", "_upkeep", "address")

    def __init__(self, upkeep_per_s: float, address: Fading, now: float) -> None:
        self.address = address
        """The score of all peers at the address from which this one connected last."""
        self._per_s = upkeep_per_s
        self._score = Fading(HALF_S)
        self._upkeep = Bucket(upkeep_per_s, BURST_S * upkeep_per_s, now)

    def blame(self, weight: float, now: float) -> bool:
        """Add to the score. Return whether the peer has to be cut off."""
        self.address.add(weight, now)
        return self._score.add(weight, now) > CUT_OFF

    def score(self, now: float) -> float:
        return self._score.value(now)

    def charge(self, messages: int, size: int, seconds: float, now: float) -> float:
        """Charge the peer for messages of `size` bytes in all that took `seconds` of processor
        time. Return for how many seconds its allowance is overdrawn."""
        cost = max(messages, size / UPKEEP_BYTES, seconds / EFFORT * self._per_s)
        return self._upkeep.take(cost, now)


class Standings:
    """The standing of all peers that connected of late."""

    def __init__(self, upkeep_per_s: float, by_address: bool) -> None:
        """`by_address` is False where an authority vouches for ids: there a peer cannot make
        another one, and must not bring those beside it into disrepute."""
        self._upkeep_per_s = upkeep_per_s
        self._by_address = by_address
        self._peers: dict[NodeId, Standing] = {}
        self._addresses: dict[str, Fading] = {}

    def of(self, node: NodeId, address: str, now: float) -> Standing:
        there, standing = self._score_at(address), self._peers.pop(node, None)
        if standing is None:
            standing = Standing(self._upkeep_per_s, there, now)
        standing.address = there
        self._peers[node] = standing  # now the last to be forgotten
        if len(self._peers) > KEPT_MAX:
            del self._peers[next(iter(self._peers))]
        return standing

    def refuses(self, node: NodeId, address: str | None, now: float) -> bool:
        """Return whether a peer is not let in. The address is None if it is not proven."""
        known = self._peers.get(node)
        if known is not None and known.score(now) > REFUSED:
            return True
        there = None if address is None else self._addresses.get(address)
        return there is not None and there.value(now) > ADDRESS_REFUSED

    def _score_at(self, address: str) -> Fading:
        if not self._by_address:
            return Fading(HALF_S)
        score = self._addresses.pop(address, None) or Fading(HALF_S)
        self._addresses[address] = score
        if len(self._addresses) > KEPT_MAX:
            del self._addresses[next(iter(self._addresses))]
        return score
