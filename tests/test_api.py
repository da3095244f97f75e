"""`import orbweaver`: what it offers, and that it can be found."""

from __future__ import annotations

import subprocess
import sys

import orbweaver


def test_everything_offered_is_shown_before_it_is_loaded() -> None:
    code = (
        "import sys, orbweaver; shown = dir(orbweaver); "
        "print('orbweaver.net' in sys.modules, *shown)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, *shown = done.stdout.split()
    assert loaded == "False"
    assert shown == sorted(orbweaver.__all__)
    assert {"Node", "Subscription", "Delivery", "Receipt", "UsageError"} <= set(shown)


def test_everything_shown_is_there() -> None:
    for name in dir(orbweaver):
        assert getattr(orbweaver, name) is not None
