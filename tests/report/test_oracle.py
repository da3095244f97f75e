"""The sentence about oracles on a page of results."""

from __future__ import annotations

from orbweaver.report.oracle import told_oracle
from orbweaver.study.run import Result


def result(overlay: str, **params: object) -> Result:
    return Result(
        name="", overlay=overlay, params=params, nodes=1, topics=1, seed=0, digest="",
        wall_seconds=0, events=0, complete=True, metrics={}, snapshots=[], degree_histogram={},
        states={}, fingerprint="", version="",
    )  # fmt: skip


def test_every_oracle_is_named_with_its_overlays() -> None:
    found = told_oracle(
        [
            result("magnet", medians="exact"),
            result("magnet-strawman", medians="exact"),
            result("spidercast", membership="full"),
            result("vitis"),
        ]
    )
    assert "magnet, magnet-strawman: of the medians of all places on the ring" in found
    assert "(medians=exact); spidercast: of all nodes (membership=full)." in found


def test_without_an_oracle_nothing_is_said() -> None:
    assert not told_oracle([result("magnet", medians="walks"), result("random")])
