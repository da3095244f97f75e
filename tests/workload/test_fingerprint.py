"""A scenario's fingerprint names its content, and its surroundings all but the overlay."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.workload.scenario import (
    ChurnSpec,
    LatencySpec,
    Scenario,
    make_workload,
    node_seed,
)
from orbweaver.workload.scenario_files import build_scenario


def build(**parts: Any) -> Scenario:
    return build_scenario({"overlay": "spidercast"} | parts, "test")


def test_the_name_does_not_count() -> None:
    assert build(name="a").fingerprint() == build(name="b").fingerprint()
    study = {"paper": "p", "scale": "quick", "series": "degree", "x": 3}
    assert build(study=study).fingerprint() == build().fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"overlay": "random"},
        {"params": {"kg": 2}},
        {"workload": {"nodes": 999}},
        {"workload": {"popularity": "nyse"}},
        {"latency": {"ms": 2}},
        {"faults": {"loss": 0.1}},
        {"faults": {"partitions": [{"start_ms": 1, "end_ms": 2}]}},
        {"churn": {"model": "exponential"}},
        {"interests": [{"time_ms": 1, "node": 0, "topic": "a", "kind": "subscribe"}]},
        {"publish": {"by": "anyone"}},
        {"run": {"contacts": 4}},
    ],
)
def test_whatever_decides_the_run_counts(change: dict[str, Any]) -> None:
    assert build(**change).fingerprint() != build().fingerprint()


def test_a_default_that_is_spelt_out_does_not_count() -> None:
    parts = ("workload", "latency", "faults", "churn", "publish", "run")
    spelt = {part: msgspec.to_builtins(getattr(build(), part)) for part in parts}
    assert build(**spelt).fingerprint() == build().fingerprint()
    assert (
        build(workload={"nodes": 1000}, run={"contacts": 5}).fingerprint() == build().fingerprint()
    )


def test_the_order_of_parameters_does_not_count() -> None:
    one = build(params={"kg": 2, "kr": 1})
    other = build(params={"kr": 1, "kg": 2})
    assert one.fingerprint() == other.fingerprint()


@pytest.mark.parametrize(
    "part",
    [{"workload": {}}, {"latency": {"model": "matrix"}}, {"churn": {"model": "file"}}],
    ids=["workload", "latency", "churn"],
)
# The last two are also words that a scenario itself contains.
@pytest.mark.parametrize("name", ["b.csv", "sub/a.csv", "file", "matrix"])
def test_content_of_files_counts_and_their_path_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: dict[str, Any], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    ((section, settings),) = part.items()

    def fingerprint(path: str) -> str:
        return build(**{section: settings | {"file": path}}).fingerprint()

    Path("a.csv").write_text("node,topic\nx,y\n")
    Path(name).write_text("node,topic\nx,y\n")
    same = fingerprint("a.csv")
    assert fingerprint(name) == same
    Path(name).write_text("node,topic\nx,z\n")
    assert fingerprint(name) != same


def test_parquet_counts_by_its_rows(tmp_path: Path) -> None:
    """Not by the program that wrote it, nor by the number of its parts, which differ on each
    machine."""
    rows = [{"node": f"n{i}", "topic": f"t{i % 3}", "at": i} for i in range(10)]

    def written(folder: str, rows: list[dict[str, Any]], parts: int, **how: Any) -> str:
        (tmp_path / folder).mkdir()
        size = len(rows) // parts
        for part in range(parts):
            chunk = pa.Table.from_pylist(rows[part * size : (part + 1) * size])
            pq.write_table(chunk, tmp_path / folder / f"part-{part}.parquet", **how)
        return build(workload={"file": str(tmp_path / folder)}).fingerprint()

    whole = written("a", rows, 1)
    assert whole == written("b", rows, 5, compression="gzip", row_group_size=1)
    assert whole != written("c", [*rows[:-1], rows[-1] | {"topic": "t7"}], 1)
    assert whole != written("d", rows[::-1], 1)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.csv: no such file"):
        build(workload={"file": str(tmp_path / "gone.csv")}).fingerprint()


def test_two_overlays_meet_the_same_surroundings() -> None:
    parts = {"workload": {"nodes": 40}, "faults": {"loss": 0.1}}
    one = build(params={"kg": 2}, **parts)
    other = build(overlay="random", **parts)
    assert one.surroundings() == other.surroundings()
    assert one.fingerprint() != other.fingerprint()
    assert one.surroundings() != build(workload={"nodes": 40}).surroundings()


def test_two_overlays_get_the_same_workload() -> None:
    spec = {"nodes": 40, "topics": 20, "subscriptions_per_node": "2:6"}
    one = make_workload(build(workload=spec), 5)
    other = make_workload(build(overlay="random", workload=spec, faults={"loss": 0.2}), 5)
    assert one.subscriptions == other.subscriptions
    assert one.nodes == 40
    assert make_workload(build(workload=spec), 6).subscriptions != one.subscriptions


def test_each_life_of_a_node_has_its_own_seed() -> None:
    keys = [("f", 1, 2, 3), ("g", 1, 2, 3), ("f", 2, 2, 3), ("f", 1, 3, 3), ("f", 1, 2, 4)]
    assert len({node_seed(*key) for key in keys}) == len(keys)
    assert node_seed("f", 1, 2, 3) == node_seed("f", 1, 2, 3)


def test_the_same_number_typed_differently_is_the_same_run() -> None:
    whole = Scenario(overlay="x", latency=LatencySpec(ms=5), churn=ChurnSpec(on_ms=1000))
    parted = Scenario(overlay="x", latency=LatencySpec(ms=5.0), churn=ChurnSpec(on_ms=1000.0))
    again = msgspec.json.decode(msgspec.json.encode(whole), type=Scenario)
    assert whole.fingerprint() == parted.fingerprint() == again.fingerprint()
    assert whole.course() == again.course()
