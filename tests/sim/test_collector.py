"""The collector is as it was after a run, also in a process that has frozen its imports."""

from __future__ import annotations

import gc

import pytest

from orbweaver.sim.collector import calm_collector


@pytest.mark.parametrize("frozen", [False, True])
def test_what_was_frozen_stays_frozen_and_nothing_else(frozen: bool) -> None:
    before = gc.get_threshold()
    gc.unfreeze()
    if frozen:
        gc.freeze()
    try:
        with calm_collector():
            assert gc.get_threshold() != before
            assert gc.get_freeze_count() > 0
        assert (gc.get_freeze_count() > 0) == frozen
        assert gc.get_threshold() == before
    finally:
        gc.unfreeze()
