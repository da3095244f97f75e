"""Runs the work of a command until it is done or a signal stops it.

The first SIGINT or SIGTERM cancels the work, which then cleans up; a second signal
ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], fast: bool = True) -> T | None:
    """Run `work` and return its result, or None if a signal ended it. `fast` uses uvloop if it is
    installed."""
    factory = None
    if fast:
        try:
            import uvloop
        except ImportError:
            pass
        else:
            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_until_told(work))


def carry_on() -> None:
    """Let the current task go on after a CancelledError. Called by work that must finish something
    before it ends."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()


async def _until_told(work: Coroutine[Any, Any, T]) -> T | None:
    task = asyncio.ensure_future(work)
    told = False

    def tell(number: signal.Signals) -> None:
        nonlocal told
        if told:
            sys.stderr.write("orbweaver: ended at once\n")
            sys.stderr.flush()
            os._exit(128 + number)
        told = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, tell, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not told:
            raise
        return None
