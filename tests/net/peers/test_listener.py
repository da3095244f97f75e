"""Calls that come while a node stops."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from orbweaver.net.peers.listener import Listener
from tests.net.live import make_node, until


class Silent(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.abort()


class Open:
    def expects(self, address: str) -> bool:
        return True

    def accept(self, address: str) -> Silent:
        return Silent()


def call(port: int) -> socket.socket:
    caller = socket.create_connection(("127.0.0.1", port))
    caller.settimeout(20)
    return caller


def ended(caller: socket.socket) -> bool:
    with caller:
        try:
            return caller.recv(1) == b""
        except ConnectionResetError:
            return True


def test_a_call_that_comes_as_the_listener_closes_is_ended_in_silence() -> None:
    """At each of the moments between a call and its connection."""

    async def scenario(rounds: int) -> None:
        wrong: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, found: wrong.append(found))
        listener = Listener(Open(), None, 5.0)  # type: ignore[arg-type]
        port = await listener.open("127.0.0.1", 0)
        callers = [call(port) for _ in range(3)]
        for _ in range(rounds):
            await asyncio.sleep(0)
        await listener.close()
        for caller in callers:
            assert await asyncio.to_thread(ended, caller)
        assert wrong == []

    for rounds in range(5):
        asyncio.run(scenario(rounds))


def test_a_listener_goes_on_after_an_error(monkeypatch: Any) -> None:
    """Such as too many open files."""
    monkeypatch.setattr("orbweaver.net.peers.listener.PAUSE_S", 0.01)

    async def scenario() -> None:
        async with make_node() as node:
            listening = node.host._listener._socket
            assert listening is not None
            tried = []

            class Failing:
                def accept(self) -> tuple[socket.socket, Any]:
                    tried.append(1)
                    if len(tried) < 3:
                        raise OSError(24, "Too many open files")
                    return listening.accept()

                def fileno(self) -> int:
                    return listening.fileno()

            loop = asyncio.get_running_loop()
            loop.remove_reader(listening)
            node.host._listener._socket = Failing()  # type: ignore[assignment]
            node.host._listener._listen()
            async with make_node(join=[node.address]) as other:
                await until(lambda: bool(node.host.peers.connected()))
                assert other.host.peers.connected()
            node.host._listener._socket = listening
            assert len(tried) >= 3

    asyncio.run(scenario())
