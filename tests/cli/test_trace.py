"""`orbweaver trace` on what `orbweaver simulate` recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from orbweaver.cli.main import make_app
from orbweaver.core.errors import UsageError
from orbweaver.metrics.missed import Stops
from orbweaver.metrics.trace import ARRIVED, follow, missed_of_events
from orbweaver.records.writers import read_records

RUN = [
    "simulate", "--overlay", "random", "--nodes", "30", "--topics", "12",
    "--subscriptions-per-node", "2", "--warmup-ms", "5000", "--loss", "0.3",
]  # fmt: skip


def orbweaver(*arguments: str) -> Result:
    return CliRunner().invoke(make_app(arguments[0]), arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trace") / "records"
    orbweaver(*RUN, "--records-out", str(made), "--copies")
    return made


def test_all_copies_of_a_run_are_accounted_for(folder: Path) -> None:
    records = read_records(folder)
    publications = records["publications"]
    for event, copies, relays, delivered in zip(
        *(publications[name] for name in ("event", "copies", "relays", "deliveries")), strict=True
    ):
        trace = follow(records, event)
        assert sum(hop.fate in ARRIVED for hop in trace.hops) == copies + relays
        assert len(trace.delivered) == delivered
        assert {hop.why for hop in trace.hops if hop.fate == "lost"} <= {"loss"}
        stops = Stops(records, trace)
        for node in range(30):
            stop = stops.why(node)
            assert (stop.reason == "delivered") == (node in trace.delivered)
            if stop.reason == "delivered":
                assert trace.path(node)[0].sender == trace.publisher
            if stop.way:
                assert stop.way[0] in trace.had
                assert stop.way[-1] == node


def test_events_are_listed_and_told(folder: Path) -> None:
    listed = json.loads(orbweaver("trace", str(folder), "--json").stdout)
    assert len(listed) == 36
    assert "36 events" in orbweaver("trace", str(folder)).stdout
    event = listed[0]["event"]
    assert listed[0]["missed"] > 0
    assert listed[0]["missed"] == missed_of_events(read_records(folder))[0][2]
    said = orbweaver("trace", str(folder), "--event", event).stdout
    assert "published the event on topic" in said
    assert "what became of it" in said
    plain = json.loads(orbweaver("trace", str(folder), "--event", event, "--json").stdout)
    assert len(plain["why"]) == listed[0]["missed"]
    assert plain["trace"]["event"] == event


def test_copies_are_recorded_only_on_demand(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="add --records-out"):
        orbweaver(*RUN, "--copies")
    orbweaver(*RUN, "--records-out", str(tmp_path / "records"))
    records = read_records(tmp_path / "records")
    assert len(records["copies"]) == 0
    with pytest.raises(UsageError, match="--copies"):
        follow(records, records["publications"]["event"][0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--node", "3"], "--node and --out need --event"),
        (["--event", "x"], "no event 'x'"),
        (["--node", "zoe"], "'zoe' is no node; it should be a number"),
        (["--node", "77"], "node 77 is not in these records"),
    ],
)
def test_a_mistake_is_told(folder: Path, arguments: list[str], said: str) -> None:
    if "--event" not in arguments and said[:2] != "--":
        event = read_records(folder)["publications"]["event"][0]
        arguments = ["--event", event, *arguments]
    with pytest.raises(UsageError, match=said):
        orbweaver("trace", str(folder), *arguments)


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no records"):
        orbweaver("trace", str(tmp_path))
