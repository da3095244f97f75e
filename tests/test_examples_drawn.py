"""The default run draws the same examples every time, the search draws new ones."""

import signal
import subprocess
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests import fuzz


def test_examples_are_the_same_in_every_run():
    assert settings.get_current_profile_name() == "repeatable"
    assert settings().derandomize
    assert not settings.get_profile("fuzz").derandomize


@pytest.fixture
def rounds(monkeypatch):
    """Rounds that take a second each, of a clock that moves with them."""
    state = SimpleNamespace(now=0.0, seeds=[], signals=[], bad_seed=None)

    class Round:
        def __init__(self, command):
            self.seed = int(command[-1].removeprefix("--hypothesis-seed="))
            state.seeds.append(self.seed)

        def __enter__(self):
            return self

        def __exit__(self, *raised):
            pass

        def wait(self, timeout):
            state.now += min(1, timeout)
            if timeout < 1:
                raise subprocess.TimeoutExpired("pytest", timeout)
            return int(self.seed == state.bad_seed)

        def send_signal(self, number):
            state.signals.append(number)

    monkeypatch.setattr(fuzz.subprocess, "Popen", Round)
    monkeypatch.setattr(fuzz.time, "monotonic", lambda: state.now)
    return state


def test_each_round_has_a_new_seed_until_the_time_is_over(rounds):
    assert fuzz.search(2.5, 7) == 0
    assert rounds.seeds == [7, 8, 9]
    assert rounds.signals == [signal.SIGINT], "the third round was cut short"


def test_the_search_ends_with_the_first_failure_and_says_how_to_repeat_it(rounds, capsys):
    rounds.bad_seed = 8
    assert fuzz.search(60, 7) == 1
    assert rounds.seeds == [7, 8]
    assert "make fuzz SEED=8" in capsys.readouterr().out
