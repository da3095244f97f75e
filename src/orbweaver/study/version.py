"""Which code made a result: a hash over everything that can change one."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

PARTS = ("core", "gossip", "metrics", "overlays", "records", "sim", "workload")


@cache
def code_version() -> str:
    hasher = blake2b(digest_size=8)
    for part in PARTS:
        _add(hasher, files("orbweaver") / part)
    return hasher.hexdigest()


def _add(hasher: blake2b, place: Traversable) -> None:
    for entry in sorted(place.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            _add(hasher, entry)
        elif entry.name.endswith(".py"):
            hasher.update(entry.name.encode() + b"\0" + entry.read_bytes())
