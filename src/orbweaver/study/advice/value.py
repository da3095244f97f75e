"""The value of advice: everything that is said to a planner, ready to be printed or drawn."""

from __future__ import annotations

from typing import Literal

import msgspec

from orbweaver.study.advice.question import Question

Place = Literal["pick", "tie", "suitable", "lossy", "out"]
"""What became of an overlay: it is the pick, it ties with the pick, it is suitable and behind the
pick, it loses some events but not many, or it is not suitable."""


class Estimate(msgspec.Struct, frozen=True):
    """A number that was measured once for each seed."""

    mean: float
    half: float | None
    """Half the width of the 95 % confidence interval around the mean; None for a single run."""
    values: tuple[float, ...]
    """The number of each run, in the order of the seeds."""


class Rating(msgspec.Struct, frozen=True):
    """An overlay, how it did, and what became of it."""

    overlay: str
    place: Place
    reasons: tuple[str, ...]
    """Why it is out, or what it loses: empty for the pick and for the others that are suitable."""
    words: str
    """The overlay in a sentence, against the pick."""
    nodes: int
    """The size of the sample that the measures are of. An overlay that is out early is not run
    on the larger samples."""
    measures: dict[str, Estimate]
    """By the name of the measure (`measures.MEASURES`). A measure without any value is left
    out."""
    degrees: dict[int, int]
    """Links of a node -> number of nodes, summed over the runs."""


class Property(msgspec.Struct, frozen=True):
    """A property of the data that may decide which overlay suits it."""

    name: str
    """locality, skew or largest."""
    title: str
    value: float
    """A share, from 0 to 1."""
    words: str
    """The value in words."""
    effect: Estimate | None
    """How much of the pick's lead over the runner-up goes when the property is taken out of the
    data, as a logarithm: log 2 means that the lead halves. None if it was not measured."""
    change: str
    """The lead with the property and without it, in words; empty if it was not measured."""
    decides: bool


class Design(msgspec.Struct, frozen=True):
    """Links planned in one place from all subscriptions of the sample."""

    name: str
    links_mean: float
    links_max: float
    curve: tuple[tuple[float, float], ...]
    """Pairs (links of a node in the mean, share of the topics that are connected) while the
    links are added in the order in which the algorithm chooses them."""


class Possible(msgspec.Struct, frozen=True):
    """How good an overlay could be: means over the samples on which the pick was measured."""

    links_mean_bound: float
    """No overlay that connects all topics has fewer links of a node in the mean."""
    links_max_bound: float
    """In every overlay that connects all topics, some node has as many links."""
    designs: tuple[Design, ...]
    ratio: float | None
    """Links of the pick over those of the design with the fewest, or None without a pick."""


class Forecast(msgspec.Struct, frozen=True):
    """What to expect of an overlay at another size."""

    overlay: str
    measure: str
    nodes: int
    expected: float
    low: float
    high: float
    """The 95 % prediction intervals of the laws together: they say what chance and the choice of
    the law make of it, not what the world might do that the runs did not."""
    law: str
    """The law that fits best, with its numbers."""
    points: tuple[tuple[int, float], ...]
    """(nodes, value) of each run that the laws were fitted to."""


class Drawing(msgspec.Struct, frozen=True):
    """One of the runs of the pick, to be drawn: its nodes and links at the end of the warm-up."""

    overlay: str
    labels: tuple[str, ...]
    """The names of the nodes in the data."""
    topics: tuple[str, ...]
    """The topics, the most popular first."""
    interests: tuple[tuple[int, ...], ...]
    """The topics of each node, as places in `topics`."""
    links: tuple[tuple[int, int], ...]
    """Pairs of places in `labels`, the smaller first."""


class Data(msgspec.Struct, frozen=True):
    name: str
    nodes: int
    topics: int
    subscriptions: int
    wants: float
    """How many topics a node wants in the mean."""
    wants_sampled: float
    """The same of the samples on which the pick was measured."""
    sampled: str
    """How the samples were taken, in words; empty if the data was taken whole."""


class Ran(msgspec.Struct, frozen=True):
    """What the advice rests on."""

    sizes: tuple[int, ...]
    """Nodes of the samples that were run, from small to large."""
    seeds: tuple[int, ...]
    runs: int
    run_s: float
    """Seconds that the runs took, added up, those of earlier calls included."""
    code: str
    """The version of the code that made the runs."""


class Advice(msgspec.Struct, frozen=True):
    question: Question
    data: Data
    pick: str | None
    """The overlay to take, or None if no overlay is suitable."""
    ties: tuple[str, ...]
    """The overlays between which and the pick the runs do not decide."""
    headline: str
    """The verdict in one sentence."""
    sentences: tuple[str, ...]
    """The rest of the verdict: the other overlays, the reason, how good it could be."""
    doubts: tuple[str, ...]
    """Why the verdict is not sure; empty if it is."""
    ratings: tuple[Rating, ...]
    """All overlays, the best first, those that are out at the end."""
    properties: tuple[Property, ...]
    possible: Possible | None
    """None where the packages for designs are not installed."""
    forecasts: tuple[Forecast, ...]
    drawing: Drawing | None
    ran: Ran
    repeat: str
    """The command that gives the same advice again."""

    @property
    def sure(self) -> bool:
        return not self.doubts
