"""Defaults that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from orbweaver.cli.compare import compare
from orbweaver.cli.options import SEED, SEEDS
from orbweaver.cli.reproduce import reproduce
from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.simulate import simulate
from orbweaver.cli.sweep import replay, sweep


@pytest.mark.parametrize("command", [compare, reproduce, sweep])
def test_scenarios_run_over_the_same_seeds(command: Callable[..., Any]) -> None:
    assert inspect.signature(command).parameters["seeds"].default == SEEDS


@pytest.mark.parametrize("command", [simulate, replay])
def test_one_run_has_the_first_of_these_seeds(command: Callable[..., Any]) -> None:
    assert inspect.signature(command).parameters["seed"].default == SEED == parse_seeds(SEEDS)[0]
