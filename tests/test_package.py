"""What a package page shows: the metadata, and a text that needs nothing beside it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from orbweaver.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXT = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")


def test_every_link_works_from_anywhere() -> None:
    links = re.findall(r"\]\(([^)]*)\)|^\[[^\]]*\]:\s*(\S+)|(?:src|href)=\"([^\"]*)", TEXT, re.M)
    targets = [target for found in links for target in found if target]
    assert [t for t in targets if not re.match(r"https://|#", t)] == []


def test_the_metadata_say_who_what_and_where_it_was_tested() -> None:
    assert PROJECT["description"]
    assert PROJECT["authors"]
    classifiers = PROJECT["classifiers"]
    assert "Operating System :: POSIX :: Linux" in classifiers
    tested = f"Programming Language :: Python :: {PROJECT['requires-python'].removeprefix('>=')}"
    assert tested in classifiers


def test_the_extras_are_those_there_are() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    assert told == set(PROJECT["optional-dependencies"]) - {"dev"}


def test_the_commands_are_those_there_are() -> None:
    named = set(re.findall(r"^    orbweaver (\w+)", TEXT, re.MULTILINE))
    assert named
    assert named <= {place.partition(".")[0] for places in COMMANDS.values() for place in places}


@pytest.mark.parametrize("code", re.findall(r"(?ms)^```python\n(.*?)^```$", TEXT))
def test_the_program_runs(code: str) -> None:
    line = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "b'hello'\n"), done.stderr
