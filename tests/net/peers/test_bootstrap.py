"""Addresses to join: who is there, who is not, and why."""

from __future__ import annotations

import asyncio
import shutil
import socket
from pathlib import Path

import pytest
import structlog

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.net.peers.bootstrap import Bootstrap, _some_answer
from tests.net.live import make_node


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def test_an_address_that_is_another_name_is_called_once() -> None:
    """A second call would end the first connection, and lose what is on its way."""

    async def main() -> None:
        async with make_node() as first:
            address = f"localhost:{port_of(first.address)}"
            async with make_node(join=[address], rejoin_s=0.5) as node:
                for _ in range(3):
                    await node._bootstrap.look_around()
                assert node.counters.connections_out == 1
                assert node.unanswered() == {}

    asyncio.run(main())


def test_a_list_of_addresses_may_have_the_node_itself_in_it() -> None:
    async def main() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            own = f"127.0.0.1:{probe.getsockname()[1]}"
        async with make_node(listen=own, join=[own]) as node:
            calls = node.counters.connections_out
            await node._bootstrap.look_around()
            assert node.counters.connections_out == calls
            assert (node.counters.bad_handshakes, node.unanswered()) == (0, {})

    asyncio.run(main())


def test_two_that_share_a_key_are_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with make_node(state=str(tmp_path / "one")) as first:
            shutil.copytree(tmp_path / "one", tmp_path / "other")
            async with make_node(state=str(tmp_path / "other"), join=[first.address]) as second:
                assert second.id == first.id
                assert "has the key of this one" in second.unanswered()[first.address]

    asyncio.run(main())


def test_who_is_not_let_in_knows_why() -> None:
    async def main() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            nobody = f"127.0.0.1:{probe.getsockname()[1]}"
        async with (
            make_node("vitis") as other,
            make_node("vitis", cluster="theirs") as foreign,
            make_node() as ours,
            make_node(
                join=[other.address, foreign.address, nobody, ours.address, "nowhere.invalid:1"]
            ) as node,
        ):
            # At the start, the others are not waited for when one has let us in.
            await asyncio.gather(*map(node._bootstrap._call, node._bootstrap._addresses))
            why = node.unanswered()
            assert "overlay 'vitis' does not match 'spidercast'" in why[other.address]
            assert "cluster 'theirs' does not match 'orbweaver'" in why[foreign.address]
            assert why[nobody] == "connection refused"
            assert "nowhere.invalid:1" in why

    asyncio.run(main())


@pytest.mark.parametrize(
    ("theirs", "differ"),
    [
        ({"overlay": "vitis"}, "overlay 'vitis' does not match 'spidercast'"),
        ({"cluster": "theirs"}, "cluster 'theirs' does not match 'orbweaver'"),
    ],
)
def test_a_node_of_another_network_does_not_start(theirs: dict[str, str], differ: str) -> None:
    async def main() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            nobody = f"127.0.0.1:{probe.getsockname()[1]}"
            async with make_node(**theirs) as foreign:
                lost = make_node(join=[nobody, foreign.address])
                with pytest.raises(UsageError) as told:
                    await lost.start()
                assert f"{foreign.address} belongs to another network: {differ}" in str(told.value)
                with pytest.raises(UsageError, match="has stopped"):
                    lost.neighbours()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_another_network_that_comes_up_later_is_logged_once() -> None:
    async def main() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            late = f"127.0.0.1:{probe.getsockname()[1]}"
        async with make_node(join=[late], rejoin_s=1e6) as node:
            async with make_node("vitis", listen=late):
                with structlog.testing.capture_logs() as logs:
                    await node._bootstrap.look_around()
                    await node._bootstrap.look_around()
            assert "overlay 'vitis' does not match" in node.unanswered()[late]
        found = [line for line in logs if line["event"] == "another network"]
        assert [line["address"] for line in found] == [late]

    asyncio.run(main())


def test_a_node_that_comes_up_later_is_found_soon() -> None:
    async def main() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            late = f"127.0.0.1:{probe.getsockname()[1]}"
        async with make_node(join=[late], rejoin_s=1e6) as node:
            assert node.unanswered() == {late: "connection refused"}
            async with make_node(listen=late), asyncio.timeout(20):
                while node.unanswered():
                    await asyncio.sleep(0.05)

    asyncio.run(main())


def test_drain_waits_until_neighbours_have_read() -> None:
    async def main() -> None:
        async with make_node() as first, make_node(join=[first.address]) as node:
            await first.subscribe("news")
            await node.subscribe("news")
            async with asyncio.timeout(20):
                while not (first.neighbours() and node.neighbours()):
                    await asyncio.sleep(0.01)
            for peer in first.host.peers:
                if peer.connection is not None:
                    peer.connection.rest(3)
            await node.publish("news", b"x")
            try:
                await node.drain(0.1)
            except TimeoutError:
                pass
            else:
                raise AssertionError("nobody has read it")
            await node.drain(20)
            assert first.counters.delivered == 1

    asyncio.run(main())


def test_a_start_that_is_given_up_calls_nobody_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unanswered(*_: object) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        monkeypatch.setattr(Bootstrap, "_call", unanswered)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3), make_node(join=["127.0.0.1:1"]):
                pass
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_who_has_been_let_in_does_not_wait_for_the_silent() -> None:
    async def answer(after_s: float, node: NodeId | None) -> NodeId | None:
        await asyncio.sleep(after_s)
        return node

    async def main() -> None:
        calls = [
            asyncio.create_task(answer(*a)) for a in ((0, None), (0.01, NodeId(7)), (1e6, None))
        ]
        async with asyncio.timeout(20):
            await _some_answer(calls, 1e6)
        assert [call.done() for call in calls] == [True, True, False]
        calls[2].cancel()

    asyncio.run(main())
