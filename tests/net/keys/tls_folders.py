"""Folders of nodes for tests of TLS, and a meeting of two of them over loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.keys.certificates import AUTHORITY, CERTIFICATE, KEY, peer_public_key
from orbweaver.net.keys.identity import Identity, node_of

Run = Callable[..., object]
UNKNOWN = NodeId(-1)
"""Somebody for whom the handshake was finished without a certificate."""


class Met(NamedTuple):
    """Whom each side found at the other end, if the handshake was finished there."""

    at_server: NodeId | None
    at_client: NodeId | None
    error: Exception | None
    """What the client was told in the end."""


def node_in(folder: Path) -> NodeId:
    return Identity.load(folder / KEY).node


def lax(folder: Path, side: ssl._SSLMethod, with_certificate: bool = True) -> ssl.SSLContext:
    """A context like those of the nodes that looks at nothing beforehand: to see that the
    other side does."""
    context = ssl.SSLContext(side)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(folder / AUTHORITY)
    if with_certificate:
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    return context


async def meet(server: ssl.SSLContext, client: ssl.SSLContext) -> Met:
    """Connect, and have the server send one byte, so that the client learns of a refusal."""
    at_server: list[NodeId] = []
    at_client: list[NodeId] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_server.append(_peer(writer))
        writer.write(b"!")
        await reader.read()
        writer.close()

    async def call(host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port, ssl=client)
        try:
            at_client.append(_peer(writer))
            await reader.readexactly(1)
        finally:
            writer.close()
            await writer.wait_closed()

    error: Exception | None = None
    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server)
    try:
        await call(*listening.sockets[0].getsockname())
    except (OSError, EOFError) as refused:
        error = refused
    finally:
        listening.close()
        await listening.wait_closed()
    return Met(*(found[0] if found else None for found in (at_server, at_client)), error)


def _peer(writer: asyncio.StreamWriter) -> NodeId:
    try:
        return node_of(peer_public_key(writer.get_extra_info("ssl_object")))
    except ProtocolError:
        return UNKNOWN
