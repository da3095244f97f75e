"""Keep what a node's next life has to know, in files beside its key: its epoch, and what its
overlay keeps.

Events are numbered anew in each life of a publisher; its epoch, the time at which it started,
tells the lives apart. Ordered readers drop events of an earlier epoch than those they have had.
So a clock that was set back across a restart must not make the epoch smaller: an epoch is the
time, or one more than the last epoch, whichever is larger.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from orbweaver.core.errors import UsageError
from orbweaver.core.overlay import KEPT_BYTES_MAX
from orbweaver.net.logger import Logger
from orbweaver.records.files import whole_file

EPOCH_MAX = 1 << 62
"""Epochs, in milliseconds, are below this: it is beyond any time, and leaves room in 64 bits."""

log = Logger()


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


def read_kept(path: Path | None) -> bytes:
    """Return what the file holds, or nothing if there is none."""
    if path is None:
        return b""
    try:
        with path.open("rb") as file:
            return file.read(KEPT_BYTES_MAX)
    except FileNotFoundError:
        return b""
    except OSError as error:
        log.warning("what was kept cannot be read", file=str(path), reason=error.strerror)
        return b""


def write_kept(path: Path | None, blob: bytes) -> None:
    """Replace the file as a whole. A key may be in a folder that cannot be written to; the node
    runs all the same."""
    if path is None:
        return
    try:
        with whole_file(path) as temporary:
            temporary.write_bytes(blob)
    except (OSError, UsageError) as error:
        log.warning("nothing is kept over a restart", file=str(path), reason=str(error))
