"""Whole runs: what faults do to them, where they pause, and when they stop."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.metrics.deliveries import DeliveryMetrics, deliveries
from orbweaver.metrics.snapshot import snapshot
from orbweaver.metrics.traffic import sent, sent_bytes
from orbweaver.overlays.catalog import find
from orbweaver.sim.simulation import Outcome, Simulation, simulate
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import Scenario
from orbweaver.workload.scenario_files import build_scenario, load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"

WORKLOAD = {"nodes": 60, "topics": 8, "subscriptions_per_node": "3"}
# So few nodes with interests so alike need random links to be surely connected (Sec. 3.3).
PARAMS = {"spidercast": {"kr": 2}}
CONNECTED = pytest.mark.parametrize("overlay", ["spidercast", "ring-per-topic"])


def scenario(overlay: str = "spidercast", **parts: Any) -> Scenario:
    base = {"overlay": overlay, "params": PARAMS.get(overlay, {}), "workload": WORKLOAD}
    return build_scenario(base | parts, "test")


def run(overlay: str = "spidercast", seed: int = 1, **parts: Any) -> Outcome:
    return simulate(scenario(overlay, **parts), seed, find(overlay))


def judge(overlay: str = "spidercast", seed: int = 1, **parts: Any) -> DeliveryMetrics:
    return deliveries(run(overlay, seed, **parts).records)


@pytest.mark.parametrize("overlay", ["spidercast", "ring-per-topic", "similarity"])
def test_without_faults_everyone_gets_everything(overlay: str) -> None:
    found = judge(overlay)
    assert found.publications == 24
    assert found.expected > 300
    assert found.hit_ratio == 1
    assert found.deliveries == found.expected, "and no node gets it twice"


@pytest.mark.parametrize("seed", range(4))
def test_loss_is_made_up_for(seed: int) -> None:
    parts = {"faults": {"loss": 0.05}, "publish": {"per_topic": 5}, "run": {"drain_ms": 10_000}}
    outcome = run(seed=seed, **parts)
    assert dict(outcome.records["drops"].rows())["loss"] > 100
    assert deliveries(outcome.records).hit_ratio == 1


@pytest.mark.parametrize("faults", [{"duplicate": 0.2}, {"reorder": 0.3}], ids=["twice", "late"])
def test_what_comes_twice_or_late_is_delivered_once(faults: dict[str, float]) -> None:
    found = judge(faults=faults)
    assert found.hit_ratio == 1
    assert found.deliveries == found.expected


# Links outlive a partition of 2 s; in one of 20 s each half takes the other for dead. The
# rings close again after that. SpiderCast's nodes are covered within their half, so they do
# not look for others unless gossip tells them that a lost node has been up all the time.
@pytest.mark.parametrize(
    ("overlay", "membership", "length_ms"),
    [
        ("spidercast", "full", 2000),
        ("spidercast", "gossip", 20_000),
        ("ring-per-topic", "full", 2000),
        ("ring-per-topic", "full", 20_000),
        ("ring-per-topic", "gossip", 20_000),
    ],
)
def test_after_a_partition_heals_everyone_gets_everything(
    overlay: str, membership: str, length_ms: int
) -> None:
    cut = {"start_ms": 15_000, "end_ms": 15_000 + length_ms}
    outcome = run(
        overlay,
        faults={"partitions": [cut]},
        run={"warmup_ms": 70_000},
        params={"membership": membership},
    )
    assert dict(outcome.records["drops"].rows())["partition"] > 0
    assert deliveries(outcome.records).hit_ratio == 1


@CONNECTED
def test_a_partition_cuts_what_is_published_during_it(overlay: str) -> None:
    cut = {"start_ms": 5000, "end_ms": 60_000}
    found = judge(overlay, faults={"partitions": [cut]}, run={"warmup_ms": 20_000})
    assert 0 < found.hit_ratio < 0.7


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_slow_nodes_delay_and_lose_nothing(share: float) -> None:
    outcome = run(faults={"slow_share": share, "slow_ms": 50}, run={"warmup_ms": 20_000})
    assert deliveries(outcome.records).hit_ratio == 1
    rows = list(outcome.records["deliveries"].rows())
    assert any(latency >= 51 for *_, latency in rows)
    if share == 1:
        assert all(latency >= 51 * hops for *_, hops, latency in rows)


@pytest.mark.parametrize("ms", [1, 20])
def test_each_hop_takes_the_latency(ms: int) -> None:
    outcome = run(latency={"ms": ms})
    rows = list(outcome.records["deliveries"].rows())
    assert min(latency - ms * hops for *_, hops, latency in rows) == 0


@CONNECTED
def test_publishers_need_not_subscribe(overlay: str) -> None:
    outcome = run(overlay, publish={"by": "anyone"}, run={"drain_ms": 10_000})
    kinds = outcome.records["interests"]["kind"]
    assert kinds.count("publish") > 5
    found = deliveries(outcome.records)
    assert (found.publications, found.hit_ratio) == (24, 1)


@CONNECTED
def test_outsiders_alone_reach_a_small_topic(overlay: str, tmp_path: Path) -> None:
    """Few subscribers and many nodes that only publish: an outsider that meets another outsider
    first must reach the subscribers all the same."""
    rows = [f"a{i},quiet" for i in range(3)] + [f"b{i},loud" for i in range(6)]
    table = tmp_path / "few.csv"
    table.write_text("\n".join(["node,topic", *rows, ""]))
    parts = {
        "params": {},
        "workload": {"file": str(table)},
        "publish": {"per_topic": 6, "every_ms": 50, "by": "anyone"},
        "run": {"drain_ms": 20_000},
    }
    ratios = {seed: judge(overlay, seed, **parts).hit_ratio for seed in range(20)}
    assert {seed: ratio for seed, ratio in ratios.items() if ratio < 1} == {}


def test_sends_are_noted_at_snapshots_and_at_the_end() -> None:
    spec = {"warmup_ms": 4000, "snapshots_ms": [6000, 1000, 99_000_000], "duration_ms": 8000}
    known = {"membership": "full"}  # links, and heartbeats with them, in the first second
    simulation = Simulation(scenario(run=spec, params=known), 1, find("spidercast"))
    assert simulation.snapshot_times() == [1000, 4000, 6000]
    outcome = simulation.run()
    assert sorted(set(outcome.records["sends"]["time_ms"])) == [1000, 4000, 6000, 8000]
    parts = [sent(outcome.records, a, b)["keepalive"] for a, b in pairwise([0, 1000, 4000, 8000])]
    assert min(parts) > 0
    assert sum(parts) == sent(outcome.records)["keepalive"]


@pytest.mark.parametrize("measure", [True, False])
def test_bytes_are_measured_on_demand(measure: bool) -> None:
    sizes = sent_bytes(run(run={"measure_bytes": measure}).records)
    assert (sizes["data"] > 0) == measure


@pytest.mark.parametrize(
    "how",
    [
        {"records": "counters"},
        {"records": "copies"},
        {"measure_bytes": False},
        {"snapshots_ms": [3000]},
    ],
    ids=["counters", "copies", "bytes", "snapshots"],
)
def test_how_a_run_is_observed_does_not_change_it(how: dict[str, Any]) -> None:
    plain, observed = run().records, run(run=how).records
    for table in ("links", "publications"):
        assert list(plain[table].rows()) == list(observed[table].rows())


@pytest.mark.parametrize("events_max", [1, 500, 5000])
def test_a_limit_on_events_stops_the_run(events_max: int) -> None:
    outcome = run(run={"events_max": events_max})
    assert not outcome.complete
    assert outcome.events >= events_max
    assert outcome.end_ms < scenario().end_ms(8)
    assert max(outcome.records["links"]["time_ms"], default=0) <= outcome.end_ms
    assert len(snapshot(outcome.records, outcome.end_ms).interests) == 60


def test_a_limit_on_time_stops_the_run() -> None:
    outcome = run(run={"time_max_ms": 700})
    assert (outcome.complete, outcome.end_ms) == (False, 700)
    assert len(outcome.records["publications"]) == 0


def test_a_complete_run_ends_at_its_end() -> None:
    outcome = run()
    assert outcome.complete
    assert outcome.end_ms == scenario().end_ms(8) == 10_000 + 24 * 10 + 5000


def test_progress_goes_up_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    spec = scenario()
    simulate(spec, 1, find("spidercast"), lambda now, end: told.append((now, end)))
    assert [now for now, _ in told] == sorted({now for now, _ in told})
    assert told[-1] == (15_240, 15_240)
    assert len(told) >= 100


@pytest.mark.parametrize(("rates", "least", "most"), [("uniform", 10, 60), ("zipf:3", 200, 300)])
def test_events_are_drawn_by_the_rates_of_topics(rates: str, least: int, most: int) -> None:
    publish = {"events": 300, "every_ms": 1, "rates": rates}
    topics = run(publish=publish, run={"warmup_ms": 1500}).records["publications"]["topic"]
    assert len(topics) == 300
    assert least < topics.count("t0") < most


def test_the_storm_passes() -> None:
    """What the scenario says of itself: a cut of ten seconds among other faults, and everything
    published after it arrives."""
    storm = load_scenario(SCENARIOS / "spidercast" / "storm.toml")
    outcome = simulate(storm, 0, find(storm.overlay))
    assert dict(outcome.records["drops"].rows())["partition"] > 0
    assert deliveries(outcome.records).hit_ratio == 1


def test_a_run_that_is_stopped_is_looked_at_where_it_stopped() -> None:
    limits = {"warmup_ms": 4000, "snapshots_ms": [500, 8000], "events_max": 3000}
    result = run_scenario(scenario(run=limits), 1).result
    assert not result.complete
    assert [look["time_ms"] for look in result.snapshots] in ([], [500])
    assert result.metrics["publications"] == 0


OUTAGE = {"outage": 0.8, "outage_ms": 12_000, "outage_end_ms": 14_000}


def test_an_outage_takes_its_share_of_the_nodes_and_spares_publishers() -> None:
    outcome = run("static", churn=OUTAGE, publish={"by": "publisher", "per_topic": 40})
    rows = [row for row in outcome.records["nodes"].rows() if row[0] > 0]
    crashed = {node for time, node, kind in rows if (time, kind) == (12_000, "crash")}
    back = {node for time, node, kind in rows if (time, kind) == (14_000, "join")}
    assert len(rows) == 2 * len(crashed)
    assert crashed == back
    assert len(crashed) == 48
    publishers = set(outcome.records["publications"]["node"])
    assert len(publishers) > 3
    assert not publishers & crashed
    assert len(outcome.records["publications"]) == 320


def test_an_outage_that_ends_before_it_begins_is_told() -> None:
    with pytest.raises(UsageError, match="an outage from 12000 to 0 ms would not happen"):
        scenario(churn={"outage": 0.5, "outage_ms": 12_000})


def test_a_node_that_is_down_for_the_whole_run_is_no_publisher(tmp_path: Path) -> None:
    table = tmp_path / "churn.csv"
    late = "".join(f"9999999,{node},join\n" for node in range(30))
    table.write_text("time,node,kind\n" + late)
    churn = {"model": "file", "file": str(table)}
    outcome = run("static", churn=churn, publish={"by": "publisher", "per_topic": 2})
    assert len(outcome.records["publications"]) == 16
    assert min(outcome.records["publications"]["node"]) >= 30
