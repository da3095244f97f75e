"""One exchange over HTTP: a small request is read, one answer is sent, the connection is closed.

h11 knows the protocol; here are the limits.
"""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from typing import NamedTuple

import h11

REQUEST_BYTES_MAX = 8192
"""Largest request, in bytes."""
LINGER_BYTES = 65_536
"""Bytes that are read and thrown away after the answer, at most."""


class HttpError(Exception):
    """The request is answered with this status in place of a page."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Request(NamedTuple):
    method: str
    path: str
    """The path without the query after a question mark."""
    host: str | None
    """The `Host` header. Only a request of HTTP/1.0 may come without one."""


class AdminPage(NamedTuple):
    """What is answered: a page, or a refusal."""

    status: HTTPStatus
    kind: str
    """The media type of the body."""
    body: bytes


def refusal(status: HTTPStatus) -> AdminPage:
    return AdminPage(status, "text/plain; charset=utf-8", f"{status.phrase.lower()}\n".encode())


async def read_request(connection: socket.socket) -> Request:
    """Read a request up to the empty line. A body after it is ignored."""
    loop = asyncio.get_running_loop()
    http, left = h11.Connection(h11.SERVER, REQUEST_BYTES_MAX), REQUEST_BYTES_MAX
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            if not left:
                raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            data = await loop.sock_recv(connection, left)
            left -= len(data)
            http.receive_data(data)
    except h11.RemoteProtocolError as error:
        raise HttpError(HTTPStatus(error.error_status_hint)) from None
    if not isinstance(event, h11.Request):
        raise HttpError(HTTPStatus.BAD_REQUEST)  # the caller has closed its side
    if event.http_version not in (b"1.0", b"1.1"):
        raise HttpError(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    host = dict(event.headers).get(b"host")
    return Request(
        event.method.decode("ascii"),
        event.target.partition(b"?")[0].decode("ascii"),
        None if host is None else host.decode("latin-1"),
    )


async def send(connection: socket.socket, page: AdminPage) -> None:
    """Send a page, shut down our side, and wait until the caller closes its side.

    Closing a socket with unread bytes resets the connection, and the reset would overtake the
    answer.
    """
    headers = [
        ("Content-Type", page.kind),
        ("Content-Length", str(len(page.body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Connection", "close"),
    ]
    if page.status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append(("Allow", "GET"))
    http = h11.Connection(h11.SERVER)  # a new one: the request may have been none
    head = h11.Response(
        status_code=page.status, headers=headers, reason=page.status.phrase.encode()
    )
    parts = [http.send(event) or b"" for event in (head, h11.Data(page.body), h11.EndOfMessage())]
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, b"".join(parts))
    connection.shutdown(socket.SHUT_WR)
    left = LINGER_BYTES
    while left > 0 and (data := await loop.sock_recv(connection, 4096)):
        left -= len(data)
