"""`orbweaver status` against an admin page with a made-up status."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec
import pytest

from orbweaver.cli.reading import (
    duration,
    parse_address,
    printable,
    read_memory,
    read_status,
    size,
    trouble,
)
from orbweaver.core.errors import UsageError
from orbweaver.net.admin.pages import Admin
from orbweaver.net.admin.status import LinkStatus, Status, TopicStatus
from orbweaver.net.counters import Counters

STATUS = Status(
    id="000000000000beef",
    overlay="spidercast",
    listen="10.0.0.7:7700",
    udp=True,
    secure="tls",
    uptime_s=7384.2,
    topics=[TopicStatus(topic="news/[bold]sport", subscribers=2, since_s=65)],
    links=[
        LinkStatus(peer="00000000000000aa", address="10.0.0.8:7700", connected=True, messages_in=7),
        LinkStatus(peer="00000000000000bb", address="\x1b[2J10.0.0.9", connected=False),
    ],
    connections=3,
    peers_known=1717,
    queued_messages=4,
    queued_bytes=4096,
    overlay_state={"view": 20},
    log={"events": 88, "bytes": 8800},
    counters={"delivered": 52_000, "missed": 0, "dropped_data": 9, "from_the_future": 1},
)


T = TypeVar("T")


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """Not a node: says `answer` to whoever calls first."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def served(status: Status, do: Callable[[str], T]) -> T:
    """What `do`, in a thread, makes of the address of a node with this status."""

    async def main() -> T:
        admin = Admin(Counters(), lambda: status)
        host, port = await admin.start(port=0)
        try:
            return await asyncio.to_thread(do, f"{host}:{port}")
        finally:
            await admin.close()

    return asyncio.run(main())


def orbweaver(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from orbweaver.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


def test_people_see_everything() -> None:
    done = served(STATUS, lambda address: orbweaver("status", "--admin", address))
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    assert "000000000000beef spidercast, on 10.0.0.7:7700 (TCP and UDP, TLS), up 2 h 3 min" in shown
    for text in ("00000000000000aa", "10.0.0.8:7700", "news/[bold]sport", "1 min 5 s", "1,717"):
        assert text in shown
    for text in ("4.1 KB", "window: events", "overlay: view", "52,000", "from_the_future"):
        assert text in shown
    assert "events dropped because a queue was full, the oldest first" in shown
    assert "missed" not in shown, "what is zero is left out"
    assert "no link yet" not in shown
    assert "\x1b" not in done.stdout, "nothing of a stranger's reaches the terminal as it is"


def test_a_node_without_links_says_so() -> None:
    alone = msgspec.structs.replace(STATUS, links=[], topics=[], counters={})
    done = served(alone, lambda address: orbweaver("status", "--admin", address))
    assert done.returncode == 0
    assert "no link yet" in done.stdout
    assert "peer" not in done.stdout.replace("peers known", "")


def test_scripts_get_the_status_itself() -> None:
    done = served(STATUS, lambda address: orbweaver("status", "--admin", address, "--json"))
    (line,) = done.stdout.splitlines()
    assert msgspec.convert(json.loads(line), Status) == STATUS
    assert done.returncode == 0


def test_memory_comes_from_the_metrics() -> None:
    memory = served(STATUS, read_memory)
    assert memory is not None
    assert memory > 1_000_000


def test_a_proxy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert served(STATUS, read_status) == STATUS


def test_nobody_there_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    done = orbweaver("status", "--admin", address)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"orbweaver: no node answers at {address} (connection refused)")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"", "no node answers at"),
        (b"220 mail.example ESMTP\r\n", "but not in HTTP"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "with HTTP status 404"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n", "with HTTP status 302"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "but not with the status of a node"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"id": 7}', "but not with the status of a node"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "but not with the status of a node"),
    ],
)
def test_something_else_there(answer: bytes, complaint: str) -> None:
    with listening(answer) as address, pytest.raises(UsageError) as raised:
        read_status(address)
    assert complaint in str(raised.value)
    assert address in str(raised.value)


@pytest.mark.parametrize(
    ("text", "address"),
    [("a:1", ("a", 1)), ("[::1]:7701", ("::1", 7701)), ("10.0.0.7:65535", ("10.0.0.7", 65535))],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "a", ":1", "a:", "a:0", "a:65536", "::1:7", "a:1/x", "a b:1"])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UsageError, match=r"it should look like 127\.0\.0\.1:7701"):
        parse_address(text)


def test_trouble_is_what_should_be_zero() -> None:
    counted = Counters(delivered=5, missed=1, dropped_data=2, bad_seals=3, forged=4, peers_lost=9)
    found = {"missed": 1, "dropped_data": 2, "bad_seals": 3, "forged": 4}
    assert trouble(counted.as_dict()) == found


def test_words_for_numbers() -> None:
    spans = [duration(s) for s in (0.4, 59, 60, 3600, 3725, 90_061)]
    assert spans == ["0 s", "59 s", "1 min", "1 h", "1 h 2 min", "1 d 1 h"]
    sizes = [size(n) for n in (0, 999, 1000, 2_500_000, 7_000_000_000)]
    assert sizes == ["0 B", "999 B", "1.0 KB", "2.5 MB", "7.0 GB"]
    assert printable("a\x1b[0m\nb") == "a\ufffd[0m\ufffdb"
