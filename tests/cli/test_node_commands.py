"""`orbweaver node`, `pub`, `sub` and `swarm` as processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Command, until

QUICK = ("--set", "shuffle_ms=100", "--set", "heartbeat_ms=200")
"""An overlay that is woven sooner."""
ADDRESS = r"node [0-9a-f]{16} at (\S+),"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """A node that takes part in the topic "kept" and in no other."""
    with Command(
        tmp_path_factory.mktemp("node"),
        "node",
        "--listen",
        "127.0.0.1:0",
        "--subscribe",
        "kept",
        *QUICK,
    ) as command:
        command.says(ADDRESS)
        yield command


@pytest.fixture
def join(node: Command) -> tuple[str, ...]:
    return "--join", node.says(ADDRESS), *QUICK


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_lines_from_one_terminal_to_another(tmp_path: Path, join: tuple[str, ...]) -> None:
    with Command(tmp_path, "sub", "kept", *join, "--count", "3") as sub:
        sub.says("linked; waiting for events on kept")
        with Command(
            tmp_path, "pub", "kept", *join, "--linger", "0.1", stdin="eins\nzwei\ndrüben".encode()
        ) as pub:
            assert pub.ends() == 0, pub.err
            assert pub.err.startswith("3 events to ")
        assert sub.ends() == 0, sub.err
        assert sorted(sub.out.splitlines()) == ["drüben", "eins", "zwei"]


def test_pub_says_that_peers_do_not_take_so_large_a_payload(tmp_path: Path) -> None:
    options = "--listen", "127.0.0.1:0", "--subscribe", "kept", "--set", "payload_bytes_max=1000"
    with Command(tmp_path, "node", *options, *QUICK) as node:
        join = "--join", node.says(ADDRESS), *QUICK
        with Command(tmp_path, "pub", "kept", "x" * 2000, *join) as pub:
            assert pub.ends() == 2
            assert "a payload of 2000 bytes is too large: its peers take at most 1000" in pub.err


def test_pub_fails_and_says_why_when_peers_decline_the_event(tmp_path: Path) -> None:
    options = "--listen", "127.0.0.1:0", "--subscribe", "kept", "--set", "publishers={kept=[]}"
    with Command(tmp_path, "node", *options, *QUICK) as node:
        join = "--join", node.says(ADDRESS), *QUICK
        with Command(tmp_path, "pub", "kept", "x", *join, "--wait", "3") as pub:
            assert pub.ends() == 1
            assert "did not take an event: its publisher may not publish" in pub.err


def test_without_join_it_is_the_node_of_this_machine(tmp_path: Path, node: Command) -> None:
    """A file for the node that stays does not make others take part in its topics."""
    config = tmp_path / "node.toml"
    config.write_text('subscribe = ["elsewhere"]\n')
    code = (
        "import sys; from orbweaver.cli import joining, main; "
        f"joining.LOCAL = {node.says(ADDRESS)!r}; main.main()"
    )
    common = [*QUICK, "--config", str(config)]
    command = [sys.executable, "-c", code, "sub", "kept", *common, "--count", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sub:
        assert sub.stdout is not None
        assert sub.stderr is not None
        assert sub.stderr.readline().startswith(b"linked; waiting for events on kept")
        told = subprocess.run(
            [sys.executable, "-c", code, "pub", "kept", "hello", *common], capture_output=True
        )
        assert (told.returncode, told.stderr[:11]) == (0, b"1 event to ")
        assert sub.wait(timeout=60) == 0
        assert sub.stdout.read() == b"hello\n"


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("orbweaver pu", ["pub"]),
        ("orbweaver keys i", ["init", "issue"]),
        ("orbweaver sub news --overlay vi", ["vitis"]),
        ("orbweaver node --adm", ["--admin"]),
    ],
)
def test_a_shell_completes_commands_options_and_overlays(words: str, completed: list[str]) -> None:
    environment = os.environ | {
        "_ORBWEAVER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = str(Path(sys.executable).with_name("orbweaver"))
    done = subprocess.run([command], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, completed, "")


def test_pub_that_is_interrupted_hands_over_what_it_has_read(
    tmp_path: Path, join: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "orbweaver", "pub", "kept", *join, "--linger", "0.1"]
    with Command(tmp_path, "sub", "kept", *join) as sub:
        sub.says("linked; waiting for events on kept")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as pub:
            assert pub.stdin is not None
            pub.stdin.write(b"before the end\n")
            pub.stdin.flush()
            sub.says("before the end")
            pub.send_signal(signal.SIGINT)
            _, told = pub.communicate(timeout=60)
        assert (pub.returncode, told[:11]) == (0, b"1 event to ")


def test_json_tells_all_of_an_event_and_carries_any_bytes(
    tmp_path: Path, join: tuple[str, ...]
) -> None:
    with Command(tmp_path, "sub", "kept", "other", *join, "--count", "1", "--json") as sub:
        sub.says("linked")
        with Command(
            tmp_path, "pub", "kept", "-", *join, "--linger", "0.1", stdin=b"\xff\x00\n"
        ) as pub:
            assert pub.ends() == 0, pub.err
        assert sub.ends() == 0, sub.err
        (line,) = sub.out.splitlines()
        event = json.loads(line)
        assert event["payload_base64"] == "/wA="
        assert (event["topic"], event["seq"], event["missed"]) == ("kept", 0, 0)
        assert event["hops"] >= 1
        assert len(event["publisher"]) == 16


def test_who_comes_later_gets_what_a_node_has_kept(tmp_path: Path, join: tuple[str, ...]) -> None:
    with Command(tmp_path, "pub", "kept", "early", *join, "--linger", "0.1") as pub:
        assert pub.ends() == 0, pub.err
    with Command(tmp_path, "sub", "kept", *join, "--since", "600") as sub:
        sub.says("early")
        sub.process.send_signal(signal.SIGINT)
        assert sub.ends() == 0


def test_sub_ends_when_nobody_reads_it_any_more(join: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "orbweaver", "sub", "kept", *join]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as sub:
        assert sub.stdout is not None
        sub.stdout.close()
        assert sub.wait(timeout=60) == 0


def test_nobody_wants_it(tmp_path: Path, join: tuple[str, ...]) -> None:
    with Command(tmp_path, "pub", "unwanted", "x", *join, "--wait", "1") as pub:
        assert pub.ends() == 1
        assert pub.err == (
            "orbweaver: no neighbour took 1 of 1 event in 1 s: does any other node subscribe "
            "to unwanted?\n"
        )


def test_nobody_is_there(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with (
        Command(tmp_path, "pub", "kept", "x", "--join", address, "--wait", "1") as pub,
        Command(tmp_path, "sub", "kept", "--join", address) as sub,
        Command(tmp_path, "node", "--listen", "127.0.0.1:0", "--join", address) as lonely,
    ):
        sub.says(f"{address} does not let us in: connection refused; still trying")
        lonely.says(f"{address} does not let us in: connection refused; still trying")
        assert pub.ends() == 1
        assert pub.err.endswith(f"no node lets us in ({address}: connection refused)\n")


@pytest.mark.parametrize("command", ["pub kept x", "sub kept", "node --listen 127.0.0.1:0"])
@pytest.mark.parametrize(
    ("option", "differ"),
    [
        ("overlay=vitis", "overlay 'spidercast' does not match 'vitis'"),
        ("cluster=mine", "cluster 'orbweaver' does not match 'mine'"),
    ],
)
def test_a_command_for_another_network_fails_at_once(
    tmp_path: Path, join: tuple[str, ...], command: str, option: str, differ: str
) -> None:
    with Command(tmp_path, *command.split(), *join[:2], "--set", option) as told:
        assert told.ends() == 2
        assert told.out == ""
        last = told.err.splitlines()[-1]
        assert last.startswith(f"orbweaver: {join[1]} belongs to another network: {differ}; ")


def test_a_node_says_who_it_is_and_leaves_when_told(tmp_path: Path) -> None:
    with Command(tmp_path, "node", "--listen", "127.0.0.1:0", "--state", f"{tmp_path}/s") as node:
        who = node.says(r"node ([0-9a-f]{16}) at 127.0.0.1:\d+, overlay spidercast")
        node.says("plain: nothing is encrypted")
        admin = node.says(r"--admin (\S+)")
        with Command(tmp_path, "status", "--admin", admin, "--json") as status:
            assert status.ends() == 0, status.err
            assert json.loads(status.out)["id"] == who
        node.process.send_signal(signal.SIGTERM)
        assert node.ends() == 0
        assert node.err.endswith("leaving\n")
    arguments = ("--listen", "127.0.0.1:0", "--state", f"{tmp_path}/s", "--admin", "none")
    with Command(tmp_path, "node", *arguments, "--log-format", "json", "--no-uvloop") as again:
        again.says(f'"id": "{who}".*"event": "node runs"')
        again.process.send_signal(signal.SIGINT)
        assert again.ends() == 0
        assert again.out == ""
        assert {json.loads(line)["event"] for line in again.err.splitlines()} == {
            "node runs", "plain: connections are not encrypted",
        }  # fmt: skip


def test_a_second_signal_ends_at_once() -> None:
    code = """
import asyncio
from orbweaver.cli.loops import run

async def work():
    try:
        print("works", flush=True)
        await asyncio.sleep(1000)
    finally:
        print("leaves", flush=True)
        await asyncio.sleep(1000)

run(work())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as done:
        assert done.stdout is not None
        for line, number in (("works\n", signal.SIGTERM), ("leaves\n", signal.SIGINT)):
            assert done.stdout.readline() == line
            done.send_signal(number)
        assert done.wait(timeout=60) == 128 + signal.SIGINT


@pytest.mark.parametrize("option", ["--listen", "--admin"])
def test_an_address_in_use(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        others = () if option == "--listen" else ("--listen", "127.0.0.1:0")
        with Command(tmp_path, "node", option, address, *others) as node:
            assert node.ends() == 2
            assert address in node.err
            assert node.err.endswith(f"Choose another with {option}\n")
            assert node.err.count("\n") == 1


def test_a_swarm_delivers_everything_and_leaves_nothing(tmp_path: Path) -> None:
    arguments = (
        "5",
        "--seconds",
        "2",
        "--rate",
        "30",
        "--json",
        "--out",
        f"{tmp_path}/out",
        *QUICK,
    )
    with Command(tmp_path, "swarm", *arguments) as swarm:
        assert swarm.ends() == 0, swarm.out + swarm.err
        summary = json.loads(swarm.out.splitlines()[-1])
        assert swarm.left_behind() == []
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["delivered"] == summary["expected"] > 0
    assert (summary["missing"], summary["repeated"], summary["lost"]) == (0, 0, {})
    assert summary["published"] > 10
    assert summary["degree_mean"] >= 1
    assert len((tmp_path / "out" / "admin.txt").read_text().splitlines()) == 5


def test_a_swarm_that_is_killed_takes_its_processes_along(tmp_path: Path) -> None:
    with Command(tmp_path, "swarm", "3", "--out", f"{tmp_path}/out") as swarm:
        swarm.says("3 nodes up")
        assert len(swarm.left_behind()) == 3
        swarm.process.kill()
        until("processes are left", lambda: not swarm.left_behind())
