"""Keep the epoch of a node's last life in a file beside its key.

Events are numbered anew in each life of a publisher; its epoch, the time at which it started,
tells the lives apart. Ordered readers drop events of an earlier epoch than those they have had.
So a clock that was set back across a restart must not make the epoch smaller: an epoch is the
time, or one more than the last epoch, whichever is larger.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import structlog

EPOCH_MAX = 1 << 62
"""Epochs, in milliseconds, are below this: it is beyond any time, and leaves room in 64 bits."""

log = structlog.get_logger()


def read_epoch(path: Path | None) -> int:
    """Return the epoch in the file, or 0 if there is none."""
    if path is None:
        return 0
    try:
        epoch = int(path.read_text(encoding="ascii"))
        if not 0 <= epoch < EPOCH_MAX:
            raise ValueError(f"{epoch} should be a time in milliseconds")
        return epoch
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        log.warning(
            "the last epoch cannot be read; the clock decides", file=str(path), reason=str(error)
        )
        return 0


def write_epoch(path: Path | None, epoch: int) -> None:
    """Replace the file as a whole. If its folder cannot be written to, the node runs all the same,
    and a warning is logged."""
    if path is None:
        return
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with new.open("w", encoding="ascii") as file:
            file.write(f"{epoch}\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        log.warning("the epoch is not kept", file=str(path), reason=error.strerror)
