"""A little cluster of real nodes, measured by the functions that measure a simulation."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from orbweaver.cli.main import make_app
from orbweaver.core.errors import UsageError
from orbweaver.metrics.degree import degrees
from orbweaver.metrics.deliveries import deliveries
from orbweaver.metrics.snapshot import snapshot
from orbweaver.metrics.summary import MEANING
from orbweaver.metrics.trace import follow
from orbweaver.metrics.traffic import overhead_by_node, sent, sent_bytes
from orbweaver.net.keys.identity import Identity
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import Settings
from orbweaver.overlays.catalog import find
from orbweaver.records import Records
from orbweaver.records.gather import Gathered, gather
from orbweaver.records.live import LiveRecorder
from orbweaver.records.writers import read_about, read_records, write_records
from orbweaver.study.recorded import read_recorded, whole_ms
from orbweaver.testing.paced_loop import PacedLoop

TOPICS = {0: ["news"], 1: ["news", "sport"], 2: ["news"], 3: ["sport"], 4: ["news"], 5: ["sport"]}
EVENTS = 20


class Cluster:
    """Six nodes; the last is killed in the middle."""

    def __init__(self, folder: Path, loop: PacedLoop) -> None:
        self.folder = folder
        self.loop = loop
        self.nodes: list[NetworkNode] = []
        self.links: list[int] = []
        self.ids: list[int] = []

    async def play(self) -> None:
        for topics in TOPICS.values():
            await self._begin(topics, [node.address for node in self.nodes])
        await asyncio.sleep(10)
        self.links = [len(node.neighbours()) for node in self.nodes]
        for _ in range(EVENTS):
            await self.nodes[0].publish("news", b"goal")
            await self.nodes[2].publish("sport", b"kick-off")  # it is no subscriber
        await asyncio.sleep(10)
        victim = self.nodes.pop()
        victim.host.running = False
        victim.host.peers.abort()
        await victim.stop()
        await asyncio.sleep(5)
        for node in self.nodes:
            await node.stop()

    async def _begin(self, topics: list[str], join: list[str]) -> None:
        key = self.folder / f"{len(self.nodes)}.key"
        identity = Identity.generate()
        identity.save(key)
        recorder = LiveRecorder(
            self.folder,
            identity.node,
            "spidercast",
            copies=True,
            clock_ms=lambda: round(self.loop.time() * 1000),
        )
        settings = Settings(key=str(key), join=tuple(join[:2]))
        node = NetworkNode(find("spidercast"), settings, recorder=recorder)
        await node.start()
        self.nodes.append(node)
        self.ids.append(identity.node)
        for topic in topics:
            await node.subscribe(topic)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    loop = PacedLoop()
    made = Cluster(tmp_path_factory.mktemp("cluster"), loop)
    try:
        loop.run_until_complete(made.play())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
    return made


@pytest.fixture(scope="module")
def gathered(cluster: Cluster) -> tuple[Records, Gathered]:
    return gather(cluster.folder)


def test_degree(cluster: Cluster, gathered: tuple[Records, Gathered]) -> None:
    records, _ = gathered
    look = snapshot(records, 10_000)
    assert list(look.links) == sorted(cluster.ids)
    assert sum(degrees(look)) == sum(cluster.links) > 0
    wanted = {cluster.ids[i]: frozenset(topics) for i, topics in TOPICS.items()}
    assert look.interests == wanted


def test_hit_ratio_hops_and_latency(cluster: Cluster, gathered: tuple[Records, Gathered]) -> None:
    records, found = gathered
    got = deliveries(records)
    news, sport = EVENTS * 3, EVENTS * 3  # subscribers but the publisher
    assert (got.publications, got.expected, got.deliveries) == (2 * EVENTS, news + sport, 120)
    assert got.hit_ratio == 1.0
    assert 1.0 <= got.hops_mean <= 5.0
    assert 0 <= got.latency_ms_mean < 1000
    assert (found.unknown_events, found.backwards, found.damaged) == (0, 0, 0)


def test_one_publishes_without_a_subscription(
    cluster: Cluster, gathered: tuple[Records, Gathered]
) -> None:
    rows = [row for row in gathered[0]["interests"].rows() if row[3] == "publish"]
    assert [(node, topic) for _, node, topic, _ in rows] == [(cluster.ids[2], "sport")]


def test_traffic(gathered: tuple[Records, Gathered]) -> None:
    records, _ = gathered
    counts, sizes = sent(records), sent_bytes(records)
    assert counts["data"] >= 120
    assert counts["keepalive"] > counts["build"] > 0
    assert all(sizes[purpose] > 10 * counts[purpose] for purpose in ("data", "membership"))
    copies = sum(records["publications"]["copies"])
    assert counts["data"] >= copies >= 120
    assert set(overhead_by_node(records)) == {0.0}, "SpiderCast is noiseless"


def test_loads(cluster: Cluster, gathered: tuple[Records, Gathered]) -> None:
    records, _ = gathered
    loads = {node: load for node, *load in records["loads"].rows()}
    assert set(loads) == set(cluster.ids)
    total, received, size = (sum(column) for column in zip(*loads.values(), strict=True))
    assert (total, size) == (sum(sent(records).values()), sum(sent_bytes(records).values()))
    # What the killed node sent and received in its last second was not noted.
    assert 0.8 * total < received < 1.2 * total
    assert all(count for load in loads.values() for count in load)


def test_the_killed_node_has_crashed(cluster: Cluster, gathered: tuple[Records, Gathered]) -> None:
    records, found = gathered
    assert found.crashes == 1
    ends = {node: (time, kind) for time, node, kind in records["nodes"].rows() if kind != "join"}
    time, kind = ends.pop(cluster.ids[5])
    assert kind == "crash"
    assert 18_000 < time < 21_000, "its last sign of life, of which there is one a second"
    assert {kind for _, kind in ends.values()} == {"leave"}
    assert whole_ms(records, found.end_ms) == time // 1000 * 1000


def test_gather_writes_tables_that_can_be_measured(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "gathered"
    arguments = ["gather", str(cluster.folder), "--out", str(out), "--format", "csv", "--json"]
    done = CliRunner().invoke(make_app("gather"), arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert set(told["metrics"]) == set(MEANING)
    assert (told["metrics"]["nodes_up"], told["metrics"]["hit_ratio"]) == (6, 1.0)
    assert told["gathered"]["overlay"] == read_about(out)["overlay"] == "spidercast"
    assert read_records(out).digest() == gather(cluster.folder)[0].digest()
    (run,) = read_recorded(out)
    assert run.result.metrics == told["metrics"]
    (early,) = read_recorded(out, at_ms=0)
    assert early.result.metrics["links"] == 0


def test_each_event_is_traced_to_each_node(
    cluster: Cluster, gathered: tuple[Records, Gathered]
) -> None:
    records, _ = gathered
    for event, topic in zip(*(records["publications"][c] for c in ("event", "topic")), strict=True):
        found = follow(records, event)
        assert found.missed() == []
        assert found.delivered == {
            cluster.ids[i] for i, topics in TOPICS.items() if topic in topics
        } - {found.publisher}
        for node in found.delivered:
            path = found.path(node)
            assert [hop.sender for hop in path[1:]] == [hop.receiver for hop in path[:-1]]
            assert path[0].sender == found.publisher
            assert [hop.hops for hop in path] == list(range(1, len(path) + 1))


@pytest.mark.parametrize("gathered_before", [False, True])
def test_the_command_traces_live_nodes(
    cluster: Cluster, gathered: tuple[Records, Gathered], tmp_path: Path, gathered_before: bool
) -> None:
    folder = cluster.folder
    if gathered_before:
        folder = tmp_path / "tables"
        write_records(gathered[0], folder, "csv", msgspec.to_builtins(gathered[1]))
    event = gathered[0]["publications"]["event"][0]
    node = f"{cluster.ids[1]:016x}"
    arguments = ["trace", str(folder), "--event", event, "--node", node]
    done = CliRunner().invoke(make_app("trace"), arguments, catch_exceptions=False)
    assert "to 3 of the 3 nodes to which it is owed" in done.stdout
    assert f"{node}: the event was delivered" in done.stdout


def test_gather_says_what_is_not_whole(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "gathered"
    arguments = ["gather", str(cluster.folder), "--out", str(out), "--format", "jsonl"]
    done = CliRunner().invoke(make_app("gather"), arguments, catch_exceptions=False)
    assert "spidercast on 6 live nodes" in done.stdout
    assert "1 nodes have no end in their records" in done.stderr
    with pytest.raises(UsageError, match="has no records of nodes"):
        CliRunner().invoke(make_app("gather"), ["gather", str(tmp_path)], catch_exceptions=False)


def test_the_setting_is_enough(tmp_path: Path) -> None:
    async def life() -> None:
        folder = tmp_path / "records"
        async with NetworkNode(find("vitis"), Settings(overlay="vitis", records=str(folder))) as n:
            reader = await n.subscribe("news")
            await n.publish("sport", b"kick-off")
            reader.close()

    asyncio.run(life())
    records, found = gather(tmp_path)
    assert (found.overlay, found.nodes, found.crashes) == ("vitis", 1, 0)
    assert [row[2] for row in records["nodes"].rows()] == ["join", "leave"]
    assert [row[2:] for row in records["interests"].rows()] == [
        ("news", "subscribe"),
        ("sport", "publish"),
        ("news", "unsubscribe"),
        ("sport", "unsubscribe"),
    ]
    assert list(records["publications"]["topic"]) == ["sport"]


def test_records_that_cannot_be_written_stop_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    async def life() -> None:
        async with NetworkNode(
            find("vitis"), Settings(overlay="vitis", records=str(tmp_path / "file"))
        ):
            pass

    with pytest.raises(UsageError, match="records: cannot write"):
        asyncio.run(life())


KILLED = """
import asyncio, sys
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import Settings
from orbweaver.overlays.catalog import find

async def life():
    async with NetworkNode(find("spidercast"), Settings(records=sys.argv[1])) as node:
        await node.subscribe("news")
        while True:
            await node.publish("news", b"goal")
            print("published", flush=True)
            await asyncio.sleep(0.02)

asyncio.run(life())
"""


def test_what_a_killed_process_leaves_behind(tmp_path: Path) -> None:
    """The first of its facts, without a gap, and an end of its life."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        published = 0
        # Until some of it has been written, and then a little more.
        while published < 2000 and not any(f.stat().st_size for f in tmp_path.glob("node-*")):
            published += bool(process.stdout.readline())
        for _ in range(5):
            published += bool(process.stdout.readline())
        process.kill()
        published += len(process.stdout.readlines())
    records, found = gather(tmp_path)
    assert (found.nodes, found.crashes) == (1, 1)
    assert [kind for _, _, kind in records["nodes"].rows()] == ["join", "crash"]
    names = list(records["publications"]["event"])
    seqs = [int(name.split("-")[2]) for name in names]
    assert seqs == list(range(len(seqs)))
    assert 0 < len(seqs) <= published + 1
