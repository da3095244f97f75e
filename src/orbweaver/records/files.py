"""Whole files or none: what is being written becomes visible only when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orbweaver.core.errors import UsageError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a path to write to; it takes the place of `path` if nothing goes wrong."""
    parent = _parent(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """The same for a folder. One that is there already is replaced only if it is empty or
    holds nothing but an earlier run's tables."""
    parent = _parent(path)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file, not a folder")
    if path.is_dir():
        strangers = [f.name for f in path.iterdir() if f.suffix not in _TABLE_SUFFIXES]
        if strangers:
            raise UsageError(f"{path} holds other things, '{strangers[0]}' for one; name a new one")
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if path.is_dir():
            shutil.rmtree(path)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


_TABLE_SUFFIXES = {".parquet", ".csv", ".jsonl"}


def _parent(path: Path) -> Path:
    parent = path.parent
    if not parent.is_dir():
        raise UsageError(f"{path}: there is no folder {parent}")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"{path}: the folder {parent} cannot be written to")
    return parent
