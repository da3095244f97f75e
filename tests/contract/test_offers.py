"""What hosts offer besides messages: round trips, the publisher of a topic, what is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import KEPT_BYTES_MAX, Outbox
from orbweaver.core.params import Params
from orbweaver.net.keys.identity import Identity
from orbweaver.net.keys.lastlife import read_kept, write_kept
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import make_settings
from orbweaver.overlays.catalog import find
from orbweaver.sim.latency import make_latencies
from orbweaver.sim.simulation import Simulation
from orbweaver.testing.pump import Pump
from orbweaver.workload.scenario import LatencySpec
from orbweaver.workload.scenario_files import build_scenario
from tests.net.live import make_node, nodes, until

Clique: Any = find("spidercast")


class Counting(Clique):
    """An overlay that counts its lives in what it keeps."""

    name: ClassVar[str] = "counting"
    Params: ClassVar[type[Params]] = Clique.Params

    def start(self, contacts: Any) -> None:
        super().start(contacts)
        self.lives = int(self.context.kept or b"0") + 1
        self.context.outbox.keep(str(self.lives).encode())


def scenario(**parts: Any) -> Any:
    base = {
        "overlay": "counting",
        "workload": {"nodes": 8, "topics": 4, "subscriptions_per_node": "2"},
    }
    return build_scenario(base | parts, "test")


def test_the_simulator_keeps_over_a_life() -> None:
    world = Simulation(scenario(), 1, Counting).world
    node = world.nodes[3]
    for life in (1, 2, 3):
        world.join(node)
        assert node.overlay.lives == life  # type: ignore[union-attr]
        world.crash(node)


def test_the_pump_keeps_over_a_life() -> None:
    pump = Pump(Counting, Counting.Params(), 1)
    for life in (b"1", b"2"):
        pump.join(4, ["news"])
        assert pump.kept[NodeId(4)] == life
        pump.crash(4)


def test_the_network_keeps_over_a_restart(tmp_path: Path) -> None:
    async def lives() -> list[int]:
        found = []
        for _ in range(2):
            settings = make_settings({"overlay": "counting", "key": tmp_path / "node.key"})
            async with NetworkNode(Counting, settings) as node:
                found.append(node.host.overlay.lives)  # type: ignore[attr-defined]
        return found

    assert asyncio.run(lives()) == [1, 2]
    assert read_kept(tmp_path / "node.counting") == b"2"


def test_too_much_is_not_kept() -> None:
    node = Simulation(scenario(), 1, Counting).world.nodes[0]
    with pytest.raises(ValueError, match=f"at most {KEPT_BYTES_MAX}"):
        node.keep(bytes(KEPT_BYTES_MAX + 1))


def test_a_folder_that_cannot_be_written_stops_no_node(tmp_path: Path) -> None:
    write_kept(tmp_path / "absent" / "node.counting", b"something")
    assert read_kept(tmp_path / "absent" / "node.counting") == b""


def test_simulated_round_trips_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "rtt.txt"
    path.write_text("0 7.31 90.5\n7.31 0 0.62\n90.5 0.62 0\n")
    spec = {"model": "matrix", "file": str(path), "round_trip": True}
    _, exact_ms = make_latencies(LatencySpec(**spec), list("abc"), Random(1))  # type: ignore[arg-type]
    pairs = [(NodeId(a), NodeId(b)) for a in range(3) for b in range(a)]
    found = sorted(exact_ms(a, b) + exact_ms(b, a) for a, b in pairs)
    assert found == pytest.approx([0.62, 7.31, 90.5])
    world = Simulation(
        scenario(latency=spec, workload={"nodes": 3, "topics": 2, "subscriptions_per_node": "1"}),
        1,
        Clique,
    ).world
    outbox: Outbox = world.nodes[0]
    assert outbox.round_trip_ms(NodeId(1)) in [pytest.approx(ms) for ms in found]


def test_measuring_takes_no_draws_from_messages() -> None:
    spec = LatencySpec(model="uniform", low_ms=1, high_ms=9)
    plain, _ = make_latencies(spec, list("ab"), Random(1))
    measured, exact_ms = make_latencies(spec, list("ab"), Random(1))
    a, b = NodeId(0), NodeId(1)
    for _ in range(20):
        assert exact_ms(a, b) == 5.0
        assert plain(a, b) == measured(a, b)


def test_the_network_measures_round_trips() -> None:
    async def measure() -> float:
        async with nodes(2, topics=["news"]) as (one, other):
            host, peer = one.host, other.host.me
            assert host.round_trip_ms(NodeId(12345)) is None
            await until(lambda: host.round_trip_ms(peer) is not None)
            return host.round_trip_ms(peer) or 0.0

    assert 0.0 < asyncio.run(measure()) < 60_000.0


def test_the_simulation_draws_one_publisher_for_each_topic() -> None:
    made = Simulation(scenario(publish={"by": "publisher", "per_topic": 3}), 1, Clique)
    records = made.run().records
    of = made.world.nodes[0].overlay.context.publisher_of  # type: ignore[union-attr]
    rows = list(records["publications"].rows())
    names = records["publications"].spec.names
    topic_at, node_at = names.index("topic"), names.index("node")
    assert rows
    for row in rows:
        assert row[node_at] == of(row[topic_at])
        assert row[topic_at] in made.workload.subscriptions.of_node[row[node_at]]


def test_without_publishers_none_is_known() -> None:
    made = Simulation(scenario(), 1, Clique)
    made.run()
    assert made.world.nodes[0].overlay.context.publisher_of("news") is None  # type: ignore[union-attr]


def test_the_configuration_names_publishers() -> None:
    first, second = (Identity.generate() for _ in range(2))

    async def look() -> list[NodeId | None]:
        keys = [identity.public_key.hex() for identity in (first, second)]
        listed = {"news": keys, "a/#": keys[1:]}
        async with make_node(publishers=listed) as node:
            of = node.host.overlay.context.publisher_of
            return [of("news"), of("a/b/c"), of("other")]

    assert asyncio.run(look()) == [first.node, second.node, None]
