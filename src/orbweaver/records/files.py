"""Whole files or none: what is being written becomes visible only when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orbweaver.core.errors import UsageError


def check_file(path: Path) -> Path:
    """The folder that a file can be written into; raises where it cannot. Worth asking
    before a long run rather than after it."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file")
    return _parent(path)


def check_folder(path: Path, replaces: Callable[[Path], bool]) -> Path:
    """The same for a folder. One that is there already must be empty, or one that it
    replaces."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file, not a folder")
    found = sorted(path.glob("*"))
    if found and not replaces(path):
        raise UsageError(f"{path} holds other things, '{found[0].name}' for one; name a new one")
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
def whole_folder(path: Path, replaces: Callable[[Path], bool]) -> Iterator[Path]:
    """The same for a folder."""
    check_folder(path, replaces)
    with replaced_folder(path) as temporary:
        yield temporary


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """The same without a look at what is there: it is replaced, whatever it is."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
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
