"""Implement as much of HTTP/1.1 as a page for operators needs: one small request for each
connection, one answer, and the connection is closed."""

from __future__ import annotations

import asyncio
import re
import socket
from http import HTTPStatus
from typing import NamedTuple

REQUEST_BYTES_MAX = 8192
"""Largest request, in bytes."""
LINGER_BYTES = 65_536
"""Bytes that are read and thrown away after the answer, at most."""

_FIRST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")


class HttpError(Exception):
    """The request is answered with this status in place of a page."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Request(NamedTuple):
    method: str
    path: str
    """The path without the query after a question mark."""
    hosts: list[str]
    """Every `Host` header. A correct request has one of them, but requests with more exist."""


async def read_request(connection: socket.socket) -> Request:
    """Read a request up to the empty line. A body after it is ignored."""
    loop = asyncio.get_running_loop()
    request = b""
    while (end := request.find(b"\r\n\r\n")) < 0:
        if len(request) >= REQUEST_BYTES_MAX:
            raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        data = await loop.sock_recv(connection, REQUEST_BYTES_MAX - len(request))
        if not data:
            raise HttpError(HTTPStatus.BAD_REQUEST)
        request += data
    return parse(request[:end])


def parse(request: bytes) -> Request:
    first, *lines = request.split(b"\r\n")
    asked = _FIRST.fullmatch(first)
    if asked is None:
        raise HttpError(HTTPStatus.BAD_REQUEST)
    hosts = []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise HttpError(HTTPStatus.BAD_REQUEST)
        if header[1].lower() == b"host":
            hosts.append(header[2].decode("latin-1").strip())
    return Request(asked[1].decode(), asked[2].partition(b"?")[0].decode(), hosts)


def refusal(status: HTTPStatus) -> bytes:
    return response(status, "text/plain; charset=utf-8", f"{status.phrase.lower()}\n".encode())


def response(status: HTTPStatus, kind: str, body: bytes) -> bytes:
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        lines.append("Allow: GET")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


async def send(connection: socket.socket, answer: bytes) -> None:
    """Send the answer, shut down our side, and wait until the caller closes its side.

    Closing a socket with unread bytes resets the connection, and the reset would overtake the
    answer.
    """
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, answer)
    connection.shutdown(socket.SHUT_WR)
    left = LINGER_BYTES
    while left > 0 and (data := await loop.sock_recv(connection, 4096)):
        left -= len(data)
