"""The listening socket of a node.

With asyncio's own server, and with its `sock_accept`, a connection that is accepted at the
moment of closing fails with a traceback and is never closed. Here it is closed like any other.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Protocol

from orbweaver.core.errors import UsageError
from orbweaver.net.peers.arrivals import address_of
from orbweaver.net.wire.connection import Connection

BACKLOG = 128
"""How many connections may wait in the kernel to be accepted."""
PAUSE_S = 0.5
"""Seconds to pause after an error such as too many open files, which would come again at once."""


class Door(Protocol):
    """What decides about connections."""

    def expects(self, address: str) -> bool:
        """Return whether a connection from an address is accepted."""
        ...

    def accept(self, address: str) -> Connection | None:
        """Make a connection, or return None if there is no room."""
        ...


class Listener:
    """Accept connections, and hand each to a `Connection` that the door makes."""

    def __init__(self, door: Door, tls: ssl.SSLContext | None, handshake_s: float) -> None:
        self._door = door
        self._tls = tls
        self._handshake_s = handshake_s
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._greeting: dict[asyncio.Task[None], socket.socket] = {}

    async def open(self, host: str, port: int) -> int:
        """Listen, and return the port; port 0 takes a free one."""
        try:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, address = found[0]
            listening = socket.socket(family, kind, protocol)
            try:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(address)
                listening.listen(BACKLOG)
                listening.setblocking(False)
            except BaseException:
                listening.close()
                raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"cannot listen at {host}:{port}: {reason}") from None
        self._socket = listening
        self._listen()
        return int(listening.getsockname()[1])

    async def close(self) -> None:
        listening, self._socket = self._socket, None
        if listening is None:
            return
        self._loop.remove_reader(listening)
        listening.close()
        greeting = dict(self._greeting)
        for task in greeting:
            task.cancel()
        await asyncio.gather(*greeting, return_exceptions=True)
        for task, accepted in greeting.items():
            if task.cancelled():  # perhaps before it began
                accepted.close()

    def _listen(self) -> None:
        if self._socket is not None:
            self._loop.add_reader(self._socket, self._take, self._socket)

    def _take(self, listening: socket.socket) -> None:
        """Accept all connections that wait."""
        for _ in range(BACKLOG):
            try:
                accepted, caller = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(listening)
                self._loop.call_later(PAUSE_S, self._listen)
                return
            address = address_of(caller)
            if not self._door.expects(address):
                accepted.close()
                continue
            accepted.setblocking(False)
            task = self._loop.create_task(self._greet(accepted, address))
            self._greeting[task] = accepted
            task.add_done_callback(self._greeting.pop)

    async def _greet(self, accepted: socket.socket, address: str) -> None:
        connection = self._door.accept(address)
        if connection is None:
            accepted.close()
            return
        connection.greeting = asyncio.current_task()
        limit = {"ssl_handshake_timeout": self._handshake_s} if self._tls is not None else {}
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, **limit
            )
        except (OSError, TimeoutError):
            connection.connection_lost(None)
        except asyncio.CancelledError:
            # The connection had to make room for another, or the node stops.
            connection.connection_lost(None)
            accepted.close()
            raise
        finally:
            connection.greeting = None
