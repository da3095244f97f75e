"""Python's garbage collector, kept calm during a run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def calm_collector() -> Iterator[None]:
    """A run makes millions of short-lived objects and hardly any cycles; with the usual
    thresholds the collector goes over all nodes again and again to find nothing (a sixth
    of the time at N = 5000). What is there is set aside, and it looks less often."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
