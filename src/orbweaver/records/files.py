"""Write whole files or none: a file or folder becomes visible only when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from orbweaver.core.errors import UsageError


def check_file(path: Path) -> Path:
    """Return the folder of a file that is to be written, or raise a `UsageError` if the file
    cannot be written. Commands check before a long run, not after it."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    return _parent(path)


def check_folder(path: Path, ours: Collection[str]) -> Path:
    """Return the parent of a folder that is to be written, or raise a `UsageError` if the folder
    cannot be written.

    A folder that exists may hold nothing but files in `ours`: what an earlier run wrote is
    replaced, and nothing else.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file; name a folder")
    strangers = sorted(f.name for f in path.glob("*") if f.name not in ours)
    if strangers:
        raise UsageError(
            f"{path} holds other things, for example '{strangers[0]}'; name a new folder"
        )
    return _parent(path)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to. The file takes the place of `path` if the block ends
    without an error."""
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
    """Yield a temporary folder to write to. It takes the place of `path`, which may already exist
    with nothing but files in `ours`, if the block ends without an error."""
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
