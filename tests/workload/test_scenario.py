"""Scenarios: read from TOML, checked, and named by what they contain."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.workload.scenario import Scenario, make_workload
from orbweaver.workload.scenario_files import build_scenario, load_scenario

FULL = """
overlay = "spidercast"
name = "everything"
params = { kg = 2, membership = "partial" }
[workload]
nodes = 50
topics = 12
subscriptions_per_node = "2:5"
popularity = "nyse"
[latency]
model = "uniform"
low_ms = 2
high_ms = 20
[faults]
loss = 0.01
[[faults.partitions]]
start_ms = 100
end_ms = 200
share = 0.25
[churn]
model = "weibull"
down = "crash"
[[interests]]
time_ms = 5
node = 3
topic = "t1"
kind = "unsubscribe"
[publish]
per_topic = 4
[run]
snapshots_ms = [100, 200]
"""


def load(tmp_path: Path, text: str) -> Scenario:
    path = tmp_path / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(path)


def build(**parts: Any) -> Scenario:
    return build_scenario({"overlay": "spidercast"} | parts, "test")


def test_every_part_is_read(tmp_path: Path) -> None:
    found = load(tmp_path, FULL)
    assert found.params == {"kg": 2, "membership": "partial"}
    assert found.workload.sizes() == (2, 5, 0)
    assert found.latency.high_ms == 20
    assert found.faults.partitions[0].share == 0.25
    assert found.churn.down == "crash"
    assert found.interests[0].kind == "unsubscribe"
    assert found.run.snapshots_ms == (100, 200)
    assert found.publish.every_ms == 10, "what is not said keeps its default"


def test_a_scenario_survives_being_taken_apart(tmp_path: Path) -> None:
    found = load(tmp_path, FULL)
    assert build_scenario(msgspec.to_builtins(found), "again") == found


def test_subscriptions_per_node_may_be_a_number(tmp_path: Path) -> None:
    text = 'overlay = "x"\n[workload]\nsubscriptions_per_node = 7\n'
    assert load(tmp_path, text).workload.sizes() == (7, 7, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes = 3", "unknown setting 'nodes': known: churn, faults"),
        ("[worklod]\nnodes = 3", "unknown setting 'worklod': did you mean 'workload'?"),
        ("[workload]\nnode = 3", "unknown setting 'node' in [workload]: did you mean 'nodes'?"),
        ("[churn]\non_sm = 3", "unknown setting 'on_sm' in [churn]: did you mean 'on_ms'?"),
        ("[run]\nwarmup = 3", "unknown setting 'warmup' in [run]: did you mean 'warmup_ms'?"),
        ("[[faults.partitions]]\nsahre = 1", "did you mean 'share'?"),
        ("[[interests]]\ntopc = 'a'", "did you mean 'topic'?"),
        ("[workload]\nnodes = 0", "'workload.nodes': expected `int` >= 1"),
        ("[workload]\nnodes = 'many'", "'workload.nodes': expected `int`, got `str`"),
        ("[workload]\nsubscriptions_per_node = '3-4'", "'workload.subscriptions_per_node'"),
        ("[faults]\nloss = 1.5", "'faults.loss': expected `float` <= 1.0"),
        ("[faults]\nreorder = -0.1", "'faults.reorder': expected `float` >= 0.0"),
        ("[churn]\non_ms = 0", "'churn.on_ms': expected `float` > 0.0"),
        ("[churn]\nmodel = 'pareto'", "'churn.model'"),
        ("[publish]\nby = 'nobody'", "'publish.by'"),
        ("[run]\nwarmup_ms = -1", "'run.warmup_ms': expected `int` >= 0"),
        ("[run]\nevents_max = 0", "'run.events_max'"),
        ("[[faults.partitions]]\nend_ms = 3", "missing required field `start_ms`"),
    ],
)
def test_mistakes_are_told_in_the_files_words(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(tmp_path, f"overlay = 'spidercast'\n{text}\n")
    assert str(error.value).startswith(str(tmp_path / "scenario.toml"))
    assert message in str(error.value)


def test_an_overlay_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="missing required field `overlay`"):
        load(tmp_path, "name = 'x'")


@pytest.mark.parametrize("data", [b"overlay = ", b"overlay = '\xff'"])
def test_not_toml(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="is not valid TOML"):
        load_scenario(path)


@pytest.mark.parametrize("there", [False, True], ids=["missing", "folder"])
def test_no_file_to_read(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "x.toml"
    if there:
        path.mkdir()
    with pytest.raises(UsageError, match=r"x\.toml"):
        load_scenario(path)


@pytest.mark.parametrize(
    "sizes", ["0", "0:3", "5:3"], ids=["nothing", "from nothing", "upside down"]
)
def test_ranges_that_are_none(sizes: str) -> None:
    with pytest.raises(UsageError, match="should be a number from 1, or a range"):
        make_workload(build(workload={"subscriptions_per_node": sizes}), 0)


@pytest.mark.parametrize(
    ("part", "more"), [("workload", ""), ("latency", "model='matrix'"), ("churn", "model='file'")]
)
def test_files_are_relative_to_the_scenario(tmp_path: Path, part: str, more: str) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    relative = load(folder, f"overlay='x'\n[{part}]\n{more}\nfile='data/a.csv'\n")
    assert Path(getattr(relative, part).file) == folder / "data/a.csv"
    absolute = load(folder, f"overlay='x'\n[{part}]\n{more}\nfile='{tmp_path / 'b.csv'}'\n")
    assert Path(getattr(absolute, part).file) == tmp_path / "b.csv"


def test_times_of_a_run() -> None:
    found = build(run={"warmup_ms": 1000, "drain_ms": 70}, publish={"per_topic": 3, "every_ms": 4})
    assert found.publish_end_ms(topics=5) == 1060
    assert found.end_ms(topics=5) == 1130
    assert build(run={"duration_ms": 300}).end_ms(5) == 300


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"churn": {"file": "x.csv"}}, "the model is 'none'"),
        ({"churn": {"model": "file"}}, "needs a file"),
        (
            {"churn": {"model": "exponential", "new_interest": True}, "workload": {"file": "x"}},
            "new_interest",
        ),
        ({"latency": {"file": "x.csv"}}, "the model is 'constant'"),
        ({"latency": {"model": "matrix"}}, "needs a file"),
        ({"publish": {"rates": "zipf:1"}}, "say how many"),
        ({"faults": {"partitions": [{"start_ms": 5, "end_ms": 5}]}}, "would not happen"),
        ({"interests": [{"time_ms": 1, "node": 0, "topic": "", "kind": "subscribe"}]}, "topic"),
        ({"publish": {"per_topic": 10**15}}, "per_topic"),
    ],
)
def test_settings_that_would_be_left_aside_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        build(**parts)


def test_a_table_of_subscriptions_has_its_own_nodes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its own nodes and topics: leave out nodes"):
        load(tmp_path, 'overlay = "vitis"\n[workload]\nfile = "x.csv"\nnodes = 5\n')


def test_sizes_by_a_power_law_have_an_exponent() -> None:
    spec = build(workload={"subscriptions_per_node": "powerlaw:10:90:2.5"}).workload
    assert spec.sizes() == (10, 90, 2.5)
    with pytest.raises(UsageError, match="subscriptions_per_node"):
        build(workload={"subscriptions_per_node": "powerlaw:10:90"})


def test_churn_in_groups_needs_a_period() -> None:
    with pytest.raises(UsageError, match="needs every_ms"):
        build(churn={"model": "neighbors"})


def test_links_come_from_a_table_or_a_design() -> None:
    with pytest.raises(UsageError, match="a file and a design"):
        build(links={"file": "links.csv", "design": "gm"})
