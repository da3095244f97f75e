"""Simulate faults between two nodes: loss, duplication, reordering, partitions, slowness."""

from __future__ import annotations

from random import Random

from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import below, sample
from orbweaver.workload.scenario import FaultSpec


class Faults:
    """Decide the fate of each message. Runs without faults have no such object."""

    def __init__(self, spec: FaultSpec, nodes: int, rng: Random) -> None:
        self._spec = spec
        self._rng = rng
        everyone = list(range(nodes))
        self._slow = frozenset(sample(rng, everyone, round(spec.slow_share * nodes)))
        self._partitions = [
            (p.start_ms, p.end_ms, frozenset(sample(rng, everyone, round(p.share * nodes))))
            for p in spec.partitions
        ]

    def set(self, spec: FaultSpec) -> None:
        """Use the shares of loss, duplication and reordering of `spec` from now on."""
        self._spec = spec

    def fate(self, now: int, sender: NodeId, to: NodeId, delay: int) -> list[int] | str:
        """Return the delay of each copy that arrives, or the reason why none arrives."""
        for start, end, cut_off in self._partitions:
            if start <= now < end and (sender in cut_off) != (to in cut_off):
                return "partition"
        spec, rng = self._spec, self._rng
        if spec.loss and rng.random() < spec.loss:
            return "loss"
        if to in self._slow:
            delay += spec.slow_ms
        if spec.reorder and rng.random() < spec.reorder:
            delay += below(rng, spec.reorder_ms + 1)
        if spec.duplicate and rng.random() < spec.duplicate:
            return [delay, delay + 1 + below(rng, spec.reorder_ms + 1)]
        return [delay]


def any_faults(spec: FaultSpec) -> bool:
    """Return whether a scenario has any faults."""
    shares = (spec.loss, spec.duplicate, spec.reorder, spec.slow_share)
    return any(shares) or bool(spec.partitions)
