"""`orbweaver top`, driven without a terminal and with made-up readings."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import DataTable, Sparkline, Static

from orbweaver.cli.top import top
from orbweaver.cli.top_view import Top
from orbweaver.cli.watching import StatusReading, Watched, addresses
from orbweaver.core.errors import UsageError
from orbweaver.net.admin.status import LinkStatus, Status, TopicStatus


def status(number: int, uptime: float, **counters: int) -> Status:
    return Status(
        id=f"{number:016x}",
        overlay="vitis",
        listen=f"10.0.0.{number}:7700",
        udp=False,
        secure="plain",
        uptime_s=uptime,
        topics=[TopicStatus(topic=f"t/{number}", subscribers=1, since_s=60)],
        links=[LinkStatus(peer=f"{99:016x}", address="[red]\x1b", connected=True)],
        connections=2,
        peers_known=5,
        queued_messages=3,
        queued_bytes=30,
        counters=counters,
    )


class Nodes:
    """Readings by address, to be changed while they are watched. None: nobody answers."""

    def __init__(self, **readings: StatusReading | None) -> None:
        self.readings = readings

    def read(self, address: str) -> StatusReading:
        found = self.readings[address]
        if found is None:
            raise UsageError(f"no node answers at {address}")
        return found


Test = Callable[[Top, Pilot[None]], Awaitable[None]]


def watch(nodes: Nodes, test: Test) -> None:
    """Nothing is read but at the start and when the test says so."""

    async def main() -> None:
        app = Top(list(nodes.readings), nodes.read, interval=1e6)
        async with app.run_test(size=(160, 40)) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            await test(app, pilot)

    asyncio.run(main())


def table(app: Top, name: str) -> DataTable[Text]:
    return app.query_one(f"#{name}", DataTable)


def row(app: Top, name: str, key: str) -> list[str]:
    return [cell.plain for cell in table(app, name).get_row(key)]


def keys(app: Top, name: str) -> list[str]:
    return [str(key.value) for key in table(app, name).rows]


def about(app: Top) -> str:
    return str(app.query_one("#about", Static).render())


def test_every_node_with_its_rates() -> None:
    nodes = Nodes(
        a=StatusReading(status(1, 10, messages_in=100, messages_out=50, delivered=0), memory=41e6),
        b=StatusReading(status(2, 10)),
    )

    async def test(app: Top, pilot: Pilot[None]) -> None:
        first = row(app, "nodes", "a")
        assert first[:4] == ["a", f"{1:016x}", "vitis", "1/1"]
        assert first[4:7] == ["-", "-", "-"], "one reading has no rate"
        assert first[7:] == ["3", "41.0 MB", "0"]
        assert row(app, "nodes", "b")[8] == "-", "memory that is not known"
        counted = {"messages_in": 120, "messages_out": 50, "delivered": 3000}
        nodes.readings["a"] = StatusReading(status(1, 12, **counted))
        await app.poll()
        assert row(app, "nodes", "a")[4:7] == ["10.0", "0.0", "1,500"]
        data = app.query_one("#delivered", Sparkline).data
        assert data is not None
        assert list(data) == [0, 1500]

    watch(nodes, test)


def test_the_chosen_node_in_detail() -> None:
    nodes = Nodes(a=StatusReading(status(1, 10)), b=StatusReading(status(2, 10)))

    async def test(app: Top, pilot: Pilot[None]) -> None:
        assert keys(app, "topics") == ["t/1"]
        peer = f"{99:016x}"
        assert row(app, "links", peer)[:3] == [peer, "[red]\ufffd", "yes"]
        assert about(app).startswith(f"{1:016x} on 10.0.0.1:7700, not encrypted, up 10 s;")
        await pilot.press("down")
        await pilot.pause()
        assert keys(app, "topics") == ["t/2"]
        assert f"{2:016x}" in about(app)
        changed = msgspec.structs.replace(status(2, 11), topics=[], links=[])
        nodes.readings["b"] = StatusReading(changed)
        await app.poll()
        assert keys(app, "topics") == keys(app, "links") == []
        assert table(app, "nodes").cursor_row == 1, "reading leaves the choice as it was"

    watch(nodes, test)


def test_trouble_stands_out() -> None:
    nodes = Nodes(
        a=StatusReading(status(1, 10, delivered=7, bad_frames=2, missed=0)),
        b=StatusReading(status(2, 10, delivered=7)),
    )

    async def test(app: Top, pilot: Pilot[None]) -> None:
        def cell(name: str, key: str, column: str) -> tuple[str, str]:
            found = table(app, name).get_cell(key, column)
            return found.plain, str(found.style)

        assert keys(app, "trouble") == ["bad_frames"]
        assert cell("nodes", "a", "trouble") == ("2", "yellow")
        assert cell("nodes", "b", "trouble") == ("0", "")
        counted = {"delivered": 7, "bad_frames": 2, "missed": 5}
        nodes.readings["a"] = StatusReading(status(1, 11, **counted))
        await app.poll()
        assert cell("nodes", "a", "trouble") == ("7", "bold red")
        assert cell("trouble", "bad_frames", "counter") == ("bad_frames", "yellow")
        assert cell("trouble", "missed", "counter") == ("missed", "bold red")
        assert cell("trouble", "missed", "new") == ("5", "bold red")

    watch(nodes, test)


def test_a_node_that_goes_away_and_comes_back() -> None:
    nodes = Nodes(a=StatusReading(status(1, 10, delivered=900)), b=None)

    async def test(app: Top, pilot: Pilot[None]) -> None:
        assert row(app, "nodes", "b") == ["b", *["-"] * 8, "no answer"]
        nodes.readings["a"] = None
        await app.poll()
        assert row(app, "nodes", "a") == ["a", f"{1:016x}", *["-"] * 7, "no answer"]
        assert about(app) == "no node answers at a"
        assert keys(app, "topics") == ["t/1"], "what was known last stays to be read"
        nodes.readings["a"] = StatusReading(status(1, 1, delivered=4))
        nodes.readings["b"] = StatusReading(status(2, 1))
        await app.poll()
        assert row(app, "nodes", "a")[4:7] == ["-", "-", "-"], "counts began anew"
        assert row(app, "nodes", "b")[1] == f"{2:016x}"

    watch(nodes, test)


def test_a_node_that_does_not_answer_holds_nobody_up() -> None:
    stuck = threading.Event()
    nodes = Nodes(a=StatusReading(status(1, 10)), b=StatusReading(status(2, 10)))
    asked: list[str] = []

    def read(address: str) -> StatusReading:
        asked.append(address)
        if address == "a":
            stuck.wait(60)
        return nodes.read(address)

    async def main() -> None:
        app = Top(["a", "b"], read, interval=1e6)
        async with app.run_test(size=(160, 40)) as pilot:
            while row(app, "nodes", "b")[1] == "-":
                await pilot.pause(0.01)
            await app.poll()
            assert asked.count("a") == 1, "not asked again while it is being asked"
            assert row(app, "nodes", "a")[-1] == "asking"
            stuck.set()
            await app.workers.wait_for_complete()
            assert row(app, "nodes", "a")[1] == f"{1:016x}"

    asyncio.run(main())


def test_readings_are_taken_again_and_again() -> None:
    asked: list[str] = []

    def read(address: str) -> StatusReading:
        asked.append(address)
        return StatusReading(status(1, len(asked)))

    async def main() -> None:
        app = Top(["a"], read, interval=0.01)
        async with app.run_test() as pilot:
            while len(asked) < 4:
                await pilot.pause(0.01)

    asyncio.run(main())


def test_q_quits() -> None:
    async def test(app: Top, pilot: Pilot[None]) -> None:
        assert app.is_running
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running

    watch(Nodes(a=StatusReading(status(1, 10))), test)


def test_readings_that_come_in_on_the_way_out_are_no_accident() -> None:
    nodes = Nodes(a=StatusReading(status(1, 10)))

    async def test(app: Top, pilot: Pilot[None]) -> None:
        await app.query_one("#about").remove()
        nodes.readings["a"] = StatusReading(status(1, 12))
        await app.poll()
        assert app.nodes["a"].now == nodes.readings["a"]
        await pilot.press("q")
        await pilot.pause()
        nodes.readings["a"] = StatusReading(status(1, 13))
        await app.poll()

    watch(nodes, test)


def test_another_node_at_the_same_address_has_no_rate_yet() -> None:
    node = Watched("a")
    node.took(StatusReading(status(1, 10, delivered=10)))
    node.took(StatusReading(status(1, 20, delivered=60)))
    assert node.rate("delivered") == 5
    node.took(StatusReading(status(2, 30, delivered=70)))
    assert node.rate("delivered") is None
    assert list(node.delivered) == [0, 5, 0]


def test_addresses_of_a_swarm(tmp_path: Path) -> None:
    file = tmp_path / "swarm"
    file.write_text("# first rack\n10.0.0.1:7701\n\n 10.0.0.2:7701  # slow\n10.0.0.1:7701\n")
    assert addresses([], file) == ["10.0.0.1:7701", "10.0.0.2:7701"]
    assert addresses(["[::1]:1"], file) == ["[::1]:1", "10.0.0.1:7701", "10.0.0.2:7701"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "no such file"),
        (b"\n# nobody\n", "has no admin address"),
        (b"\xff\xfe", "not utf-8 text"),
        (b"10.0.0.1\n", "'10.0.0.1' is not an address"),
    ],
)
def test_bad_swarms(content: bytes | None, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "swarm"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=complaint):
        addresses([], file)


def test_without_textual_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "orbweaver.cli.top_view")
    monkeypatch.setitem(sys.modules, "textual", None)
    for name in [name for name in sys.modules if name.startswith("textual.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"needs: pip install '\.\[top\]'"):
        top()


def test_without_a_terminal_it_says_what_scripts_use() -> None:
    code = "from orbweaver.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "top"], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == "orbweaver: orbweaver top needs a terminal; scripts use: orbweaver status --json"


def test_textual_is_loaded_by_top_only() -> None:
    code = "import sys, orbweaver.cli.main; print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
