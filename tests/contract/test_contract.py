"""Every overlay x every host x every case."""

from __future__ import annotations

from typing import Any

import pytest

from orbweaver.core.overlay import Overlay
from orbweaver.overlays.catalog import OVERLAYS, find
from orbweaver.testing import CASES, HOSTS, run_case
from orbweaver.testing.cases import memberships

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "spidercast": [{}, {"kr": 1}, {"adaptive": False}],
    # With tables of 15, all nodes are neighbours of each other here, and no path is needed.
    "vitis": [{}, {"table_size": 3}],
    "rvr": [{}, {"table_size": 3}],
    # The same of rings of 7 neighbours and more. Short times let identifiers change in a case.
    "magnet": [
        {},
        {"ring_size": 1, "fingers": 1, "control_fingers": 1, "growth_ms": 300},
        {"fingers": 2, "biased": True, "rates": "estimated"},
    ],
    "magnet-strawman": [{}, {"ring_size": 1, "fingers": 1, "control_fingers": 1}],
    # The same of leaf sets of 24.
    "scribe": [{}, {"leaf_set": 2}],
}
"""What else than the defaults is worth running through the suite."""
PATHS_NEEDED = {"vitis", "rvr", "magnet", "magnet-strawman", "scribe"}
"""Overlays whose second settings need paths, where the defaults need none."""


def all_settings(name: str, host: str) -> list[dict[str, Any]]:
    """Return the settings to run an overlay with. On sockets, where a case takes ten times as
    long, there is one: settings that need paths, or else the defaults. The defaults of all overlays
    are on sockets in tests/properties too."""
    found = SETTINGS.get(name, [{}])
    if host != "network":
        return found
    return [found[1] if name in PATHS_NEEDED else {}]


TABLE = [
    (OVERLAYS[name], settings, host)
    for name in OVERLAYS
    for host in HOSTS
    for settings in all_settings(name, host)
]


def label(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items()) or "defaults"
    return str(getattr(value, "name", getattr(value, "__name__", value)))


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize(("overlay", "settings", "host"), TABLE, ids=label)
def test_contract(overlay: type[Overlay], settings: dict[str, Any], host: str, case: Any) -> None:
    for membership in memberships(overlay, host):
        run_case(case, overlay, host, membership | settings)


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize("host", HOSTS)
def test_contract_of_the_example(host: str, case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("examples")
    run_case(case, find("clique:Clique"), host)
