"""What is run for an answer: which sizes, which overlays, under which circumstances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.overlays.static import Static
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.samples import Samples
from orbweaver.study.run import Job
from orbweaver.workload.scenario import (
    ChurnSpec,
    LatencySpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)
from orbweaver.workload.tables import table_in

FIRST_NODES = 80
"""Nodes of the first samples, for the quick answer."""
LAST_NODES = 500
"""Most nodes of a sample."""
SEEDS = (0, 1, 2)
MORE_SEEDS = (3, 4, 5)
"""Further seeds, on the largest samples, for what the first ones leave open."""
SIZES_MIN = 3
"""How many sizes it takes to say what to expect of another size."""
SCALE_NODES_MIN = 60
"""Fewest nodes of data from which larger sizes can be told."""

WARMUP_MS = 60_000
"""Time in ms for overlays to form. Rappel, the slowest, needs most of it."""
PUBLISH_MS = 20_000
"""Time in ms over which publications are spread."""
PUBLISH_CHURN_MS = 60_000
"""The same where nodes come and go, so that there are some changes meanwhile."""
YOUNG_MS = 10_000
"""Time in ms after a join during which a node is not yet owed events (Vitis IV-F)."""
ROUNDS = 3
"""Events on each topic. Traffic is measured in the last round, when trees have formed."""

CANDIDATES = tuple(name for name in OVERLAYS if name != Static.name)
"""All overlays but the one that keeps links made elsewhere."""


class Circumstances(msgspec.Struct, frozen=True):
    """How nodes come and go, and how far they are from each other."""

    churn: ChurnSpec = ChurnSpec()
    latency: LatencySpec | None = None
    """None places the nodes in a wide area network."""


def ladder(nodes: int, question: Question) -> tuple[int, ...]:
    """Return the sizes of the samples for data with this many nodes, each twice the one before.
    Small data is taken whole, unless smaller sizes are to tell of other sizes."""
    last = min(nodes, LAST_NODES)
    sizes = []
    size = FIRST_NODES
    while 3 * size <= 2 * last:
        sizes.append(size)
        size *= 2
    sizes.append(last)
    if question.scale is not None and len(sizes) < SIZES_MIN:
        sizes = [last // 4, last // 2, last]
    return tuple(sizes)


def jobs(
    overlays: Sequence[str],
    size: int,
    seeds: Sequence[int],
    question: Question,
    circumstances: Circumstances,
    samples: Samples,
    altered: str = "",
) -> list[Job]:
    """Return the runs of some overlays on samples of a size, one seed after another, so that the
    time of the others can be told after the first."""
    return [
        (scenario(overlay, size, seed, question, circumstances, samples, altered), seed)
        for seed in seeds
        for overlay in overlays
    ]


def scenario(
    overlay: str,
    size: int,
    seed: int,
    question: Question,
    circumstances: Circumstances,
    samples: Samples,
    altered: str = "",
) -> Scenario:
    table = samples.table(size, seed, altered)
    latency = circumstances.latency
    if latency is None:
        places = samples.places(size, seed, altered)
        latency = LatencySpec(model="coordinates", file=str(places))
    churn = circumstances.churn
    if churn.file:
        named = samples.churn(table_in(Path(churn.file), "churn"), size, seed, altered)
        if named is None:
            churn = replace(churn, nodes="in order")
        else:
            churn = replace(churn, file=str(named))
    topics = len(samples.draw(size, seed, altered).topics)
    lasting_ms = PUBLISH_MS if churn.model == "none" else PUBLISH_CHURN_MS
    every_ms = max(1, lasting_ms // (ROUNDS * topics))
    return Scenario(
        overlay=overlay,
        name=f"{overlay}, {size} nodes{', ' if altered else ''}{altered}",
        workload=WorkloadSpec(file=str(table)),
        latency=latency,
        churn=churn,
        publish=PublishSpec(
            per_topic=ROUNDS,
            every_ms=every_ms,
            payload_bytes=question.payload_bytes,
        ),
        run=RunSpec(
            warmup_ms=WARMUP_MS,
            snapshots_ms=(WARMUP_MS + (ROUNDS - 1) * topics * every_ms,),
            young_ms=0 if churn.model == "none" else YOUNG_MS,
        ),
    )
