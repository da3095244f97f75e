"""What an author of an overlay reads when it breaks the contract."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orbweaver.overlays.catalog import find
from orbweaver.testing import CASES, run_case

DEAF = """
from dataclasses import replace
from clique import Clique
from orbweaver.core.messages import Carrier

class Deaf(Clique):
    '''Node 2 does not hear of weather.'''
    name = "deaf"

    def receive(self, sender, message):
        if self.context.me == 2 and isinstance(message, Carrier):
            if message.event.topic == "weather":
                return
        super().receive(sender, message)

class Broken(Clique):
    name = "broken"

    def receive(self, sender, message):
        raise KeyError("a slip")

class Greedy(Clique):
    name = "greedy"

    @classmethod
    def degree_bound(cls, params, interest):
        return 2

class Slipping(Clique):
    name = "slipping"

    @classmethod
    def claims(cls, params):
        return replace(super().claims(params), always_zero=("slips",))

    def status(self):
        return {"slips": int(self.context.me == 3)}
"""
BY_NAME = {case.__name__: case for case in CASES}


@pytest.fixture
def overlays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "deaf.py").write_text(DEAF)
    monkeypatch.syspath_prepend("examples")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("overlay", "case", "error", "told"),
    [
        (
            "Deaf", "every_subscriber_gets_every_event", AssertionError,
            r"node 2 did not get event 0 of node \d+ on 'weather' \(b'first of \d+'\)",
        ),
        ("Broken", "every_subscriber_gets_every_event", KeyError, "a slip"),
        (
            "Greedy", "nothing_is_invented_nor_misdelivered", AssertionError,
            r"node \d+ has \d+ links where its degree bound is 2: ",
        ),
        ("Slipping", "links_have_two_ends", AssertionError, "slips of node 3 is 1 instead of 0"),
    ],
)  # fmt: skip
def test_a_failure_names_node_event_and_seed_and_can_be_replayed(
    overlays: Path, overlay: str, case: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as caught:
        run_case(BY_NAME[case], find(f"deaf:{overlay}"), "pump", seed=7)
    assert re.search(told, str(caught.value))
    (note,) = caught.value.__notes__
    first, command = note.split("\n")
    assert first == f"case {case} of {overlay.lower()} on host pump, seed 7; replay:"
    python, *rest = shlex.split(command)
    assert python == "python"
    path = [str(overlays), "examples", *sys.path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    line = [sys.executable, *rest]
    again = subprocess.run(line, capture_output=True, text=True, env=env, check=False)
    assert again.returncode == 1
    assert str(caught.value) in again.stderr


def test_without_pytest_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['pytest'] = None; import orbweaver.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: orbweaver.testing needs pytest, which is not installed: pip install pytest"
    )
