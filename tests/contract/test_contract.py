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
    # With tables of 15, everybody is a neighbour of everybody here, and no path is needed.
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

TABLE = [(OVERLAYS[name], settings) for name in OVERLAYS for settings in SETTINGS.get(name, [{}])]


def label(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items()) or "defaults"
    return str(getattr(value, "name", getattr(value, "__name__", value)))


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("overlay", "settings"), TABLE, ids=label)
def test_contract(overlay: type[Overlay], settings: dict[str, Any], host: str, case: Any) -> None:
    for membership in memberships(overlay, host):
        run_case(case, overlay, host, membership | settings)


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize("host", HOSTS)
def test_contract_of_the_example(host: str, case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("examples")
    run_case(case, find("clique:Clique"), host)
