"""`orbweaver simulate` as a person or a script runs it; a mistake is one line and exit code 2."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from orbweaver.metrics.summary import MEANING
from orbweaver.records.writers import read_records
from orbweaver.study.run import Result

COMMAND = str(Path(sys.executable).with_name("orbweaver"))
SMALL = "--overlay spidercast --nodes 20 --topics 5 --subscriptions-per-node 2 --warmup-ms 4000"

FILES = {
    "short.csv": b"node,topic\na,b\nc\n",
    "latin.csv": b"node,topic\na,caf\xe9\n",
    "text.gz": b"1 2\n3 4\n",
    "text.parquet": b"node,topic\na,b\n",
    "churn.csv": b"time,node,kind\n5,0,join\n6,zoe,leave\n",
    "matrix.txt": b"0 1\n2\n",
    "latin.txt": b"\xe9 1\n2 0\n",
    "broken.toml": b"overlay = \n",
    "typo.toml": b"overlay = 'random'\n[workload]\nnodess = 3\n",
    "full/thesis.tex": b"years of work",
}
# Given alone, and given after what is right.
ALONE = [
    ("", "name an overlay with --overlay"),
    ("--overlay spidercats", "there is no overlay 'spidercats': did you mean 'spidercast'?"),
    ("--overlay nowhere:Thing", "cannot load overlay 'nowhere:Thing'"),
    ("--overlay .x:Thing", "cannot load overlay '.x:Thing'"),
    ("none.toml", "none.toml: no such file"),
    ("full", "full"),
    ("broken.toml", "broken.toml is not valid TOML"),
    ("--overlay random --subscriptions none.csv", "none.csv: no such file"),
    (
        "--overlay random --subscriptions short.csv",
        "short.csv, line 3: 1 cells where the header has 2",
    ),
    ("--overlay random --subscriptions latin.csv", "latin.csv is not UTF-8 text"),
    ("--overlay random --subscriptions text.parquet", "text.parquet is not a Parquet file"),
    ("typo.toml", "unknown setting 'nodess' in [workload]: did you mean 'nodes'?"),
]
ADDED = [
    ("--set kgg=3", "no parameter 'kgg': did you mean 'kg'?"),
    ("--set kg=-1", "parameter 'kg' of overlay 'spidercast': expected `int` >= 0"),
    ("--set kg", "--set takes NAME=VALUE, not 'kg'"),
    ("--nodes 0", "'workload.nodes': expected `int` >= 1"),
    ("--nodes few", "--nodes"),
    ("--subscriptions short.csv", "has its own nodes and topics: leave out --nodes"),
    ("--popularity buckets", "popularity 'buckets' should be buckets:GROUPS:TAKEN"),
    ("--subscriptions-per-node 9", "cannot subscribe to 9 different topics out of 5"),
    ("--subscriptions-per-node 3:2", "'3:2' should be a number from 1"),
    ("--popularity zopf:1", "unknown popularity 'zopf:1': did you mean 'zipf:A'?"),
    ("--popularity zipf:x", "popularity 'zipf:x' needs a number"),
    ("--loss 1.5", "'faults.loss': expected `float` <= 1.0"),
    ("--warmup-ms -1", "'run.warmup_ms'"),
    ("--publish-by everybody", "'publish.by'"),
    ("--nope", "No such option: --nope"),
    ("one.toml two.toml", "two.toml"),
    ("--churn churn.csv", "churn.csv, line 3: there is no node 'zoe'"),
    ("--churn exponential:0:3", "'churn.on_ms': expected `float` > 0.0"),
    ("--churn exponential:inf:3", "churn"),
    ("--latency none.txt", "none.txt: no such file"),
    ("--latency matrix.txt", "matrix.txt, line 2: 1 numbers where line 1 has 2"),
    ("--latency latin.txt", "latin.txt"),
    ("--latency text.gz", "text.gz"),
    ("--latency full", "full"),
    ("--latency constant:-1", "'latency.ms': expected `float` >= 0.0"),
    ("--latency constant:inf", "latency"),
    ("--latency uniform:5:1", "high_ms 1 is below low_ms 5"),
    ("--links-out no/links.csv", "no/links.csv: there is no folder no"),
    ("--links-out full", "full"),
    ("--records-out no/out", "no/out: there is no folder no"),
    ("--records-out full", "full holds other things, for example 'thesis.tex'"),
    ("--records-format xml", "unknown records format 'xml'"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own, with names as short as a person's."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(arguments: str) -> subprocess.CompletedProcess[str]:
    line = [COMMAND, "simulate", *arguments.split()]
    return subprocess.run(line, capture_output=True, text=True, timeout=100)


def result(arguments: str) -> dict[str, Any]:
    done = run(f"{arguments} --json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    # A small overlay that has just formed may break its claims, of which it is told.
    assert bool(done.stderr) == bool(found["broken_claims"]), "progress is for terminals"
    return found


def table(name: str) -> list[list[str]]:
    with Path(name).open(newline="") as file:
        return list(csv.reader(file))


def test_json_has_every_key() -> None:
    found = result(SMALL)
    of_result = {field.name for field in msgspec.structs.fields(Result)}
    assert set(found) == of_result | {"broken_claims"}
    assert found["broken_claims"] == []
    assert set(found["metrics"]) == set(MEANING)
    assert (found["overlay"], found["nodes"], found["topics"]) == ("spidercast", 20, 5)
    assert found["complete"] is True


def test_without_json_a_table_with_every_metric() -> None:
    done = run(SMALL)
    assert done.returncode == 0
    assert all(key in done.stdout for key in MEANING)
    assert done.stderr == ""


def test_progress_shows_on_a_terminal() -> None:
    terminal, child = pty.openpty()
    line = [COMMAND, "simulate", *SMALL.split()]
    env = os.environ | {"TERM": "xterm"}
    subprocess.run(line, stdout=subprocess.DEVNULL, stderr=child, env=env, check=True, timeout=100)
    os.close(child)
    shown = os.read(terminal, 65_536)
    os.close(terminal)
    assert b"simulating spidercast" in shown


def test_the_seed_decides() -> None:
    first, again, other = (result(f"{SMALL} --seed {seed}") for seed in (7, 7, 8))
    assert first["digest"] == again["digest"] != other["digest"]
    assert first | {"wall_seconds": 0} == again | {"wall_seconds": 0}


def test_options_override_the_scenario() -> None:
    Path("s.toml").write_text(
        "overlay='spidercast'\nname='mine'\nparams={kg=2}\n"
        "[workload]\nnodes=30\ntopics=6\nsubscriptions_per_node=2\n[run]\nwarmup_ms=2000\n"
    )
    plain = result("s.toml")
    assert (plain["name"], plain["nodes"], plain["topics"]) == ("mine", 30, 6)
    assert plain["params"] == {"kg": 2}
    other = result("s.toml --nodes 25 --events-per-topic 1 --set kr=1")
    assert (other["nodes"], other["topics"], other["metrics"]["publications"]) == (25, 6, 6)
    assert other["params"] == {"kg": 2, "kr": 1}


def test_each_topic_of_a_plain_table_may_have_one_publisher() -> None:
    rows = [f"n{node},t{node % 3}" for node in range(18)]
    Path("plain.csv").write_text("\n".join(["node,topic", *rows]) + "\n")
    found = result(
        "--overlay rappel --subscriptions plain.csv --publish-by publisher --warmup-ms 60000 "
        "--records-out told --records-format csv"
    )
    assert (found["metrics"]["hit_ratio"], found["metrics"]["relays_per_event"]) == (1, 0)
    columns, *told = table("told/publications.csv")
    pairs = {(row[columns.index("topic")], row[columns.index("node")]) for row in told}
    assert len(told) == 9
    assert len(pairs) == 3


def test_a_delay_and_churn_of_ones_own_leave_nothing_of_the_scenarios() -> None:
    Path("delays.txt").write_text("0 8\n8 0\n")
    Path("churn.csv").write_text("time_ms,node,kind\n0,0,join\n0,1,join\n")
    Path("s.toml").write_text(
        "overlay='spidercast'\nparams={membership='full'}\n[workload]\nnodes=2\ntopics=1\nsubscriptions_per_node=1\n"
        "[latency]\nmodel='matrix'\nfile='delays.txt'\nunit='s'\nround_trip=false\n"
        "[churn]\nmodel='file'\nfile='churn.csv'\n[publish]\nper_topic=1\n"
        "[run]\nwarmup_ms=2000\n"
    )
    delays = [
        result(f"s.toml {options}")["metrics"]["delay_ms_mean"]
        for options in ("--latency constant:5", "--latency delays.txt")
    ]
    assert delays == [5, 4]
    assert result("s.toml --latency constant:5 --churn exponential:100:1")["nodes"] == 2


@pytest.mark.parametrize(
    ("options", "params"),
    [
        ("--overlay random", {}),
        ("--overlay random --set random=4", {"random": 4}),
        ("--overlay spidercast", {"kg": 2}),
    ],
)
def test_parameters_stay_with_their_overlay(options: str, params: dict[str, Any]) -> None:
    Path("s.toml").write_text("overlay='spidercast'\nparams={kg=2}\n[workload]\nnodes=20\n")
    assert result(f"s.toml {options}")["params"] == params


def test_links_out_names_each_link_once() -> None:
    found = result(f"{SMALL} --links-out links.csv")
    header, *rows = table("links.csv")
    assert header == ["a", "b"]
    assert len(rows) == len({frozenset(row) for row in rows}) == found["metrics"]["links"]
    assert {end for row in rows for end in row} <= {str(i) for i in range(20)}


def test_own_subscriptions_keep_their_names() -> None:
    rows = [f"node-{i},topic/{t}" for i in range(12) for t in (i % 3, (i + 1) % 3)]
    Path("mine.csv").write_text("\n".join(["node,topic", *rows, ""]))
    found = result("--overlay spidercast --subscriptions mine.csv --links-out links.csv")
    assert (found["nodes"], found["topics"]) == (12, 3)
    ends = {end for row in table("links.csv")[1:] for end in row}
    assert ends == {f"node-{i}" for i in range(12)}


def test_own_subscriptions_take_the_place_of_a_scenarios_workload() -> None:
    Path("mine.csv").write_text("node,topic\na,x\nb,x\nc,x\n")
    Path("model.toml").write_text(
        "overlay='random'\n[workload]\nnodes=30\ntopics=6\npopularity='zipf:1'\n"
        "[run]\nwarmup_ms=500\n"
    )
    found = result("model.toml --subscriptions mine.csv")
    assert (found["nodes"], found["topics"]) == (3, 1)


def test_another_trace_of_churn_keeps_how_a_scenario_plays_it() -> None:
    rows = ["time_ms,node,kind", *(f"0,m{n},join" for n in range(4)), "900,m0,leave"]
    Path("machines.csv").write_text("\n".join([*rows, ""]))
    Path("played.toml").write_text(
        "overlay='random'\n[workload]\nnodes=4\ntopics=2\nsubscriptions_per_node=1\n"
        "[churn]\nmodel='file'\nfile='none.csv'\nnodes='in order'\n[run]\nwarmup_ms=500\n"
    )
    found = result("played.toml --churn machines.csv")
    assert found["metrics"]["nodes_up"] == 4


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        line = [COMMAND, "simulate", *SMALL.split(), "--json"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=100)
    assert done.returncode == 2
    assert done.stderr == "orbweaver: output: No space left on device\n"


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", None])
def test_records_out_are_the_run(format: str | None) -> None:
    option = f"--records-format {format}" if format else ""
    found = result(f"{SMALL} --records-out out {option}")
    tables = [path for path in Path("out").iterdir() if path.stem != "about"]
    assert {path.suffix for path in tables} == {f".{format or 'parquet'}"}
    assert read_records(Path("out")).digest() == found["digest"]


@pytest.mark.parametrize(
    ("form", "low", "high"),
    [
        ("constant:20", 20, 20),
        ("uniform:30:40", 30, 40),
        ("matrix.txt", 50, 50),
        ("places.csv", 10, 10),
    ],
)
def test_forms_of_latency(form: str, low: float, high: float) -> None:
    """The matrix holds round trips; the places are a triangle with sides of 10."""
    Path("matrix.txt").write_text("0 100 100\n100 0 100\n100 100 0\n")
    Path("places.csv").write_text("node,x,y\na,0,0\nb,10,0\nc,5,8.660254\n")
    Path("three.csv").write_text("node,topic\na,t\nb,t\nc,t\n")
    found = result(f"--overlay random --subscriptions three.csv --latency {form}")["metrics"]
    assert found["deliveries"] == 6
    assert low <= found["delay_ms_mean"] / found["delay_hops_mean"] <= high


@pytest.mark.parametrize("form", ["churn.csv", "exponential:4:1"])
def test_forms_of_churn(form: str) -> None:
    Path("churn.csv").write_text("time,node,kind\n1500,3,crash\n1800,3,join\n")
    result(f"{SMALL} --churn {form} --records-out out --records-format csv")
    changes = [row for row in table("out/nodes.csv")[1:] if row[0] != "0"]
    if form == "churn.csv":
        assert changes == [["1500", "3", "crash"], ["1800", "3", "join"]]
    else:
        assert len(changes) > 10
        assert {kind for _, _, kind in changes} == {"join", "leave"}


def test_loss_is_counted() -> None:
    result(f"{SMALL} --loss 0.2 --records-out out --records-format csv")
    assert int(dict(table("out/drops.csv"))["loss"]) > 50


def test_a_run_stopped_by_its_limit_says_so() -> None:
    Path("s.toml").write_text("overlay='random'\n[workload]\nnodes=20\n[run]\nevents_max=100\n")
    done = run("s.toml --json")
    assert done.returncode == 1
    assert "numbers cover the time before" in done.stderr
    assert json.loads(done.stdout)["complete"] is False


BREAKING = """
from orbweaver.core.overlay import Claims
from orbweaver.overlays.vitis.rvr import Rvr
from orbweaver.overlays.spidercast import SpiderCast

class Loud(Rvr):
    name = "loud"

    @classmethod
    def claims(cls, params):
        return Claims(noiseless=True, topic_connected=True, total_delivery=True)

class Deaf(SpiderCast):
    name = "deaf"

    def receive(self, sender, message):
        if message.purpose != "data" or self.context.me != 3:
            super().receive(sender, message)

    @classmethod
    def degree_bound(cls, params, interest):
        return 1

class Slipping(SpiderCast):
    name = "slipping"

    @classmethod
    def claims(cls, params):
        kept = {"noiseless": True, "topic_connected": True, "total_delivery": True}
        return Claims(**kept, always_zero=("slips",))

    def status(self):
        return {"slips": int(self.context.me == 3)}
"""


@pytest.mark.parametrize(
    ("overlay", "options", "broken"),
    [
        ("Loud", "", ["noiseless: uninterested nodes received ", "topic-connected: "]),
        ("Deaf", "", ["degree bound (", "total delivery: the hit ratio is 0."]),
        ("Deaf", "--loss 0.01", ["degree bound ("]),
        ("Slipping", "", ["slips is always 0: it is 1 at 1 nodes at "]),
        ("SpiderCast", "--loss 0.5 --churn exponential:5:5", []),
    ],
)
def test_an_overlay_that_breaks_its_claims_is_named(
    here: Path, overlay: str, options: str, broken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "mine.py").write_text(BREAKING)
    monkeypatch.setenv("PYTHONPATH", str(here))
    line = f"--overlay mine:{overlay} --nodes 60 --topics 12 --subscriptions-per-node 2 {options}"
    done = run(f"{line} --json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])["broken_claims"]
    assert len(found) == len(broken)
    assert all(one.startswith(start) for one, start in zip(found, broken, strict=True))
    told = [f"mine:{overlay} breaks its own claim: {claim}" for claim in found]
    assert done.stderr.splitlines()[: len(found)] == told
    assert ("--warmup-ms" in done.stderr) == bool(found)


def test_an_interrupt_leaves_no_files(here: Path) -> None:
    Path("marked.py").write_text(
        "from pathlib import Path\n"
        "from orbweaver.overlays.spidercast.baselines import RandomLinks\n"
        "class Marked(RandomLinks):\n"
        "    name = 'marked'\n"
        "    def wake(self, timer):\n"
        "        Path('running').touch()\n"
        "        super().wake(timer)\n"
    )
    options = "--overlay marked:Marked --nodes 50 --warmup-ms 900000000 --json"
    line = [COMMAND, "simulate", *options.split(), "--links-out", "l.csv", "--records-out", "out"]
    child = subprocess.Popen(
        line,
        env=os.environ | {"PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A parent in the background may have had interrupts switched off for its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not Path("running").exists() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=100)
    assert child.returncode == 130
    assert out == ""
    assert err.splitlines() == ["orbweaver: interrupted; no file is half written"]
    assert sorted(path.name for path in here.iterdir()) == ["marked.py", "running"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    for name, data in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_bytes(data)
    return made


@pytest.mark.parametrize(("arguments", "message"), ALONE + ADDED)
def test_a_mistake_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(folder)
    done = run(arguments if (arguments, message) in ALONE else f"{SMALL} {arguments}")
    assert message in done.stderr
    assert done.stderr.startswith("orbweaver: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.returncode == 2
    assert done.stdout == ""
    assert {path.name for path in folder.iterdir()} == {name.split("/")[0] for name in FILES}
