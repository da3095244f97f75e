"""The claims themselves, run at N = 1000 and 2000 over three seeds. Slow."""

from __future__ import annotations

import pytest

from orbweaver.gossip.membership import MembershipParams
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.study.judge import reproduce
from orbweaver.study.paper import NO_TRACES
from orbweaver.study.pool import run_all
from orbweaver.study.spidercast import SPIDERCAST

JUDGED = ("S1", "S2", "S3", "S5", "S14")

KNOWN_NOT_REPRODUCED = {
    "maximum topic diameter inside the topic, uniform",
    "maximum topic diameter inside the topic, RSS",
    "maximum topic diameter inside the topic, zipf:1",
}
"""docs/overlays/spidercast.md says why. If one of these comes to reproduce, the ledger and
the page have to change with it."""

TREND_NEEDS_MORE_SIZES = {"similarity(20,0)"}
"""108 against 107 components at these two sizes, within the spread over seeds."""


def test_the_study_names_its_oracle_and_nothing_else_has_one() -> None:
    found = SPIDERCAST.scenarios(SPIDERCAST.experiments, "full", NO_TRACES)
    asked = {one.study.series.partition(" ")[0]: one.params["membership"] for one in found}
    others = {"views": "partial", "gossip": "gossip"}
    assert asked == dict.fromkeys(asked, "full") | others
    params = [overlay.Params() for overlay in OVERLAYS.values()]
    meshes = [one.membership for one in params if isinstance(one, MembershipParams)]
    assert len(meshes) >= 4
    assert set(meshes) == {"gossip"}


@pytest.mark.slow
def test_claims_at_1000_and_2000() -> None:
    verdicts = reproduce(SPIDERCAST, run_all, JUDGED, "quick", range(3)).ledger.counted
    assert len(verdicts) == 18
    for verdict in verdicts:
        subject = verdict.what.split(", over")[0].split(":")[0]
        if "diameter" in verdict.what:
            subject = verdict.what.split(", over")[0]
        if subject in TREND_NEEDS_MORE_SIZES:
            continue
        expected = subject not in KNOWN_NOT_REPRODUCED
        assert verdict.reproduced == expected, f"{verdict.claim} {verdict.what}: {verdict.ours}"
