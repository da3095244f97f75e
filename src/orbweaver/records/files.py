"""Whole files or none: what is being written becomes visible only when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from orbweaver.core.errors import UsageError


def check_file(path: Path) -> Path:
    """The folder that a file can be written into; raises where it cannot. Worth asking
    before a long run rather than after it."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file")
    return _parent(path)


def check_folder(path: Path, ours: Collection[str]) -> Path:
    """The same for a folder. One that is there already may hold nothing but these: what an
    earlier run wrote is replaced, and nothing else."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file, not a folder")
    strangers = sorted(f.name for f in path.glob("*") if f.name not in ours)
    if strangers:
        raise UsageError(f"{path} holds other things, '{strangers[0]}' for one; name a new one")
    return _parent(path)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a path to write to; it takes the place of `path` if nothing goes wrong."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=check_file(path))
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, ours: Collection[str]) -> Iterator[Path]:
    """The same for a folder, which may be there already with nothing but these in it."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=check_folder(path, ours)))
    before = temporary.with_name(f"{temporary.name}.before")
    try:
        yield temporary
        temporary.chmod(0o755)
        if path.exists():
            path.rename(before)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)


def _parent(path: Path) -> Path:
    parent = path.parent
    if not parent.is_dir():
        raise UsageError(f"{path}: there is no folder {parent}")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"{path}: the folder {parent} cannot be written to")
    return parent
