"""The listening socket. With asyncio's own server, a connection that is accepted at the
moment of closing fails loudly and is never closed; here it is closed like any other."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from orbweaver.core.errors import UsageError
from orbweaver.net.connection import Connection

BACKLOG = 128
PAUSE_S = 0.5
"""After an error such as too many open files, which would come again at once."""


class Listener:
    def __init__(
        self, accept: Callable[[], Connection], tls: ssl.SSLContext | None, handshake_s: float
    ) -> None:
        self._accept = accept
        self._tls = tls
        self._handshake_s = handshake_s
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, host: str, port: int) -> int:
        """The port, which is chosen if it was given as 0."""
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
        self._start(self._serve(listening))
        return int(listening.getsockname()[1])

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()

    def _start(self, work: asyncio._CoroutineLike[None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(PAUSE_S)
                continue
            self._start(self._greet(accepted))

    async def _greet(self, accepted: socket.socket) -> None:
        connection = self._accept()
        limit = {"ssl_handshake_timeout": self._handshake_s} if self._tls is not None else {}
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, **limit
            )
        except (OSError, TimeoutError):
            connection.connection_lost(None)
        except asyncio.CancelledError:
            accepted.close()
            raise
