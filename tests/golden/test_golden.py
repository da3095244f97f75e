"""The goldens are what the code writes; `make golden` writes them again."""

from __future__ import annotations

from typing import get_origin

import pytest

from orbweaver.overlays.catalog import OVERLAYS
from tests.golden.regenerate import FOLDER, goldens, samples

GOLDENS = goldens()


@pytest.mark.parametrize("file", GOLDENS)
def test_golden(file: str) -> None:
    assert GOLDENS[file] == (FOLDER / file).read_text(encoding="utf-8")


def test_no_golden_is_left_over() -> None:
    assert {path.name for path in FOLDER.glob("*.txt")} == set(GOLDENS)


def test_every_message_has_a_sample() -> None:
    kinds = [kind for overlay in OVERLAYS.values() for kind in overlay.messages]
    known = {get_origin(kind) or kind for kind in kinds}
    assert known == {type(message) for message in samples()}
