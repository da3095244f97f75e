"""Where real traces lie, on machines that have them. They are no part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"

needs_traces = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the real traces are not on this machine"
)
