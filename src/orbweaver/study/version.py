"""Which code made a result: a hash over everything that can change one."""

from __future__ import annotations

import inspect
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from orbweaver.overlays.catalog import OVERLAYS, find
from orbweaver.study.procedures import PROCEDURES, find_procedure

PARTS = (
    "core",
    "design",
    "gossip",
    "metrics",
    "overlays",
    "records",
    "sim",
    "study/course.py",
    "study/lookups.py",
    "study/procedures.py",
    "study/promises.py",
    "study/rappel/nodes.py",
    "study/run.py",
    "workload",
)


@cache
def code_version() -> str:
    hasher = blake2b(digest_size=8)
    for part in PARTS:
        _add(hasher, files("orbweaver") / part)
    return hasher.hexdigest()


def overlay_version(name: str) -> str:
    """Return the version of the file of a procedure, or of an overlay that is not ours. Our
    overlays have none, since `code_version` covers them."""
    if name in OVERLAYS:
        return ""
    made_by = find_procedure(name).carry_out if name in PROCEDURES else find(name)
    file = inspect.getsourcefile(made_by)
    return blake2b(Path(file).read_bytes(), digest_size=8).hexdigest() if file else ""


def run_code(overlay: str) -> str:
    """Return the version of all code that makes runs of an overlay: ours, and the file of a
    procedure or of an overlay that is not ours."""
    own = overlay_version(overlay)
    return f"{code_version()}+{own}" if own else code_version()


def _add(hasher: blake2b, place: Traversable) -> None:
    if place.is_dir():
        for entry in sorted(place.iterdir(), key=lambda e: e.name):
            _add(hasher, entry)
    elif place.name.endswith(".py"):
        hasher.update(place.name.encode() + b"\0" + place.read_bytes())
