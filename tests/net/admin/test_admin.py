"""The admin page on a real loopback socket: what it shows, and what strangers can do to it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.net.admin import pages as admin
from orbweaver.net.admin.metrics import GAUGES
from orbweaver.net.admin.pages import Admin
from orbweaver.net.admin.status import LinkStatus, Status, TopicStatus, id_text
from orbweaver.net.counters import Counters
from tests.net.live import until

STATUS = Status(
    id=id_text(NodeId(0xBEEF)),
    overlay="spidercast",
    listen="127.0.0.1:7700",
    udp=True,
    secure="plain",
    uptime_s=12.5,
    topics=[
        TopicStatus(topic="news/sport", subscribers=2, since_s=9.0),
        TopicStatus(topic='odd "name"\\', subscribers=1, since_s=1.0),
    ],
    links=[
        LinkStatus(peer=id_text(NodeId(1)), address="127.0.0.1:1", connected=True),
        LinkStatus(peer=id_text(NodeId(2)), address="127.0.0.1:2", connected=False),
    ],
    connections=3,
    peers_known=17,
    queued_messages=4,
    queued_bytes=4096,
    overlay_state={"view": 20, 'tricky "one"': 1},
    log={"events": 8, "bytes": 800},
    counters={"delivered": 5},
)

Address = tuple[str, int]


@asynccontextmanager
async def serving(
    counters: Counters | None = None, status: Callable[[], Status] = lambda: STATUS
) -> AsyncIterator[Address]:
    server = Admin(counters or Counters(), status)
    try:
        yield await server.start(port=0)
    finally:
        await server.close()


def run(test: Callable[[Address], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving() as address:
            await test(address)

    asyncio.run(main())


async def send(address: Address, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes as they are; (status, headers, body) of the answer."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(request)
        return await answer(reader)
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert headers["Connection"] == "close"
    assert int(headers["Content-Length"]) == len(body)
    return int(first.split(" ")[1]), headers, body


async def get(address: Address, path: str) -> tuple[int, dict[str, str], bytes]:
    return await send(address, f"GET {path} HTTP/1.1\r\nHost: localhost:1\r\n\r\n".encode())


def metrics_of(body: bytes) -> dict[str, float]:
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if not sample.labels
    }


def test_the_first_page_lists_the_others() -> None:
    async def test(address: Address) -> None:
        code, headers, body = await get(address, "/")
        assert (code, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
        listed = [line.split()[0] for line in body.decode().splitlines() if line[:1] == "/"]
        assert ["/", *listed] == list(Admin(Counters(), lambda: STATUS)._pages)
        for path in listed:
            assert (await get(address, path))[0] == 200

    run(test)


def test_status_is_what_the_node_says() -> None:
    async def test(address: Address) -> None:
        code, headers, body = await get(address, "/status")
        assert (code, headers["Content-Type"]) == (200, "application/json")
        assert msgspec.json.decode(body, type=Status) == STATUS
        assert json.loads(body)["id"] == "000000000000beef"

    run(test)


def test_metrics_hold_every_counter_and_gauge() -> None:
    async def main() -> None:
        names = [field.name for field in dataclasses.fields(Counters)]
        counters = Counters(**{name: 100 + i for i, name in enumerate(names)})
        async with serving(counters) as address:
            code, headers, body = await get(address, "/metrics?x=1")
            assert code == 200
            assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
            found = metrics_of(body)
            for i, name in enumerate(names):
                assert found[f"orbweaver_{name}_total"] == 100 + i
            assert {name for name in GAUGES if f"orbweaver_{name}" not in found} == set()
            assert found["orbweaver_links"] == 2
            assert found["orbweaver_links_connected"] == 1
            assert found["orbweaver_subscriptions"] == 3
            assert found["orbweaver_log_bytes"] == 800
            assert found["orbweaver_uptime_seconds"] == 12.5
            assert found["process_resident_memory_bytes"] > 1_000_000
            assert found["process_cpu_seconds_total"] > 0
            counters.delivered += 1
            again = metrics_of((await get(address, "/metrics"))[2])
            before = found["orbweaver_delivered_total"]
            assert again["orbweaver_delivered_total"] == before + 1

    asyncio.run(main())


def test_metrics_carry_help_and_labels() -> None:
    async def test(address: Address) -> None:
        _, _, body = await get(address, "/metrics")
        families = {f.name: f for f in text_string_to_metric_families(body.decode())}
        assert families["orbweaver_delivered"].documentation == "events given to the application"
        assert families["orbweaver_delivered"].type == "counter"
        state = {s.labels["of"]: s.value for s in families["orbweaver_overlay_state"].samples}
        assert state == STATUS.overlay_state
        (node,) = families["orbweaver_node_info"].samples
        assert node.labels == {"id": STATUS.id, "overlay": "spidercast", "secure": "plain"}

    run(test)


def test_two_nodes_in_one_process_do_not_mix() -> None:
    async def main() -> None:
        async with serving(Counters(published=1)) as one, serving(Counters(published=2)) as two:
            for address, published in ((one, 1), (two, 2)):
                found = metrics_of((await get(address, "/metrics"))[2])
                assert found["orbweaver_published_total"] == published

    asyncio.run(main())


def test_health_says_whether_there_is_a_link() -> None:
    async def main() -> None:
        now = STATUS
        async with serving(status=lambda: now) as address:
            code, _, body = await get(address, "/healthz")
            assert (code, json.loads(body)) == (200, {"status": "ok", "linked": True})
            now = msgspec.structs.replace(STATUS, links=STATUS.links[1:])
            code, _, body = await get(address, "/healthz")
            assert (code, json.loads(body)) == (200, {"status": "ok", "linked": False})

    asyncio.run(main())


def test_a_status_that_fails_is_a_500_and_the_server_goes_on() -> None:
    async def main() -> None:
        def status() -> Status:
            if failing:
                raise OSError("disk on fire")
            return STATUS

        failing = True
        async with serving(status=status) as address:
            for path in ("/status", "/metrics", "/healthz"):
                code, _, body = await get(address, path)
                assert code == 500
                assert b"fire" not in body
            failing = False
            assert (await get(address, "/healthz"))[0] == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /metrics/ HTTP/1.0\r\n\r\n", 404),
        (b"GET /../etc/passwd HTTP/1.0\r\n\r\n", 404),
        (b"GET /status HTTP/1.0\r\n\r\n", 200),
        (b"GET /status HTTP/1.1\r\nHost: localhost\r\nX: y z\r\n\r\nleft over", 200),
        (b"POST /status HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"HEAD /status HTTP/1.0\r\n\r\n", 405),
        (b"get /status HTTP/1.0\r\n\r\n", 405),
        (b"\r\n\r\n", 400),
        (b"GET /status\r\n\r\n", 400),
        (b"GET  /status HTTP/1.1\r\n\r\n", 400),
        (b"GET /sta\xfftus HTTP/1.1\r\n\r\n", 400),
        (b"GET /status HTTP/2.0\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET /status HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\nX: a\nb\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\n folded: x\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n", 400),
        (b"A" * 8192, 431),
        (b"GET /status HTTP/1.1\r\nX: " + b"a" * 8192 + b"\r\n\r\n", 431),
        (b"B" * 60_000, 431),
    ],
)
def test_what_strangers_send(request_: bytes, code: int) -> None:
    async def test(address: Address) -> None:
        got, headers, _ = await send(address, request_)
        assert got == code
        assert (headers.get("Allow") == "GET") == (code == 405)
        assert (await get(address, "/healthz"))[0] == 200

    run(test)


def test_whoever_is_still_sending_can_read_the_answer() -> None:
    """Were the connection closed at once, it would be reset under the sender's hands."""

    async def test(address: Address) -> None:
        loop = asyncio.get_running_loop()
        with socket.create_connection(address) as client:
            client.setblocking(False)
            await loop.sock_sendall(client, b"A" * 20_000)
            got = b""
            while data := await loop.sock_recv(client, 4096):
                got += data
            assert got.startswith(b"HTTP/1.1 431 ")
            assert (await get(address, "/healthz"))[0] == 200
            assert client.send(b"A" * 1000) == 1000

    run(test)


def test_the_largest_request_is_read() -> None:
    async def test(address: Address) -> None:
        start = b"GET /healthz HTTP/1.0\r\nX: "
        request = start + b"a" * (8192 - len(start) - 4) + b"\r\n\r\n"
        assert (await send(address, request))[0] == 200

    run(test)


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:7701", 200),
        ("[::1]:7701", 200),
        ("LocalHost", 200),
        ("evil.example:7701", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_machine_are_answered(host: str, code: int) -> None:
    async def test(address: Address) -> None:
        request = f"GET /status HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        assert (await send(address, request))[0] == code

    run(test)


def test_elsewhere_any_name_is_answered() -> None:
    async def main() -> None:
        server = Admin(Counters(), lambda: STATUS)
        _, port = await server.start("0.0.0.0", 0)
        request = b"GET /healthz HTTP/1.1\r\nHost: node7.example\r\n\r\n"
        assert (await send(("127.0.0.1", port), request))[0] == 200
        await server.close()

    asyncio.run(main())


def test_a_request_in_crumbs_is_read() -> None:
    async def test(address: Address) -> None:
        reader, writer = await asyncio.open_connection(*address)
        for byte in b"GET /healthz HTTP/1.0\r\n\r\n":
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert (await answer(reader))[0] == 200
        writer.close()

    run(test)


def test_whoever_hangs_up_early_is_told_so() -> None:
    async def test(address: Address) -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET /sta")
        writer.write_eof()
        assert (await answer(reader))[0] == 400
        writer.close()

    run(test)


def test_a_slow_client_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "EXCHANGE_S", 0.05)

    async def test(address: Address) -> None:
        assert (await send(address, b"GET /status HTTP/1.1\r\n"))[0] == 408

    run(test)


def test_a_client_that_does_not_read_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "EXCHANGE_S", 0.1)
    big = msgspec.structs.replace(STATUS, overlay="x" * 20_000_000)

    def served() -> int:
        names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
        return names.count("Admin._serve")

    async def main() -> None:
        async with serving(status=lambda: big) as address:
            with socket.create_connection(address) as client:
                client.sendall(b"GET /status HTTP/1.1\r\n\r\n")
                await until(lambda: served() == 1)
                await until(lambda: served() == 0)

    asyncio.run(main())


def test_a_reset_while_being_served_is_no_accident() -> None:
    async def test(address: Address) -> None:
        for request in (b"", b"GET /metrics HTTP/1.1\r\n\r\n"):
            client = socket.create_connection(address)
            client.sendall(request)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
        assert (await get(address, "/healthz"))[0] == 200

    run(test)


def test_slow_requests_do_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "ACCEPT_PAUSE_S", 0)
    monkeypatch.setattr(admin, "EXCHANGE_S", 1000.0)

    async def test(address: Address) -> None:
        holders = [socket.create_connection(address) for _ in range(admin.CONNECTIONS_MAX + 1)]
        for holder in holders:
            holder.sendall(b"GET /hea")
        assert (await get(address, "/healthz"))[0] == 200
        holders[-1].sendall(b"lthz HTTP/1.0\r\n\r\n")
        holders[0].settimeout(20)
        assert await asyncio.to_thread(holders[0].recv, 1) == b"", "the oldest had to go"
        assert (await asyncio.to_thread(holders[-1].recv, 12)).endswith(b"200")
        for holder in holders:
            holder.close()

    run(test)


def test_connections_are_taken_with_a_pause_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "ACCEPT_PAUSE_S", 1000)

    async def test(address: Address) -> None:
        assert (await get(address, "/healthz"))[0] == 200
        asked = asyncio.create_task(get(address, "/healthz"))
        done, _ = await asyncio.wait({asked}, timeout=0.1)
        assert not done
        asked.cancel()

    run(test)


def test_closing_ends_what_is_being_served() -> None:
    async def main() -> None:
        async with serving() as address:
            reader, writer = await asyncio.open_connection(*address)
            assert (await get(address, "/healthz"))[0] == 200
        assert await reader.read(-1) == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*address)

    asyncio.run(main())


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.7", "no.such.host.invalid", "a..b"])
def test_an_address_that_cannot_be_had(host: str) -> None:
    async def main() -> None:
        async with serving() as (_, taken):
            server = Admin(Counters(), lambda: STATUS)
            with pytest.raises(UsageError, match="the admin page cannot listen on"):
                await server.start(host, taken)
            await server.close()

    asyncio.run(main())


def test_by_default_only_this_machine_is_served() -> None:
    async def main() -> None:
        server = Admin(Counters(), lambda: STATUS)
        host, _ = await server.start(port=0)
        assert host == "127.0.0.1"
        await server.close()
        await server.close()

    asyncio.run(main())
