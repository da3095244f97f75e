"""Nodes that come, go and change their minds while a simulation runs."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.metrics.deliveries import deliveries
from orbweaver.metrics.snapshot import snapshot
from orbweaver.overlays.catalog import find
from orbweaver.overlays.spidercast.baselines import RandomLinks
from orbweaver.records import Records
from orbweaver.sim.simulation import Simulation, simulate
from orbweaver.workload.scenario_files import build_scenario

WORKLOAD = {"nodes": 30, "topics": 5, "subscriptions_per_node": "2"}
# So few nodes with interests so alike need random links to be surely connected (Sec. 3.3).
PARAMS = {"spidercast": {"kr": 2}}
OVERLAYS = pytest.mark.parametrize("overlay", ["spidercast", "ring-per-topic"])


class Run:
    """A finished run that also kept the sender, receiver and time of each message."""

    def __init__(self, overlay: str = "spidercast", seed: int = 1, **parts: Any) -> None:
        base = {"overlay": overlay, "params": PARAMS.get(overlay, {}), "workload": WORKLOAD}
        scenario = build_scenario(base | parts, "test")
        self.sim = Simulation(scenario, seed, find(overlay))
        self.sent: list[tuple[int, int, int]] = []
        latency = self.sim.world.latency

        def noting(sender: NodeId, to: NodeId) -> int:
            """Asked once for each message."""
            self.sent.append((self.sim.world.engine.now, sender, to))
            return latency(sender, to)

        self.sim.world.latency = noting
        self.outcome = self.sim.run()
        self.records: Records = self.outcome.records

    def rows(self, table: str, **where: Any) -> list[tuple[Any, ...]]:
        names = self.records[table].spec.names
        return [
            row
            for row in self.records[table].rows()
            if all(row[names.index(column)] == value for column, value in where.items())
        ]

    def live_links(self) -> set[tuple[int, int]]:
        """What the overlays themselves say, where both ends say so."""
        held = {n.me: set(n.overlay.links()) for n in self.sim.world.nodes if n.overlay is not None}
        return {(a, b) for a in held for b in held[a] if a < b and a in held.get(b, ())}


@pytest.fixture
def churn(tmp_path: Path):
    def write(*lines: str) -> dict[str, str]:
        path = tmp_path / "churn.csv"
        path.write_text("\n".join(["time,node,kind", *lines, ""]))
        return {"model": "file", "file": str(path)}

    return write


@OVERLAYS
def test_a_leave_is_known_at_once(overlay: str, churn) -> None:
    run = Run(overlay, churn=churn("5000,3,leave"))
    assert run.rows("nodes", node=3) == [(0, 3, "join"), (5000, 3, "leave")]
    last = {node: time for time, node, _, kind in run.rows("links", peer=3) if kind == "down"}
    assert last
    assert max(last.values()) <= 5001


@OVERLAYS
def test_a_crash_shows_by_silence(overlay: str, churn) -> None:
    run = Run(overlay, churn=churn("5000,3,crash"))
    assert run.rows("nodes", node=3) == [(0, 3, "join"), (5000, 3, "crash")]
    downs = [t for t, _, _, kind in run.rows("links", peer=3) if kind == "down" and t >= 5000]
    assert downs
    # A heartbeat every 1000 ms, and suspicion after 3500 ms of silence.
    assert min(downs) > 5000 + 3500 - 1000
    assert max(downs) <= 5000 + 3500 + 1001
    assert dict(run.rows("drops"))["down"] > 0


@OVERLAYS
@pytest.mark.parametrize("kind", ["leave", "crash"])
def test_the_others_go_on_without_it(overlay: str, kind: str, churn) -> None:
    run = Run(overlay, churn=churn(f"5000,3,{kind}"), run={"warmup_ms": 15_000})
    end = snapshot(run.records, run.outcome.end_ms)
    assert 3 not in end.interests
    assert run.sim.world.oracle.interest_of(3) is None, "no node is pointed to it any more"
    assert deliveries(run.records).hit_ratio == 1
    assert not run.rows("deliveries", node=3)


@pytest.mark.parametrize("kind", ["leave", "crash"])
def test_a_node_that_is_down_says_nothing(kind: str, churn) -> None:
    run = Run(churn=churn(f"5000,3,{kind}", "9000,3,join"))
    silent = [time for time, sender, _ in run.sent if sender == 3 and 5000 < time < 9000]
    assert silent == []
    assert any(time > 9000 for time, sender, _ in run.sent if sender == 3)


@OVERLAYS
@pytest.mark.parametrize("kind", ["leave", "crash"])
def test_a_node_that_comes_back_is_whole_again(overlay: str, kind: str, churn) -> None:
    run = Run(overlay, churn=churn(f"5000,3,{kind}", "8000,3,join"), run={"warmup_ms": 15_000})
    assert [kind for _, _, kind in run.rows("nodes", node=3)] == ["join", kind, "join"]
    assert run.sim.world.nodes[3].life == 2
    assert snapshot(run.records, 15_000).links[3]
    assert snapshot(run.records, 15_000).interests[3] == snapshot(run.records, 1).interests[3]
    assert run.rows("deliveries", node=3)
    assert deliveries(run.records).hit_ratio == 1


@pytest.mark.parametrize("overlay", ["spidercast", "ring-per-topic", "random"])
@pytest.mark.parametrize("kind", ["leave", "crash"])
@pytest.mark.parametrize("end_ms", [5500, 6001, 6050, 9000, 20_000])
def test_snapshots_are_what_the_overlays_say(overlay: str, kind: str, end_ms: int, churn) -> None:
    """Also just after a quick return, when others still hold links of the life before."""
    table = churn(f"5000,3,{kind}", "6000,3,join")
    run = Run(overlay, churn=table, run={"duration_ms": end_ms})
    assert set(snapshot(run.records, end_ms).edges()) == run.live_links()


class Alarmed(RandomLinks):
    """Node 3 sets, in its first life only, a timer that must not outlive it."""

    def start(self, contacts) -> None:
        super().start(contacts)
        if self.context.me == 3 and self.context.outbox.now() == 0:
            self.context.outbox.set_timer("first life", 5500)

    def wake(self, timer) -> None:
        assert timer != "first life", "the alarm"
        super().wake(timer)


@pytest.mark.parametrize("kind", ["leave", "crash"])
def test_timers_do_not_outlive_their_life(kind: str, churn) -> None:
    parts = {"overlay": "alarmed", "workload": WORKLOAD, "run": {"duration_ms": 7000}}
    with pytest.raises(AssertionError, match="the alarm"):
        simulate(build_scenario(parts, "test"), 1, Alarmed)
    parts["churn"] = churn(f"5000,3,{kind}", "5200,3,join")
    assert simulate(build_scenario(parts, "test"), 1, Alarmed).complete


def test_lines_that_change_nothing_are_passed_over(churn) -> None:
    lines = ["3000,3,leave", "4000,3,crash", "5000,3,join", "6000,3,join"]
    run = Run(churn=churn(*lines))
    assert run.rows("nodes", node=3) == [(0, 3, "join"), (3000, 3, "leave"), (5000, 3, "join")]


def test_a_node_that_first_joins_later_is_absent_before(churn) -> None:
    run = Run(churn=churn("6000,7,join"))
    assert run.rows("nodes", node=7) == [(6000, 7, "join")]
    assert {time for time, *_ in run.rows("interests", node=7)} == {6000}
    assert not [when for when, sender, to in run.sent if 7 in (sender, to) and when < 6000]
    assert 7 not in snapshot(run.records, 5999).interests
    assert snapshot(run.records, 10_000).links[7]


def test_changes_after_the_end_do_not_happen(churn) -> None:
    run = Run(churn=churn("500000,3,leave"))
    assert run.rows("nodes", node=3) == [(0, 3, "join")]


def test_churn_by_the_nodes_own_names(tmp_path: Path, churn) -> None:
    (tmp_path / "s.csv").write_text("node,topic\nann,a\nbob,a\ncy,a\n")
    run = Run(workload={"file": str(tmp_path / "s.csv")}, churn=churn("2000,bob,leave"))
    assert run.rows("nodes", kind="leave") == [(2000, 1, "leave")]


@pytest.mark.parametrize("model", ["exponential", "weibull"])
@pytest.mark.parametrize("down", ["leave", "crash"])
def test_models_take_nodes_down_and_up_in_turn(model: str, down: str) -> None:
    spec = {"model": model, "on_ms": 6000, "off_ms": 2000, "down": down, "start_ms": 3000}
    run = Run(churn=spec)
    changes = [row for row in run.rows("nodes") if row[0] > 0]
    assert len(changes) > 20
    assert min(time for time, _, _ in changes) > 3000
    for node in range(30):
        kinds = [kind for _, _, kind in run.rows("nodes", node=node)]
        assert kinds == (["join", down] * len(kinds))[: len(kinds)]


@pytest.mark.parametrize("new_interest", [False, True])
def test_a_node_may_come_back_with_another_interest(new_interest: bool) -> None:
    spec = {"model": "exponential", "on_ms": 6000, "off_ms": 2000, "new_interest": new_interest}
    run = Run(churn=spec)
    was = run.sim.workload.subscriptions.of_node
    changed = [n.me for n in run.sim.world.nodes if tuple(n.wanted) != was[n.me]]
    assert bool(changed) == new_interest
    assert all(run.sim.world.nodes[node].life > 1 for node in changed)


def change(time_ms: int, node: int, topic: str, kind: str) -> dict[str, Any]:
    return {"time_ms": time_ms, "node": node, "topic": topic, "kind": kind}


@OVERLAYS
def test_interests_change_while_running(overlay: str) -> None:
    was = set(Run(overlay).sim.workload.subscriptions.of_node[4])
    new, old = min({f"t{i}" for i in range(5)} - was), min(was)
    changes = [
        change(5000, 4, new, "subscribe"),
        change(5000, 4, old, "unsubscribe"),
        change(6000, 4, new, "subscribe"),
    ]
    run = Run(overlay, interests=changes, publish={"per_topic": 4})
    late = [row for row in run.rows("interests", node=4) if row[0] > 0]
    assert late == [(5000, 4, new, "subscribe"), (5000, 4, old, "unsubscribe")]
    topics = {event.rpartition("-")[2] for _, event, *_ in run.rows("deliveries", node=4)}
    assert new in topics
    assert old not in topics
    assert deliveries(run.records).hit_ratio == 1


def test_a_change_while_down_waits_for_the_return(churn) -> None:
    was = Run().sim.workload.subscriptions.of_node[4]
    table = churn("3000,4,leave", "7000,4,join")
    run = Run(churn=table, interests=[change(5000, 4, was[0], "unsubscribe")])
    assert snapshot(run.records, 8000).interests[4] == {was[1]}


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(UsageError, match="there is no node 30"):
        Run(interests=[change(5000, 30, "t0", "subscribe")])


@OVERLAYS
def test_loads_are_what_each_node_sent_and_received(overlay: str, churn) -> None:
    run = Run(overlay, churn=churn("5000,3,crash", "6000,3,join", "7000,4,leave"))
    messages = list(run.sent)
    loads = {node: (sent, received) for node, sent, received, _ in run.rows("loads")}
    sent = Counter(sender for _, sender, _ in messages)
    assert {node: load[0] for node, load in loads.items()} == {n: sent[n] for n in range(30)}
    latency, end_ms = run.sim.world.latency, run.outcome.end_ms
    arrived = Counter(
        to for time, sender, to in messages if time + max(1, latency(sender, to)) <= end_ms
    )
    missed = {node: arrived[node] - load[1] for node, load in loads.items()}
    assert {node for node, count in missed.items() if count} <= {3, 4}, "they were down for a while"
    assert sum(missed.values()) == sum(run.records["drops"]["count"]) > 0
    sizes = [load for *_, load in run.rows("loads")]
    assert sum(sizes) == sum(row[4] for row in run.rows("sends", time_ms=end_ms)) > 0
