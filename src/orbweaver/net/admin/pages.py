"""The pages for operators: `/metrics`, `/status` and `/healthz` over plain HTTP; `/` lists them.

The pages have no authentication, so by default they are served only on this machine. Then only
requests that name this machine in `Host` are answered: a web page elsewhere that makes a browser
send requests here (DNS rebinding) gets nothing.

Requests must not disturb the node, nor each other. A request is small and has to arrive in time.
Few are served at once: one more ends the oldest, which has had many times what an honest request
takes. And connections are accepted one at a time with a pause in between, so that a flood of
connections costs little more than no flood.

A node without these pages does not import this file, nor `prometheus_client`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.net.admin.exchange import AdminPage, HttpError, Request, read_request, refusal, send
from orbweaver.net.admin.metrics import CONTENT_TYPE, Metrics
from orbweaver.net.admin.status import ADMIN_HOST, ADMIN_PORT, Status
from orbweaver.net.counters import Counters
from orbweaver.net.logger import Logger

CONNECTIONS_MAX = 32
"""Most connections that are served at once."""
EXCHANGE_S = 5.0
"""Seconds for a request to arrive, and again for its answer to be read."""
ACCEPT_PAUSE_S = 0.02
"""Seconds from one accepted connection to the next."""

CONTENTS = b"""\
An Orbweaver node. Its pages:

/metrics   counters and gauges, for Prometheus
/status    identity, links, topics, queues and counters, as one JSON object
/healthz   200 while the node answers, and whether it has a link
"""
"""The page `/`, for people that open the address in a browser."""

_JSON = "application/json"

log = Logger()


class Admin:
    """The server of the pages. `status` is called for each page; if it fails, the answer is a
    500."""

    def __init__(self, counters: Counters, status: Callable[[], Status]) -> None:
        self._status = status
        self._pages: dict[str, tuple[str, Callable[[], bytes]]] = {
            "/": ("text/plain; charset=utf-8", lambda: CONTENTS),
            "/metrics": (CONTENT_TYPE, Metrics(counters, status).page),
            "/status": (_JSON, lambda: msgspec.json.encode(self._status())),
            "/healthz": (_JSON, self._health),
        }
        self._serving: dict[asyncio.Task[None], None] = {}
        """The exchanges under way, the oldest first."""
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._local = True

    async def start(self, host: str = ADMIN_HOST, port: int = ADMIN_PORT) -> tuple[str, int]:
        """Listen, and return the bound address; port 0 takes a free port."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            family, _, _, _, address = found[0]
            # Of an IPv6 address, the first two parts are enough to listen on.
            listening = socket.create_server(
                (str(address[0]), int(address[1])), family=family, backlog=CONNECTIONS_MAX
            )
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            reason = reason.partition(" (while attempting")[0]  # it repeats the address
            raise UsageError(f"the admin page cannot listen on {host}:{port}: {reason}") from None
        listening.setblocking(False)
        bound = listening.getsockname()
        self._listening = listening
        self._local = ipaddress.ip_address(bound[0].partition("%")[0]).is_loopback
        self._accepting = loop.create_task(self._accept(listening), name="admin")
        return bound[0], bound[1]

    async def close(self) -> None:
        tasks = [*self._serving, *([self._accepting] if self._accepting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listening is not None:
            self._listening.close()
        self._listening = self._accepting = None

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as error:  # no file descriptor left, or the caller has gone
                log.warning("admin page cannot accept", reason=str(error))
                await asyncio.sleep(1)
                continue
            if len(self._serving) >= CONNECTIONS_MAX:
                next(iter(self._serving)).cancel()
            task = loop.create_task(self._serve(connection))
            self._serving[task] = None
            task.add_done_callback(partial(self._served, connection))
            await asyncio.sleep(ACCEPT_PAUSE_S)

    def _served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        connection.close()
        del self._serving[task]

    async def _serve(self, connection: socket.socket) -> None:
        try:
            answer = await self._answer(connection)
            async with asyncio.timeout(EXCHANGE_S):
                await send(connection, answer)
        except OSError:
            pass  # the caller has gone, or is too slow

    async def _answer(self, connection: socket.socket) -> AdminPage:
        try:
            async with asyncio.timeout(EXCHANGE_S):
                request = await read_request(connection)
            return self._page(request)
        except TimeoutError:
            return refusal(HTTPStatus.REQUEST_TIMEOUT)
        except HttpError as error:
            return refusal(error.status)

    def _page(self, request: Request) -> AdminPage:
        if request.host is not None and not self._is_us(request.host):
            raise HttpError(HTTPStatus.FORBIDDEN)
        if request.method != "GET":
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED)
        if request.path not in self._pages:
            raise HttpError(HTTPStatus.NOT_FOUND)
        kind, make = self._pages[request.path]
        try:
            return AdminPage(HTTPStatus.OK, kind, make())
        except Exception:  # a page may fail, the node goes on
            log.exception("admin page failed", page=request.path)
            raise HttpError(HTTPStatus.INTERNAL_SERVER_ERROR) from None

    def _is_us(self, host: str) -> bool:
        if not self._local:
            return True
        name = re.sub(r":\d*$", "", host).strip("[]").lower()
        try:
            return name == "localhost" or ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def _health(self) -> bytes:
        linked = self._status().links_connected > 0
        return msgspec.json.encode({"status": "ok", "linked": linked})
