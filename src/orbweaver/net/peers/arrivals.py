"""Limit the connections that are opened to this node.

Each handshake costs signatures, and under TLS far more. The attempts of one address are limited,
so that one machine cannot take the handshakes of all; and half of the handshakes of a second are
kept for addresses that did not call of late, so that several machines cannot either.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from orbweaver.net.gate.limits import Bucket

FROM_ADDRESS = (20.0, 200.0)
"""How many connections one address may open, per second and at once. Many nodes may be on one
machine, or behind one address."""
EVERYWHERE = (250.0, 250.0)
"""How many connections are accepted, per second and at once: from addresses that are remembered,
and as many from others."""
REMEMBERED_MAX = 4096
"""How many addresses are remembered."""


class Arrivals:
    """The addresses that have called of late."""

    def __init__(self, now: float) -> None:
        self._addresses: dict[str, Bucket] = {}
        self._known, self._new = Bucket(*EVERYWHERE, now), Bucket(*EVERYWHERE, now)

    def admits(self, address: str, now: float) -> bool:
        """Return whether a connection from an address is accepted. If it is, it counts."""
        bucket = self._addresses.pop(address, None)
        everywhere = self._new if bucket is None else self._known
        if bucket is None:
            bucket = Bucket(*FROM_ADDRESS, now)
        self._addresses[address] = bucket  # now the last to be forgotten
        if len(self._addresses) > REMEMBERED_MAX:
            del self._addresses[next(iter(self._addresses))]
        return bucket.allow(1, now) and everywhere.allow(1, now)


def address_of(peername: object) -> str:
    """Return the address by which a peer is counted, out of what a socket says of its far end. Of
    an IPv6 address the first half counts, since one machine usually has all of the other half."""
    host = str(peername[0]) if isinstance(peername, tuple) and peername else ""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)
