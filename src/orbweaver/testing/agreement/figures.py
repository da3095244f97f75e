"""Computes the figures that are compared, and how close counts as agreement."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from orbweaver.metrics.averages import mean
from orbweaver.metrics.degree import degrees
from orbweaver.metrics.delays import delay_metrics, delays
from orbweaver.metrics.deliveries import deliveries
from orbweaver.metrics.snapshot import snapshot
from orbweaver.metrics.traffic import sent
from orbweaver.records import Records
from orbweaver.testing.agreement.play import Play

SPREAD = 2.0
"""Standard deviations over the simulator's seeds within which two equal runs lie most of the
time."""


@dataclasses.dataclass(frozen=True)
class ComparedFigure:
    name: str
    digits: int
    share: float
    """Share of the simulated mean by which the deployed one may differ."""
    least: float
    """Difference that is allowed in any case, in the figure's own unit."""
    why: str
    widened: bool = True
    """Whether the band is at least `SPREAD` standard deviations wide."""


FIGURES = (
    ComparedFigure(
        "mean degree", 2, 0.05, 0.0,
        "which links are made is decided by the overlay alone; the host can only lose some",
    ),
    ComparedFigure(
        "delivered share", 4, 0.0, 0.005,
        "all is delivered in either host, or nearly; a share of it would hide what is lost",
    ),
    ComparedFigure(
        "mean hops", 2, 0.05, 0.0,
        "follows from the links, and from which of several ways is the fastest",
    ),
    ComparedFigure(
        "mean latency, ms", 1, 0.10, 0.0,
        "the host adds a millisecond or two to each hop of 56 ms in the mean: a socket, a "
        "signature, a timer that rounds up",
    ),
    ComparedFigure(
        "control messages per node and second", 2, 0.10, 0.0,
        "timers are late and not early, and the host looks for nodes out of sight now and then, "
        "which the simulator does not",
    ),
    ComparedFigure(
        "median latency, ms", 1, 0.20, 0.0,
        "Rappel's claim R11 (Sec. 6.2.2), for all overlays", widened=False,
    ),
    ComparedFigure(
        "median stretch", 2, 0.20, 0.0,
        "the same; the stretch is the latency over the delay from the publisher", widened=False,
    ),
)  # fmt: skip
"""The figures and their bands, chosen before the first run: 5 % where only the overlay decides, 10
% where the machine matters, or the simulator's own spread over seeds if it is larger. The medians
of claim R11 were added later, with the claim's band."""

Values = tuple[float, ...]
"""One number for each figure of `FIGURES`."""


def figures(records: Records, play: Play) -> Values:
    """Return the figures of a run of the play on either host: the overlay at the end, events from
    the first to the last, and messages between the warm-up and the end."""
    look = snapshot(records, play.end_ms)
    got = deliveries(records)
    # On either host, the ids of nodes are in the order of their numbers.
    number = {node: i for i, node in enumerate(sorted(set(records["nodes"]["node"])))}
    owed = delay_metrics(delays(records), lambda a, b: play.delay_ms[number[a]][number[b]])
    messages = sent(records, play.warmup_ms, play.end_ms)
    control = sum(count for purpose, count in messages.items() if purpose != "data")
    node_seconds = len(look.links) * (play.end_ms - play.warmup_ms) / 1000
    return (
        mean(degrees(look)),
        got.hit_ratio,
        got.hops_mean,
        got.latency_ms_mean,
        control / node_seconds if node_seconds else math.nan,
        owed["delay_ms_p50"],
        owed["stretch_p50"],
    )


@dataclasses.dataclass(frozen=True)
class Comparison:
    figure: ComparedFigure
    simulated: Sequence[float]
    deployed: Sequence[float]

    @property
    def difference(self) -> float:
        return mean(self.deployed) - mean(self.simulated)

    @property
    def spread(self) -> float:
        """Return the standard deviation over the simulator's seeds."""
        middle = mean(self.simulated)
        squares = math.fsum((value - middle) ** 2 for value in self.simulated)
        return math.sqrt(squares / max(1, len(self.simulated) - 1))

    @property
    def band(self) -> float:
        share = self.figure.share * abs(mean(self.simulated))
        spread = SPREAD * self.spread if self.figure.widened else 0.0
        return max(share, self.figure.least, spread)

    @property
    def agree(self) -> bool:
        return abs(self.difference) <= self.band


def compare(simulated: Sequence[Values], deployed: Sequence[Values]) -> list[Comparison]:
    pick: Callable[[Sequence[Values], int], list[float]] = lambda runs, i: [r[i] for r in runs]  # noqa: E731
    return [
        Comparison(figure, pick(simulated, i), pick(deployed, i))
        for i, figure in enumerate(FIGURES)
    ]
