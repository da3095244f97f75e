"""Fixed links: exactly those of the table, whatever happens to the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from orbweaver.cli.links import write_links
from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.design.plan import design
from orbweaver.design.rules import Rule
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.overlays.static import Link, LinkHeartbeat, LinkLeave, Static, StaticParams
from orbweaver.sim.simulation import simulate
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import (
    ChurnSpec,
    FaultSpec,
    LinksSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
    make_workload,
)
from orbweaver.workload.scenario_files import build_scenario, load_scenario
from tests.gossip.fake_outbox import FakeOutbox, make_context

SCENARIO = Scenario(
    overlay="static", workload=WorkloadSpec(nodes=60, topics=12, subscriptions_per_node="3")
)
TABLE = TopicTable("abc")
PEER, STRANGER = NodeId(2), NodeId(7)
ASKED = Link(TABLE.interest("a"), ask=True)


def with_links(scenario: Scenario, links: Sequence[tuple[int, int]], folder: Path) -> Scenario:
    labels = [str(node) for node in range(scenario.workload.nodes)]
    write_links(links, labels, folder / "links.csv")
    return msgspec.structs.replace(scenario, links=LinksSpec(file=str(folder / "links.csv")))


def planned(scenario: Scenario, folder: Path) -> tuple[Scenario, set[tuple[int, int]]]:
    """Return the scenario with the links of a design for its workload, and these links."""
    plan = design(make_workload(scenario, 0).subscriptions.of_node, Rule("lowoda"))
    return with_links(scenario, plan.links, folder), set(plan.links)


def test_a_design_is_run_as_it_is(tmp_path: Path) -> None:
    scenario, links = planned(SCENARIO, tmp_path)
    run = run_scenario(scenario, 0)
    assert set(run.looks[-1].edges()) == links
    metrics = run.result.metrics
    assert metrics["degree_mean"] == 2 * len(links) / 60
    assert metrics["partitioned_topics"] == 0
    assert metrics["hit_ratio"] == 1
    assert metrics["traffic_overhead"] == 0


def test_links_that_connect_nothing_are_not_mended(tmp_path: Path) -> None:
    run = run_scenario(with_links(SCENARIO, [(0, 1), (3, 2)], tmp_path), 0)
    assert set(run.looks[-1].edges()) == {(0, 1), (2, 3)}
    hit_ratio = run.result.metrics["hit_ratio"]
    assert hit_ratio is not None
    assert hit_ratio < 0.1


def test_links_come_back_with_their_nodes(tmp_path: Path) -> None:
    """Nodes leave and crash, messages are lost, and at last all nodes are up again."""
    kinds = ("leave", "crash")
    rows = [f"{2000 + 40 * node},{node},{kinds[node % 2]}" for node in range(0, 60, 3)]
    rows += [f"{9000 + 40 * node},{node},join" for node in range(0, 60, 3)]
    (tmp_path / "churn.csv").write_text("\n".join(["time,node,kind", *rows, ""]))
    scenario, links = planned(SCENARIO, tmp_path)
    churned = msgspec.structs.replace(
        scenario,
        churn=ChurnSpec(model="file", file=str(tmp_path / "churn.csv")),
        faults=FaultSpec(loss=0.1),
        run=RunSpec(warmup_ms=8000, snapshots_ms=(20_000,), drain_ms=15_000),
    )
    run = run_scenario(churned, 0)
    gone = set(range(0, 60, 3))
    during, after = (set(look.edges()) for look in run.looks)
    assert during == {(a, b) for a, b in links if a not in gone and b not in gone}
    assert after == links


def test_links_of_other_nodes_are_refused(tmp_path: Path) -> None:
    scenario = with_links(SCENARIO, [(0, 59)], tmp_path)
    smaller = msgspec.structs.replace(scenario, workload=WorkloadSpec(nodes=59))
    with pytest.raises(UsageError, match=r"links.csv: '59' is none of the 59 nodes"):
        simulate(smaller, 0, Static)


def test_a_run_is_named_by_its_links_and_its_surroundings_are_not(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = with_links(SCENARIO, [(0, 1)], tmp_path)
    same = with_links(SCENARIO, [(0, 1)], tmp_path / "other")
    assert one.fingerprint() == same.fingerprint() != SCENARIO.fingerprint()
    assert one.course() != SCENARIO.course()
    assert one.surroundings() == SCENARIO.surroundings()
    assert with_links(SCENARIO, [(0, 2)], tmp_path).fingerprint() != same.fingerprint()


def test_links_of_a_file_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('overlay = "static"\n[links]\nfile = "links.csv"\n')
    assert load_scenario(tmp_path / "one.toml").links.file == str(tmp_path / "links.csv")
    with pytest.raises(UsageError, match=r"unknown setting 'fil' in \[links\]"):
        build_scenario({"overlay": "static", "links": {"fil": ""}}, "here")


# -- one node


def started(*contacts: NodeId) -> tuple[Static, FakeOutbox]:
    """Return node 0, which subscribes to a, with what it has sent."""
    outbox = FakeOutbox()
    node = Static(make_context(0, outbox, TABLE), StaticParams())
    node.subscribe("a")
    node.start(contacts)
    return node, outbox


def test_contacts_are_asked_until_they_answer() -> None:
    node, outbox = started(PEER)
    assert outbox.take() == [(PEER, ASKED)]
    node.wake(Heartbeats.TIMER)
    assert outbox.take() == [(PEER, ASKED)]
    node.receive(PEER, Link(TABLE.interest("b"), ask=False))
    assert [*node.links()] == [PEER]
    outbox.take()
    node.wake(Heartbeats.TIMER)
    assert outbox.take() == [(PEER, LinkHeartbeat())]


def test_nodes_met_later_are_no_contacts() -> None:
    node, outbox = started()
    node.meet([STRANGER])
    node.wake(Heartbeats.TIMER)
    assert outbox.take() == []


def test_a_peer_that_asks_is_answered_once() -> None:
    node, outbox = started()
    node.receive(PEER, ASKED)
    assert outbox.take() == [(PEER, Link(TABLE.interest("a"), ask=False))]
    node.receive(PEER, Link(TABLE.interest("a"), ask=False))
    assert outbox.take() == []
    assert outbox.link_changes == [("up", PEER)]


def test_a_change_of_interest_is_told() -> None:
    node, outbox = started()
    node.receive(PEER, Link(TABLE.interest("b"), ask=False))
    outbox.take()
    node.subscribe("c")
    assert (PEER, Link(TABLE.interest("ac"), ask=False)) in outbox.take()
    node.receive(PEER, Link(TABLE.interest("c"), ask=False))
    node.publish("c", b"")
    assert [to for to, message in outbox.take() if isinstance(message, Push)] == [PEER]


def test_a_silent_neighbour_is_let_go_and_asked_again() -> None:
    node, outbox = started(PEER)
    node.receive(PEER, Link(TABLE.interest("a"), ask=False))
    outbox.take()
    outbox.clock.now = StaticParams().failure_ms + 1
    node.wake(Heartbeats.TIMER)
    assert [*node.links()] == []
    assert outbox.take() == [(PEER, ASKED)]


def test_a_heartbeat_over_a_link_that_is_lost_here_restores_it() -> None:
    node, outbox = started()
    node.receive(STRANGER, LinkHeartbeat())
    assert outbox.take() == [(STRANGER, ASKED)]
    assert [*node.links()] == []


def test_leaving_ends_links_at_both_ends() -> None:
    node, outbox = started(PEER)
    node.receive(PEER, Link(TABLE.interest("a"), ask=False))
    node.receive(STRANGER, Link(TABLE.interest("a"), ask=False))
    node.receive(STRANGER, LinkLeave())
    assert [*node.links()] == [PEER]
    outbox.take()
    node.stop()
    assert outbox.take() == [(PEER, LinkLeave())]
    assert [*node.links()] == []
