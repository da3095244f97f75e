"""Rules that hold for the source tree as a whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "orbweaver"
NAMELESS = {"common", "helpers", "misc", "tools", "util", "utils"}
"""File names that do not say what a file holds."""

NOT_YET_UNIQUE = {
    "Ask": "a message of Magnet; net/frames has the other",
    "Branch": "overlays/magnet/trees.py; gossip/relays.py has the other",
    "Peer": "overlays/magnet/table.py; overlays/vitis/table.py has the other",
    "Ping": "a message of Magnet; net/frames has the other",
    "Scale": "study/spidercast and study/vitis each measure a paper in their own scales",
}
"""Class names that still occur twice, each with its reason."""


def class_places() -> dict[str, list[str]]:
    """Return the places of each class name, as paths with line numbers."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    return places


def test_a_class_name_occurs_once() -> None:
    twice = {name: places for name, places in class_places().items() if len(places) > 1}
    assert {name: twice[name] for name in twice.keys() - NOT_YET_UNIQUE.keys()} == {}
    assert twice.keys() >= NOT_YET_UNIQUE.keys(), "take the names that are unique now off the list"


def test_a_file_name_says_what_is_inside() -> None:
    assert [path for path in SOURCE.rglob("*.py") if path.stem in NAMELESS] == []
