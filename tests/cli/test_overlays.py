"""`orbweaver overlays`, and the command itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orbweaver import __version__
from orbweaver.core.params import describe
from orbweaver.overlays.catalog import OVERLAYS

COMMAND = str(Path(sys.executable).with_name("orbweaver"))
EVERY = pytest.mark.parametrize("name", OVERLAYS)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=100)


@pytest.fixture(scope="module")
def listed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("overlays", "--json").stdout)
    return found


@pytest.fixture(scope="module")
def printed() -> str:
    return " ".join(run("overlays").stdout.split())


def test_all_are_listed(listed: dict[str, Any]) -> None:
    assert list(listed) == list(OVERLAYS)


@EVERY
def test_json_tells_parameters_and_promises(listed: dict[str, Any], name: str) -> None:
    found = listed[name]
    assert set(found) == {"summary", "paper", "claims", "parameters"}
    assert set(found["claims"]) == {
        "always_zero",
        "noiseless",
        "topic_connected",
        "total_delivery",
        "degree_bound",
    }
    names = [parameter["name"] for parameter in found["parameters"]]
    assert names == [info.name for info in describe(OVERLAYS[name].Params)]


@EVERY
def test_every_parameter_has_meaning_default_and_source(listed: dict[str, Any], name: str) -> None:
    for parameter in listed[name]["parameters"]:
        assert parameter["description"], parameter["name"]
        assert parameter["source"], parameter["name"]
        assert parameter["default"] is not None, parameter["name"]


@EVERY
def test_people_see_the_same(printed: str, listed: dict[str, Any], name: str) -> None:
    assert f"{name} {listed[name]['summary']}" in printed
    assert all(parameter["name"] in printed for parameter in listed[name]["parameters"])


def test_one_by_name() -> None:
    done = run("overlays", "random", "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == ["random"]
    assert "similarity" not in run("overlays", "ring-per-topic").stdout


def test_one_of_ones_own() -> None:
    place = "orbweaver.overlays.spidercast:SpiderCast"
    assert list(json.loads(run("overlays", place, "--json").stdout)) == ["spidercast"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["overlays", "rnadom"], "there is no overlay 'rnadom': did you mean 'random'?"),
        (
            ["overlays", "zzz"],
            "known: " + ", ".join(sorted(OVERLAYS)),
        ),
        (["overlays", "nowhere:X"], "cannot load overlay 'nowhere:X'"),
        (["overlays", "--xml"], "No such option: --xml"),
        (["overlays", "random", "similarity"], "similarity"),
        (["overlay"], "overlay"),
        (["--nope"], "No such option: --nope"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    (line,) = done.stderr.splitlines()
    assert line.startswith("orbweaver: ")
    assert message in line
    assert done.returncode == 2
    assert done.stdout == ""


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"orbweaver {__version__}")


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_names_the_commands(arguments: list[str]) -> None:
    done = run(*arguments)
    assert all(command in done.stdout for command in ("overlays", "simulate", "compare"))
    assert done.returncode == (0 if arguments else 2)


def test_a_reader_that_goes_away_is_no_accident() -> None:
    done = subprocess.run(
        f"{COMMAND} overlays | head -n 1", shell=True, capture_output=True, text=True, timeout=100
    )
    assert done.stderr == ""
    assert "spidercast" in done.stdout
