"""Rappel with named publishers, in a simulation and against peers that lie."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.core.params import build
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.vivaldi import Coordinates
from orbweaver.overlays.rappel import Rappel
from orbweaver.overlays.rappel.friends import utility
from orbweaver.overlays.rappel.messages import (
    Adopt,
    Descent,
    FeedPull,
    Fetched,
    JoinDeny,
    JoinForward,
    JoinOk,
    JoinRequest,
    LeaveParent,
    Lineage,
    PingAck,
    PlaceProbeOk,
    Update,
)
from orbweaver.overlays.rappel.parents import HOPS_MAX
from orbweaver.overlays.rappel.trees import GIVEN_MAX
from orbweaver.sim.simulation import Simulation
from orbweaver.testing.cases import QUICK
from orbweaver.workload.scenario_files import build_scenario
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, ROOT, PEER, LIAR = (NodeId(n) for n in (1, 2, 3, 4))


def place(x: float) -> Coordinates:
    return Coordinates((x, 0.0, 0.0, 0.0, 0.0))


def make(publisher: NodeId | None = ROOT, **params: Any) -> tuple[Rappel, FakeOutbox]:
    """A node online that subscribes to news."""
    outbox = FakeOutbox()
    context = make_context(ME, outbox, TopicTable(["news"]))
    context = replace(context, publisher_of={"news": publisher}.get)
    node = Rappel(context, build(Rappel.Params, QUICK["rappel"] | params, "test"))
    node.subscribe("news")
    node.start([PEER])
    node.go_online()
    node.parents.seek(node.trees["news"])
    outbox.take()
    return node, outbox


def descent(sender: NodeId, *above: NodeId, x: float = 0.0) -> Descent:
    root = above[-1] if above else sender
    return Descent("news", root, place(0.0), place(x), (sender, *above))


def joined(publisher: NodeId | None = ROOT, **params: Any) -> tuple[Rappel, FakeOutbox]:
    node, outbox = make(publisher, **params)
    assert node.trees["news"].seeking == ROOT
    node.receive(ROOT, JoinOk(descent(ROOT), ()))
    assert node.trees["news"].parent == ROOT
    outbox.take()
    return node, outbox


def run(**parts: Any) -> Simulation:
    base = {
        "overlay": "rappel",
        "params": QUICK["rappel"],
        "workload": {"nodes": 40, "topics": 6, "subscriptions_per_node": "2"},
        "publish": {"by": "publisher", "per_topic": 3, "every_ms": 20},
        "latency": {"model": "uniform", "low_ms": 5, "high_ms": 20},
        "run": {"warmup_ms": 12_000, "drain_ms": 8000},
    }
    made = Simulation(build_scenario(base | parts, "test"), 1, Rappel)
    made.outcome = made.run()  # type: ignore[attr-defined]
    return made


def check_trees(made: Simulation) -> None:
    """Check the invariant, both ends of every edge and the fanout, in the trees of all feeds."""
    nodes: dict[NodeId, Any] = {n.me: n.overlay for n in made.world.nodes if n.overlay is not None}
    for me, node in nodes.items():
        for topic, tree in node.trees.items():
            root = node.context.publisher_of(topic)
            assert len(tree.children) <= node.params.children
            if me == root:
                assert tree.parent is None
                continue
            assert tree.parent is not None, f"{me} has no parent for {topic}"
            assert tree.ancestors[-1] == root
            above = nodes[tree.parent]
            assert me in above.trees[topic].children
            ours = tree.distance(node.friends.own.place, me)
            assert tree.distance(above.friends.own.place, tree.parent) < ours, "the invariant"


def test_named_publishers_are_the_roots_of_noiseless_trees() -> None:
    made = run()
    check_trees(made)
    records = made.outcome.records  # type: ignore[attr-defined]
    rows = list(records["publications"].rows())
    names = records["publications"].spec.names
    subscribers = made.workload.subscriptions.of_node
    assert rows
    for row in rows:
        found = dict(zip(names, row, strict=True))
        owed = sum(found["topic"] in topics for topics in subscribers) - 1
        assert found["relays"] == 0
        assert found["deliveries"] == owed


def test_a_run_repeats() -> None:
    digests = {run().outcome.records.digest() for _ in range(2)}  # type: ignore[attr-defined]
    assert len(digests) == 1


@pytest.mark.parametrize("x", [math.nan, math.inf, 1e30])
def test_impossible_coordinates_are_refused(x: float) -> None:
    node, _ = joined()
    for message in (JoinRequest("news", ROOT, place(x)), Fetched(9, place(x), bytes(128))):
        with pytest.raises(ProtocolError):
            node.receive(LIAR, message)
    assert LIAR not in node.trees["news"].children
    node.landmarks.vivaldi.frozen = False
    node.context.outbox.round_trips[LIAR] = 5.0  # type: ignore[attr-defined]
    before = node.landmarks.vivaldi.coordinates
    node.receive(LIAR, PlaceProbeOk(place(x), 0.1, True, ()))
    assert node.landmarks.vivaldi.coordinates is before


def test_a_filter_of_all_ones_is_worth_no_more_than_its_overlap() -> None:
    node, _ = joined()
    near = place(0.0)
    everything = replace_portrait(node, near, (1 << 1024) - 1)
    honest = replace_portrait(node, near, node.friends.own.bloom)
    assert utility(node.friends.own, [everything]) < utility(node.friends.own, [honest])


def replace_portrait(node: Rappel, where: Coordinates, bloom: int) -> Any:
    return type(node.friends.own)(where, bloom, 1)


def test_a_false_publisher_gets_no_children() -> None:
    node, outbox = make()
    tree = node.trees["news"]
    node.receive(LIAR, JoinOk(descent(LIAR), ()))  # never asked
    assert tree.parent is None
    tree.seeking = LIAR
    node.receive(LIAR, JoinOk(descent(LIAR), ()))
    assert tree.parent is None
    assert (LIAR, LeaveParent("news")) in outbox.take()


def test_a_parent_that_changes_the_publisher_is_left() -> None:
    node, outbox = joined()
    node.receive(ROOT, Lineage(descent(ROOT, PEER)))
    assert node.trees["news"].parent is None
    assert (ROOT, LeaveParent("news")) in outbox.take()


def test_a_parent_that_comes_to_be_farther_from_the_publisher_is_left_at_once() -> None:
    node, outbox = joined()
    tree = node.trees["news"]
    tree.parent, tree.ancestors = PEER, (PEER, ROOT)
    node.receive(PEER, Lineage(Descent("news", ROOT, place(0.0), place(0.5), (PEER, ROOT))))
    far = Descent("news", ROOT, node.friends.own.place, place(900.0), (PEER, ROOT))
    node.receive(PEER, Lineage(far))
    assert tree.parent is None
    assert (PEER, LeaveParent("news")) in outbox.take()
    assert node.status()["misplaced"] == 0
    assert tree.seeking == ROOT


def test_a_loop_in_the_ancestors_ends_the_edge() -> None:
    node, _ = joined()
    node.trees["news"].parent = PEER
    node.receive(PEER, Lineage(descent(PEER, ME, ROOT)))
    assert node.trees["news"].parent is None


def test_a_loop_among_the_ancestors_is_refused() -> None:
    node, _ = joined()
    before = node.trees["news"].ancestors
    with pytest.raises(ProtocolError, match="no node twice"):
        node.receive(ROOT, Lineage(descent(ROOT, PEER, LIAR, PEER, ROOT)))
    assert node.trees["news"].ancestors == before


def test_an_orphan_keeps_its_subtree_together() -> None:
    node, outbox = joined()
    tree = node.trees["news"]
    node.receive(PEER, JoinRequest("news", ROOT, place(50.0)))
    assert PEER in tree.children
    node.lost(ROOT)
    assert tree.parent is None
    line = tree.descent(node.friends.own.place)
    assert line is not None
    assert (line.ancestors[0], line.ancestors[-1]) == (ME, ROOT)
    assert all(m.line == line for _, m in outbox.take() if isinstance(m, Lineage))


def test_only_the_parent_changes_the_ancestors() -> None:
    node, _ = joined()
    before = node.trees["news"].ancestors
    node.receive(LIAR, Lineage(descent(LIAR, ROOT)))
    assert node.trees["news"].ancestors == before


@pytest.mark.parametrize(
    "line", [descent(PEER, ROOT), Descent("news", ROOT, place(0), place(0), ())]
)
def test_ancestors_begin_with_their_sender(line: Descent) -> None:
    node, _ = joined()
    with pytest.raises(ProtocolError):
        node.receive(ROOT, Lineage(line))


def test_a_join_storm_fills_no_more_than_the_fanout() -> None:
    node, _ = joined()
    for n in range(100, 1100):
        node.receive(NodeId(n), JoinRequest("news", ROOT, place(50.0 + n)))
    tree = node.trees["news"]
    assert len(tree.children) == node.params.children
    assert len(tree.leaving) <= node.params.children
    assert len(node.links()) <= 3 * node.params.friends + 2 * node.params.children + 3
    assert len(node.friends.candidates) <= node.params.candidates


def test_children_that_came_and_went_leave_nothing_behind() -> None:
    node, _ = joined()
    tree = node.trees["news"]
    for n in range(100, 400):
        node.receive(NodeId(n), JoinRequest("news", ROOT, place(50.0)))
        node.receive(NodeId(n), LeaveParent("news"))
    node.receive(PEER, JoinRequest("news", ROOT, place(50.0)))
    node.wake("ping")
    assert list(tree.child_since) == [PEER]


def test_nodes_that_were_to_be_adopted_and_never_came_give_way() -> None:
    node, _ = joined()
    node.receive(PEER, JoinRequest("news", ROOT, place(50.0)))
    for n in range(100, 120):
        node.receive(PEER, Adopt("news", NodeId(n)))
    adopted = node.trees["news"].adopted
    assert list(adopted) == [NodeId(n) for n in range(120 - node.params.children, 120)]
    node.receive(LIAR, Adopt("news", LIAR))
    assert LIAR not in adopted, "it is no child"


def test_a_join_for_a_feed_of_others_is_denied() -> None:
    node, outbox = joined()
    node.receive(PEER, JoinRequest("weather", ROOT, place(9.0)))
    assert outbox.take() == [(PEER, JoinDeny("weather"))]


def test_an_update_of_a_feed_of_others_is_not_relayed() -> None:
    node, outbox = joined()
    node.receive(ROOT, Update(Event("weather", ROOT, 0, 0), 1, 0))
    assert not outbox.take()
    assert not outbox.delivered


def test_a_lost_parent_is_replaced_and_what_was_missed_is_pulled() -> None:
    """R13, by hand: the new parent lists what it has, and this node asks for it."""
    node, outbox = joined()
    tree = node.trees["news"]
    tree.ancestors = (PEER, ROOT)
    tree.parent = PEER
    node.lost(PEER)
    assert tree.seeking == ROOT, "the grandparent first"
    node.receive(ROOT, JoinOk(descent(ROOT), ((ROOT, 0, "news", 0), (ROOT, 0, "news", 1))))
    pulls = [message for to, message in outbox.take() if type(message).__name__ == "FeedPull"]
    assert [name[3] for name in pulls[0].names] == [0, 1]  # type: ignore[attr-defined]


def test_no_neighbour_is_given_the_same_update_without_end() -> None:
    node, outbox = joined()
    for n in (PEER, LIAR):
        node.receive(n, JoinRequest("news", ROOT, place(50.0)))
    node.receive(ROOT, Update(Event("news", ROOT, 0, 0, b"large"), 1, 0))
    outbox.take()

    def given(to: NodeId) -> int:
        node.receive(to, FeedPull(((ROOT, 0, "news", 0),) * 3))
        return len(outbox.take())

    assert sum(given(LIAR) for _ in range(1000)) == GIVEN_MAX
    node.wake("ping")
    outbox.take()
    assert given(LIAR) == 0, "it is still a child"
    assert given(PEER) == 1


def test_a_search_that_is_passed_on_without_end_is_given_up() -> None:
    node, _ = make()
    tree = node.trees["news"]
    for n in range(100, 1000):
        if tree.seeking is not None:
            node.receive(tree.seeking, JoinForward("news", NodeId(n)))
    assert tree.seeking is None
    assert len(tree.visited) == HOPS_MAX
    node.wake(("join", "news"))
    assert tree.seeking == ROOT, "it begins again"


@pytest.mark.parametrize("at_once", [True, False])
def test_what_the_numbers_of_a_push_say_was_missed_is_pulled(at_once: bool) -> None:
    node, outbox = joined(pull_gaps=at_once)

    def pulled() -> list[int]:
        sent = [message for _, message in outbox.take() if isinstance(message, FeedPull)]
        return [name[3] for message in sent for name in message.names]

    for seq in (0, 2):
        node.receive(ROOT, Update(Event("news", ROOT, 0, seq), 1, 0))
    assert pulled() == ([1] if at_once else [])
    node.neighbors.begin_round()
    node.ping()
    have = tuple((ROOT, 0, "news", seq) for seq in range(3))
    node.receive(ROOT, PingAck(1, False, (), (descent(ROOT),), have))
    assert pulled() == ([] if at_once else [1])


def test_nodes_are_sampled_only_for_feeds_without_a_named_publisher() -> None:
    node, outbox = joined()
    del outbox.timers["gossip"]
    node.wake("gossip")
    assert "gossip" not in outbox.timers
    node.subscribe("weather")
    assert "gossip" in outbox.timers
    assert any(type(message).__name__ == "News" for _, message in outbox.take())


def test_the_name_of_a_feed_says_who_publishes_it(tmp_path: Path) -> None:
    """In a simulation by the name of a node, and all updates come from there."""
    table = tmp_path / "table.csv"
    lines = [f"{name},{feed}" for name in ("ann", "ben", "cat", "dan") for feed in FEEDS]
    table.write_text("\n".join(["node,topic", *lines]))
    made = run(workload={"file": str(table)}, publish={"per_topic": 3, "every_ms": 20})
    labels = made.workload.subscriptions.labels
    publications = made.outcome.records["publications"]  # type: ignore[attr-defined]
    told = zip(publications["topic"], publications["node"], strict=True)
    by_feed: dict[str, set[str]] = {}
    for topic, node in told:
        by_feed.setdefault(topic, set()).add(labels[node])
    assert by_feed["news@ben"] == {"ben"}
    assert by_feed["sport/tennis@dan"] == {"dan"}
    for node in made.world.nodes:
        tree = node.overlay.trees["news@ben"]  # type: ignore[union-attr]
        assert tree.root is not None
        assert labels[tree.root] == "ben"
        assert node.overlay.context.publisher_of("me@example.org") is None  # type: ignore[union-attr]
    assert sum(publications["relays"]) == 0
    assert sum(publications["deliveries"]) == 3 * len(publications["topic"])


FEEDS = ("news@ben", "sport/tennis@dan", "me@example.org")
