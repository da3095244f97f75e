"""Scribe in simulations, and among peers that lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.core.params import build
from orbweaver.core.seeds import generator
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.messages import Pull, Recent, Relay
from orbweaver.overlays.scribe import Scribe
from orbweaver.overlays.scribe.messages import (
    PastryAlive,
    PastryGone,
    PastryJoin,
    PastryProbe,
    PastryProbeOk,
    PastryRows,
    ScribeMulticast,
    ScribePublish,
    ScribePublished,
    ScribeRecent,
)
from orbweaver.overlays.scribe.pastry import id_distance
from orbweaver.sim.simulation import Simulation
from orbweaver.testing.cases import QUICK
from orbweaver.workload.scenario_files import build_scenario
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, PEER, LIAR = (NodeId(n) for n in (1, 2, 3))
NODES = 120


def simulation(params: dict[str, Any] | None = None, **parts: Any) -> Simulation:
    base = {
        "overlay": "scribe",
        "params": params or {},
        "workload": {"nodes": NODES, "topics": 20, "subscriptions_per_node": "3"},
        "publish": {"per_topic": 2, "every_ms": 20},
        "latency": {"model": "uniform", "low_ms": 5, "high_ms": 20},
        "run": {"warmup_ms": 15_000, "drain_ms": 5000},
    }
    return Simulation(build_scenario(base | parts, "test"), 1, Scribe)


def nodes_of(made: Simulation) -> dict[NodeId, Scribe]:
    found = {node.me: node.overlay for node in made.world.nodes if node.overlay is not None}
    return {me: overlay for me, overlay in found.items() if isinstance(overlay, Scribe)}


def owed_and_got(made: Simulation, records: Any) -> Iterator[tuple[int, int]]:
    """Yield, for each publication, how many nodes should get the event and how many did."""
    names = records["publications"].spec.names
    subscribers = made.workload.subscriptions.of_node
    for row in records["publications"].rows():
        found = dict(zip(names, row, strict=True))
        wanted = [n for n, topics in enumerate(subscribers) if found["topic"] in topics]
        yield len(wanted) - (found["node"] in wanted), found["deliveries"]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the places of nodes on a plane of 100 ms by 100 ms."""
    rng = generator("plane")
    path = tmp_path_factory.mktemp("scribe") / "plane.csv"
    rows = [f"{n},{rng.random() * 100},{rng.random() * 100}" for n in range(NODES)]
    path.write_text("\n".join(["node,x,y", *rows]), encoding="utf-8")
    return path


def test_leaf_sets_are_right_and_routes_take_about_log16_n_hops() -> None:
    made = simulation({"leaf_set": 8})
    made.run()
    nodes = nodes_of(made)
    order = sorted(nodes, key=lambda node: nodes[node].pastry.id)
    for i, me in enumerate(order):
        near = {order[(i + by) % NODES] for by in range(-4, 5)} - {me}
        assert set(nodes[me].pastry.leaves) == near
    rng, hops = generator("keys"), []
    for _ in range(500):
        key, at, count = rng.getrandbits(128), NodeId(rng.randrange(NODES)), 0
        while (hop := nodes[at].pastry.next_hop(key)) is not None:
            at, count = hop, count + 1
        assert at == min(order, key=lambda node: id_distance(nodes[node].pastry.id, key))
        hops.append(count)
    assert mean(hops) < math.log(NODES, 16) + 0.5
    assert max(hops) <= 4


def test_every_subscriber_gets_every_event_over_trees_with_relays() -> None:
    made = simulation()
    records = made.run().records
    assert all(owed == got for owed, got in owed_and_got(made, records))
    relays = sum(node.status()["relay_of"] for node in nodes_of(made).values())
    assert relays > 0, "a tree of routes has forwarders that do not subscribe"
    for me, node in nodes_of(made).items():
        for topic, branch in node.relays.branches.items():
            assert branch.parent == node.pastry.next_hop(node.keys[topic])
            assert branch.children or topic in node.interest.subscribed
            if branch.parent is not None:
                assert me in nodes_of(made)[branch.parent].relays.branches[topic].children


def test_with_proximity_links_are_shorter(plane: Path) -> None:
    latency = {"model": "coordinates", "file": str(plane)}
    round_trips = {}
    for proximity in (True, False):
        made = simulation({"proximity": proximity, "leaf_set": 8}, latency=latency)
        made.run()
        round_trips[proximity] = mean(
            made.world.nodes[me].round_trip_ms(other)
            for me, node in nodes_of(made).items()
            for other in node.pastry.row(0)
        )
    # A place in the first row has one candidate in 16, so about 7 to choose among.
    assert round_trips[True] < 0.6 * round_trips[False]


def test_the_publisher_may_be_the_root() -> None:
    made = simulation({"root": "publisher"}, publish={"by": "publisher", "per_topic": 2})
    records = made.run().records
    assert all(owed == got for owed, got in owed_and_got(made, records))
    for me, node in nodes_of(made).items():
        for topic, branch in node.relays.branches.items():
            named = node.context.publisher_of(topic)
            assert (branch.parent is None) == (me == named), f"{topic} at {me}"


def test_a_new_root_takes_over_and_nothing_published_later_is_lost() -> None:
    made = simulation(QUICK["scribe"], publish={"per_topic": 0}, run={"warmup_ms": 30_000})
    world = made.world
    roots: dict[str, NodeId] = {}

    def crash_roots() -> None:
        for topic in sorted({t for ts in made.workload.subscriptions.of_node for t in ts})[:5]:
            root = next(
                me
                for me, node in nodes_of(made).items()
                if topic in node.relays.branches and node.multicast.is_root(topic)
            )
            roots[topic] = root
        for root in dict.fromkeys(roots.values()):
            world.crash(world.nodes[root])

    def publish() -> None:
        for topic in roots:
            at = next(
                node
                for node in world.nodes
                if node.overlay is not None and topic in node.wanted and node.me != roots[topic]
            )
            world.publish(at, topic, b"after the crash")

    world.engine.schedule(15_000, lambda *_: crash_roots(), None, None)
    world.engine.schedule(25_000, lambda *_: publish(), None, None)
    records = made.run().records
    names = records["publications"].spec.names
    rows = [dict(zip(names, row, strict=True)) for row in records["publications"].rows()]
    assert len(rows) == 5
    gone = set(roots.values())
    for row in rows:
        subscribers = [
            n for n, topics in enumerate(made.workload.subscriptions.of_node)
            if row["topic"] in topics and n not in gone and n != row["node"]
        ]  # fmt: skip
        assert row["deliveries"] == len(subscribers)


def test_a_run_repeats() -> None:
    digests = {simulation(run={"warmup_ms": 3000}).run().records.digest() for _ in range(2)}
    assert len(digests) == 1


# -- one node, by hand


def make(publisher: NodeId | None = None, **params: Any) -> tuple[Scribe, FakeOutbox]:
    outbox = FakeOutbox()
    context = make_context(ME, outbox, TopicTable(["news"]))
    context = replace(context, publisher_of=lambda topic: publisher)
    node = Scribe(context, build(Scribe.Params, QUICK["scribe"] | params, "test"))
    node.subscribe("news")
    node.start([PEER])
    return node, outbox


def linked(**params: Any) -> tuple[Scribe, FakeOutbox]:
    """Return a node with one neighbour, which is the root of `news`."""
    node, outbox = make(publisher=PEER, root="publisher", **params)
    node.receive(PEER, PastryProbeOk(()))
    run_for(node, outbox, 300)
    assert node.relays.branches["news"].parent == PEER
    outbox.take()
    return node, outbox


def run_for(node: Scribe, outbox: FakeOutbox, ms: int) -> None:
    until = outbox.clock.now + ms
    while due := [timer for timer, at in outbox.timers.items() if at <= until]:
        timer = min(due, key=lambda name: outbox.timers[name])
        outbox.clock.now = max(outbox.clock.now, outbox.timers.pop(timer))
        node.wake(timer)
    outbox.clock.now = until


def sent(outbox: FakeOutbox, kind: type) -> list[tuple[NodeId, Any]]:
    return [(to, message) for to, message in outbox.take() if isinstance(message, kind)]


def news(seq: int) -> Event:
    return Event("news", NodeId(9), 1000, seq, b"x")


def test_a_node_is_linked_with_on_its_own_word_only() -> None:
    node, outbox = make()
    told = tuple(NodeId(n) for n in range(10, 30))
    node.receive(LIAR, PastryRows(told, last=True))
    assert set(node.links()) == {LIAR}
    assert {to for to, _ in sent(outbox, PastryProbe)} == set(told)
    node.receive(told[0], PastryProbeOk(()))
    assert set(node.links()) == {LIAR, told[0]}


def test_nodes_that_do_not_answer_are_not_asked_for_ever() -> None:
    node, outbox = make()
    node.receive(LIAR, PastryRows((NodeId(10),), last=True))
    outbox.take()
    run_for(node, outbox, 1200)
    assert [to for to, _ in sent(outbox, PastryProbe)].count(NodeId(10)) == 2, "three in all"
    node.receive(LIAR, PastryRows((NodeId(10),), last=True))
    assert NodeId(10) not in [to for to, _ in sent(outbox, PastryProbe)]
    node.receive(NodeId(10), PastryProbe(()))
    assert NodeId(10) in node.links()


def test_a_neighbour_that_falls_silent_is_probed_and_lost() -> None:
    node, outbox = linked()
    run_for(node, outbox, 4000)
    assert PEER not in node.links()
    assert node.relays.branches["news"].parent is None


def test_a_link_that_the_other_end_does_not_have_ends() -> None:
    node, outbox = linked()
    node.pastry.drop(PEER)
    node.neighbors.choose()
    assert PEER not in node.links()
    assert [m.chosen for _, m in sent(outbox, PastryAlive)] == [False]
    node.receive(LIAR, PastryAlive(chosen=True))
    node.receive(LIAR, PastryGone(leaving=True))
    assert LIAR not in node.links()
    assert outbox.links == set(node.links())


def test_an_event_is_repeated_until_a_root_confirms_it() -> None:
    node, outbox = linked()
    event = node.publish("news", b"x")
    name = (event.publisher, event.epoch, "news", 0)
    assert [to for to, _ in sent(outbox, ScribePublish)] == [PEER]
    assert node.backlog() == 1
    node.receive(PEER, PastryAlive(chosen=True))
    run_for(node, outbox, 1500)
    assert [to for to, _ in sent(outbox, ScribePublish)] == [PEER]
    node.receive(PEER, ScribePublished(name))
    assert node.backlog() == 0
    node.receive(PEER, PastryAlive(chosen=True))
    run_for(node, outbox, 3000)
    assert sent(outbox, ScribePublish) == []


def test_a_node_that_is_farther_than_this_one_cannot_confirm_events() -> None:
    node, _ = linked()
    event = node.publish("news", b"x")
    key = node.keys["news"]
    far = next(NodeId(n) for n in range(10, 99) if not node.pastry.closer(NodeId(n), key))
    node.receive(far, ScribePublished((event.publisher, event.epoch, "news", event.seq)))
    assert node.multicast.unconfirmed


def test_a_root_hands_recent_events_over_to_the_next_root() -> None:
    node, outbox = make(publisher=PEER, root="publisher")
    event = node.publish("news", b"x")
    assert node.backlog() == 0, "it knows no other node, so it is the root itself"
    outbox.take()
    node.receive(PEER, PastryProbeOk(()))
    run_for(node, outbox, 300)
    assert [(to, m.event) for to, m in sent(outbox, ScribePublish)] == [(PEER, event)]


def test_a_new_child_is_told_of_recent_events_and_all_children_three_times() -> None:
    node, outbox = make(publisher=ME, root="publisher")
    event = node.publish("news", b"x")
    node.receive(LIAR, PastryAlive(chosen=True))
    node.receive(LIAR, Relay(("news",)))
    outbox.take()
    run_for(node, outbox, 300)
    told = (Recent(event.stream, 0, 0),)
    assert [(to, m.recent) for to, m in sent(outbox, ScribeRecent)] == [(LIAR, told)]
    for _ in range(20):
        node.receive(LIAR, Relay(("news",)))
        run_for(node, outbox, 500)
    assert len(sent(outbox, ScribeRecent)) == 3
    node.receive(LIAR, Pull((event.publisher, event.epoch, "news", 0)))
    assert [m.event for _, m in sent(outbox, ScribeMulticast)] == [event]


def test_a_gap_is_pulled_at_once_and_an_event_is_delivered_once() -> None:
    node, outbox = linked()
    for seq in (0, 3, 3):
        node.receive(PEER, ScribeMulticast(news(seq), 1, 0))
    assert [event.seq for event, _ in outbox.delivered] == [0, 3]
    pulled = [(to, m.event[3]) for to, m in sent(outbox, Pull)]
    assert pulled == [(PEER, 1), (PEER, 2)]


def test_what_a_tree_neighbour_tells_of_is_pulled_and_what_a_stranger_tells_of_is_not() -> None:
    node, outbox = linked()
    one = Recent((NodeId(9), 1000, "news"), 4, 5)
    node.receive(LIAR, ScribeRecent((one,)))
    assert sent(outbox, Pull) == []
    node.receive(PEER, ScribeRecent((one, Recent((NodeId(9), 1000, "news"), 0, 2**62))))
    pulled = [m.event[3] for _, m in sent(outbox, Pull)]
    assert pulled[:2] == [4, 5]
    assert len(pulled) <= 128


def test_a_flood_of_joins_leaves_nothing_behind() -> None:
    node, outbox = linked()
    for n in range(10, 5000):
        node.receive(LIAR, PastryJoin(NodeId(n), 1))
    assert len(node.neighbors._probing) <= 1024
    run_for(node, outbox, 2000)
    assert len(node.neighbors._probing) <= 1024
    assert len(node.neighbors._failed) <= 256
    assert set(node.links()) <= {PEER, LIAR}


def test_no_child_puts_a_node_on_trees_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbweaver.gossip.relays.BRANCHES_OF_CHILD", 100)
    node, _ = linked()
    own = len(node.relays.branches)
    for batch in range(10):
        node.receive(LIAR, Relay(tuple(f"made up {batch} {n}" for n in range(50))))
    assert len(node.relays.branches) <= own + 100
    node.lost(LIAR)
    assert len(node.relays.branches) == own
