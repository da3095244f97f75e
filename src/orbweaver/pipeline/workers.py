"""Keeps Python workers from spending their time on what Spark does after each task."""

from __future__ import annotations

import gc
from functools import cache


@cache
def freeze_imports() -> None:
    """Take what a worker has imported out of garbage collection, once. PySpark collects garbage
    after every task, which would look at all of it for a tenth of a second. Tasks call this after
    their imports and before their work."""
    gc.collect()
    gc.freeze()
