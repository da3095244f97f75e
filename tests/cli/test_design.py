"""`orbweaver design`: a table of subscriptions in, a table of links out."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("orbweaver"))

SUBSCRIPTIONS = """\
node;topic
ann;news
bob;news
cid;news
cid;sport
dora;sport
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "design", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my.csv").write_text(SUBSCRIPTIONS)
    return tmp_path


def links_in(path: Path) -> set[frozenset[str]]:
    with path.open(newline="") as file:
        return {frozenset((row["a"], row["b"])) for row in csv.DictReader(file)}


@pytest.mark.parametrize("algorithm", ["gm", "lowoda", "minmaxoda"])
def test_a_plan(folder: Path, algorithm: str) -> None:
    arguments = ("--subscriptions", "my.csv", "--algorithm", algorithm, "--out", "links.csv")
    done = run(folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert "semicolon" in done.stderr
    plan = json.loads(done.stdout.splitlines()[-1])
    links = links_in(folder / "links.csv")
    assert len(links) == plan["links"] == 3
    assert frozenset(("cid", "dora")) in links
    assert plan["degree_mean"] == plan["degree_mean_bound"] == 1.5
    assert plan["degree_max_bound"] == 2 <= plan["degree_max"] <= 3
    again = (folder / "links.csv").read_bytes()
    assert run(folder, *arguments).returncode == 0
    assert (folder / "links.csv").read_bytes() == again


def test_omen_starts_from_a_plan(folder: Path) -> None:
    """It keeps the links of the plan while no node comes or goes, and adds none."""
    assert run(folder, "--subscriptions", "my.csv", "--out", "links.csv").returncode == 0
    done = subprocess.run(
        [COMMAND, "simulate", "--overlay", "omen", "--subscriptions", "my.csv",
         "--links", "links.csv", "--set", "contacts_are_links=true", "--links-out", "out.csv"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert links_in(folder / "out.csv") == links_in(folder / "links.csv")


def test_a_plan_that_starts_from_links(folder: Path) -> None:
    """A node has gone since: its links do not count, the others stay."""
    (folder / "old.csv").write_text("a,b\nann,zoe\nann,bob\nbob,ann\nzoe,cid\nann,dora\n")
    done = run(folder, "--subscriptions", "my.csv", "--links", "old.csv", "--out", "new.csv")
    assert done.returncode == 0, done.stderr
    assert "old.csv: 2 links left out, since 'zoe' of it have no subscriptions" in done.stderr
    assert "4 links, 2 of them given, in new.csv" in done.stdout
    links = links_in(folder / "new.csv")
    assert {frozenset(("ann", "bob")), frozenset(("ann", "dora"))} < links


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--algorithm", "lowodda"], "unknown algorithm 'lowodda': did you mean 'lowoda'?"),
        (["--rho", "0.5"], "rho should be a number of 1 or more, not 0.5"),
        (["--rho", "2", "--algorithm", "gm"], "--rho 2 is for lowoda; gm has no such setting"),
        (["--links", "none.csv"], "none.csv: no such file"),
        (["--links", "loop.csv"], "loop.csv, line 2: a link from 'ann' to itself"),
        (["--subscriptions", "none.csv"], "none.csv: no such file"),
        (["--out", "none/links.csv"], "none"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, more: list[str], said: str) -> None:
    (folder / "loop.csv").write_text("a,b\nann,ann\n")
    done = run(folder, "--subscriptions", "my.csv", "--out", "links.csv", *more)
    assert done.returncode == 2
    (line,) = [text for text in done.stderr.splitlines() if text.startswith("orbweaver: ")]
    assert said in line
    assert not (folder / "links.csv").exists()
