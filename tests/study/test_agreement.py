"""Simulated and deployed nodes, side by side: small, one overlay, on real sockets."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from orbweaver.core.ids import NodeId
from orbweaver.gossip.vivaldi import Vivaldi
from orbweaver.overlays.catalog import find
from orbweaver.records import Records
from orbweaver.records.gather import Gathered
from orbweaver.testing.agreement.deployed import Deployed
from orbweaver.testing.agreement.figures import (
    FIGURES,
    ComparedFigure,
    Comparison,
    compare,
    figures,
)
from orbweaver.testing.agreement.play import Play, make_play, simulated
from orbweaver.testing.paced_loop import PacedLoop
from orbweaver.workload.scenario import (
    LatencySpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)

SCENARIO = Scenario(
    overlay="",
    name="small",
    workload=WorkloadSpec(nodes=12, topics=4, subscriptions_per_node="2"),
    latency=LatencySpec(model="constant", ms=30),
    publish=PublishSpec(events=60, every_ms=100),
    run=RunSpec(warmup_ms=10_000, drain_ms=6000),
)
SEEDS = range(1, 31)
"""So many that the spread over them is not small by chance."""


@pytest.fixture(scope="module")
def play() -> Play:
    return make_play(SCENARIO, find("spidercast"), {})


@pytest.fixture(scope="module")
def live(play: Play, tmp_path_factory: pytest.TempPathFactory) -> tuple[Records, Gathered]:
    """On a loop whose clock stands still while it is busy: a machine that has other things
    to do must not make the hosts differ."""
    loop = PacedLoop()
    folder = tmp_path_factory.mktemp("agreement")
    try:
        run = Deployed(play, folder, clock_ms=lambda: round(1000 * loop.time()))
        loop.run_until_complete(run.run())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
    return run.records()


def test_both_hosts_played_the_same(play: Play, live: tuple[Records, Gathered]) -> None:
    records, found = live
    assert (found.overlay, found.nodes, found.crashes, found.damaged) == ("spidercast", 12, 0, 0)
    assert found.params == {}
    published = records["publications"]
    numbers = {node: i for i, node in enumerate(sorted(set(records["nodes"]["node"])))}
    rows = zip(published["time_ms"], published["node"], published["topic"], strict=True)
    late = 100
    for (time, node, topic), (wanted_ms, number, wanted) in zip(
        rows, play.publications, strict=True
    ):
        assert (numbers[node], topic) == (number, wanted)
        assert wanted_ms <= time <= wanted_ms + late


def test_no_message_is_faster_than_its_delay(live: tuple[Records, Gathered]) -> None:
    rows = list(live[0]["deliveries"].rows())
    assert rows
    assert all(latency >= 30 * hops for _, _, _, hops, latency in rows)


def test_they_agree(play: Play, live: tuple[Records, Gathered]) -> None:
    simulations = [figures(simulated(play, s), play) for s in SEEDS]
    deployed = [figures(live[0], play)]
    for found in compare(simulations, deployed):
        # One run of twelve nodes spreads more than the mean of three runs of forty: of 200 runs in
        # the simulator itself, one is outside 1.5 times the band. This test must never fail by
        # chance; the study compares more closely.
        assert abs(found.difference) <= 3 * found.band, found


def test_chance_differs_and_what_is_around_does_not(play: Play) -> None:
    a, b = simulated(play, 1), simulated(play, 2)
    assert a.digest() != b.digest()
    for column in ("time_ms", "node", "topic"):
        assert a["publications"][column] == b["publications"][column]
    assert sorted(a["interests"].rows()) == sorted(b["interests"].rows())


@pytest.mark.parametrize(
    ("figure", "there", "agree"),
    [
        (ComparedFigure("share", 2, 0.10, 0.0, ""), 10.9, True),
        (ComparedFigure("share", 2, 0.10, 0.0, ""), 11.1, False),
        (ComparedFigure("share", 2, 0.10, 0.0, ""), 8.9, False),
        (ComparedFigure("at least", 2, 0.0, 0.5, ""), 10.4, True),
        (ComparedFigure("at least", 2, 0.0, 0.5, ""), 10.6, False),
    ],
)
def test_bands(figure: ComparedFigure, there: float, agree: bool) -> None:
    assert Comparison(figure, [10.0, 10.0], [there]).agree is agree


def test_the_spread_of_the_simulator_widens_the_band() -> None:
    figure = ComparedFigure("spread", 2, 0.01, 0.0, "")
    found = Comparison(figure, [8.0, 10.0, 12.0], [13.9, 13.9])
    assert found.spread == pytest.approx(2.0)
    assert found.agree
    assert not Comparison(figure, [8.0, 10.0, 12.0], [14.1]).agree


def test_the_spread_does_not_widen_the_band_of_a_claim() -> None:
    figure = ComparedFigure("claim", 2, 0.20, 0.0, "", widened=False)
    simulated = [5.0, 10.0, 15.0]
    assert Comparison(figure, simulated, [11.9]).agree
    assert not Comparison(figure, simulated, [12.1]).agree


def test_stretch_is_over_the_direct_way(play: Play) -> None:
    """Each link takes 30 ms, and so does the way from the publisher."""
    *_, latency, stretch = figures(simulated(play, 1), play)
    assert stretch == latency / 30 > 1


def test_round_trips_have_the_delays_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rappel makes coordinates of them: without the delays all nodes would be at one place."""
    found: list[float] = []
    update = Vivaldi.update

    def noting(vivaldi: Vivaldi, peer: NodeId, round_trip_ms: float, *others: Any) -> Any:
        found.append(round_trip_ms)
        return update(vivaldi, peer, round_trip_ms, *others)

    monkeypatch.setattr(Vivaldi, "update", noting)
    brief = msgspec.structs.replace(SCENARIO, run=RunSpec(warmup_ms=5000, drain_ms=1000))
    play = make_play(msgspec.structs.replace(brief, publish=PublishSpec(per_topic=0)),
                     find("rappel"), {})  # fmt: skip
    found.clear()  # of the simulation that drew what is around the nodes
    loop = PacedLoop()
    try:
        run = Deployed(play, tmp_path, clock_ms=lambda: round(1000 * loop.time()))
        loop.run_until_complete(run.run())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
    assert len(found) > 100
    assert min(found) >= 2 * 30


def test_a_figure_for_each_value(live: tuple[Records, Gathered], play: Play) -> None:
    values = figures(live[0], play)
    assert len(values) == len(FIGURES)
    assert all(value > 0 for value in values)


SCRIPT = Path(__file__).parents[2] / "studies" / "agreement.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agreement", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["agreement"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_does_not_agree_and_why(
    study: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulations = [
        (8.0, 1.0, 2.0, 100.0, 20.0, 90.0, 1.5),
        (8.2, 1.0, 2.0, 100.0, 20.0, 90.0, 1.5),
    ]
    alike = study.Live((8.1, 1.0, 2.05, 108.0, 20.5, 107.0, 1.6), 0.4, 0)
    slow = study.Live((8.1, 1.0, 2.05, 118.0, 20.5, 107.0, 1.6), 0.5, 7)
    found = [
        study.Found("vitis", simulations, [alike, alike], [alike]),
        study.Found("opt", simulations, [slow, slow], [alike]),
    ]
    monkeypatch.setattr(study, "NOTES", {"opt, mean latency, ms": "Slow sockets."})
    scenario = msgspec.structs.replace(
        study.load_scenario(study.SCENARIO),
        latency=LatencySpec(model="matrix", file="/data/sites.txt.gz"),
    )
    page = study.page(found, "a machine", study.SCENARIO, scenario)
    assert "13 of 14 figures agree; 14 do with the same nodes" in page
    assert page.count("**do not agree**") == 1
    row = "| opt | mean latency, ms | 100.0 ±0.0 | 118.0 (118.0 to 118.0) | +18.0 % | 10.0 % |"
    assert f"{row} **do not agree** | +8.0 % |" in page
    assert "- **opt, mean latency, ms.** Slow sockets." in page
    assert "| opt | 0.5, 0.5 | 14 |" in page
    assert "    python studies/agreement.py --latency sites.txt.gz\n" in page, (
        "no path of a machine"
    )


def test_a_page_without_real_time_is_about_the_still_clock(study: ModuleType) -> None:
    alike, other = (8.0, 1.0, 2.0, 100.0, 20.0, 90.0, 1.5), (8.0, 1.0, 2.0, 100.0, 20.0, 90.0, 1.9)
    paced = [study.Live(values, 0.0, 0) for values in (other, other)]
    found = [study.Found("rappel", [alike, alike], [], paced)]
    scenario = study.load_scenario(study.SCENARIO)
    page = study.page(found, "a machine", study.SCENARIO, scenario)
    assert "6 of 7 figures agree. The same" in page
    assert "2 times: sockets of one machine, on a clock that stands still" in page
    row = "| rappel | median stretch | 1.50 ±0.00 | 1.90 (1.90 to 1.90) | +26.7 % | 20.0 % |"
    assert f"{row} **do not agree** |\n" in page
    assert "    python studies/agreement.py --paced\n" in page
    assert "late, ms" not in page


@pytest.mark.slow
@pytest.mark.parametrize("overlay", ["spidercast", "vitis", "rvr", "opt", "ring-per-topic"])
def test_forty_nodes_agree(study: ModuleType, overlay: str) -> None:
    agree_on_a_still_clock(study, study.SCENARIO, overlay)


@pytest.mark.slow
@pytest.mark.parametrize("overlay", ["magnet", "magnet-strawman", "omen", "rappel"])
def test_few_nodes_agree(study: ModuleType, overlay: str) -> None:
    agree_on_a_still_clock(study, study.SCENARIO.with_name("few.toml"), overlay)


def agree_on_a_still_clock(study: ModuleType, scenario: Path, overlay: str) -> None:
    """Play a scenario of the study on the clock that a busy machine cannot disturb."""
    play = make_play(study.load_scenario(scenario), find(overlay), study.OVERLAYS[overlay])
    simulations = [figures(simulated(play, s), play) for s in study.SEEDS]
    for found in compare(simulations, [study.paced(play).values]):
        # One run spreads more than the mean of several.
        assert abs(found.difference) <= 2 * found.band, found
