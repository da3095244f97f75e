"""What an overlay keeps over a restart, in a file beside the node's key."""

from __future__ import annotations

from pathlib import Path

import structlog

from orbweaver.core.errors import UsageError
from orbweaver.core.overlay import KEPT_BYTES_MAX
from orbweaver.records.files import whole_file

log = structlog.get_logger()


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
