"""Writes the page of `orbweaver characterise`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orbweaver import __version__
from orbweaver.pipeline.characterise.locality import Locality
from orbweaver.pipeline.characterise.popularity import Distribution
from orbweaver.pipeline.characterise.powerlaw import survival
from orbweaver.pipeline.characterise.tdi import CHECKED, Tdi
from orbweaver.pipeline.characterise.workload import Character
from orbweaver.report.charts import curves, scatter
from orbweaver.report.look import Picture
from orbweaver.report.page import Page

P_SHOWN = 0.001
"""The least p that is told as a number."""


def write_page(path: Path, source: str, command: str, found: Character) -> None:
    page = Page(
        f"Workload: {source}",
        f"{found.nodes:,} nodes, {found.topics:,} topics, {found.subscriptions:,} subscriptions.",
    )
    page.table(["what", "mean", "median", "max", "exponent", "from", "values", "KS"], [
        ["nodes of a topic", *_row(found.popularity)],
        ["topics of a node", *_row(found.sizes)],
    ])  # fmt: skip
    page.text(
        "In a power law with the exponent 2, numbers twice as large are a quarter as frequent. The "
        "exponent is the most likely one for the values from the column 'from' up, which is where "
        "the law comes nearest to the data: KS is the Kolmogorov-Smirnov distance (Clauset, "
        f"Shalizi & Newman). Nodes of a topic: {verdict(found.popularity)} Topics of a node: "
        f"{verdict(found.sizes)}"
    )
    if found.rejected or found.repeated:
        page.text(
            f"Left out: {found.rejected:,} rows without a node or a topic, and "
            f"{found.repeated:,} repeated rows."
        )
    page.plots(
        [
            (_ccdf(found.popularity, "nodes of a topic"), "Popularity of topics, and the fit"),
            (_ccdf(found.sizes, "topics of a node"), "Sizes of interests, and the fit"),
        ]
    )
    page.heading("Similarity of interests")
    page.text(describe_tdi(found.tdi))
    page.heading("Interest locality")
    if found.locality is None:
        page.text("No node has five topics or more, so there is nothing to cover with friends.")
    else:
        _locality(page, found.locality)
    page.heading("Again")
    page.command(command)
    page.write(path, f"orbweaver {__version__}")


def verdict(found: Distribution) -> str:
    """Return what the fit says as a sentence, for the page and the terminal."""
    fit = found.fit
    if fit is None:
        return "no power law: too few different values, or too steep a fall."
    if fit.p_value > 0.1:
        text = "a power law and an exponential fit about equally well"
    else:
        better = "a power law" if fit.beats_exponential > 0 else "an exponential"
        text = f"{better} fits better (p {_p(fit.p_value)})"
    share = 100 * fit.tail / found.count
    # A short enough tail always looks straight, so say how much of the data the tail has.
    return f"{text}, looking at the largest {share:.2g} %." if share < 50 else f"{text}."


def _p(value: float) -> str:
    return f"= {value:.2g}" if value >= P_SHOWN else f"below {P_SHOWN}"


def describe_tdi(tdi: Tdi) -> str:
    text = (
        f"tdi({tdi.d}) = {tdi.percent:.2f} %: the share of the smaller of two interests that a "
        f"node has in common, on average, with its {tdi.d} most similar nodes (SpiderCast 3.4)."
    )
    if tdi.method == "exact":
        return text
    text += f" Estimated from {tdi.nodes:,} nodes"
    if tdi.interval95 is not None:
        text += f", +- {tdi.interval95:.2f} (95 %)"
    if tdi.method == "minhash":
        checked = min(CHECKED, tdi.nodes)
        return (
            f"{text}; their neighbours are found by MinHash bands. What the bands "
            f"miss is measured on {checked:,} of the nodes and added."
        )
    return f"{text}; their neighbours are exact."


def _row(found: Distribution) -> list[str]:
    cells = [f"{found.mean:,.2f}", f"{found.median:,}", f"{found.max:,}"]
    if found.fit is None:
        return [*cells, "-", "-", "-", "-"]
    fit = found.fit
    exponent = f"{fit.alpha:.2f} ± {fit.sigma:.2f}"
    return [*cells, exponent, f"{fit.x_min:,}", f"{fit.tail:,}", f"{fit.ks:.3f}"]


def _ccdf(found: Distribution, label: str) -> Picture:
    points = {label: [(float(x), y) for x, y in found.ccdf]}
    lines = {}
    if found.fit is not None:
        fit = found.fit
        xs = np.geomspace(fit.x_min, found.ccdf[-1][0], 50)
        ys = fit.tail / found.count * survival(fit.alpha, fit.x_min, xs)
        # What is less likely than half a node or topic is beyond the picture.
        shown = [(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)
                 if y >= 0.5 / found.count]  # fmt: skip
        lines = {f"exponent {fit.alpha:.2f} from {fit.x_min:,}": shown}
    return scatter(points, label, "share with at least x", lines, log=True)


def _locality(page: Page, found: Locality) -> None:
    page.text(
        f"{found.users:,} nodes with {found.size_min} topics or more each choose, greedily, the "
        "friends that cover most of their topics (Rappel, Fig. 1: 6 friends covered everything "
        "for 95 % of LiveJournal's users)."
    )
    ks = range(1, len(found.coverage) + 1)
    page.table(
        ["friends", *map(str, ks)],
        [
            ["nodes fully covered", *_percent(found.fully_covered)],
            ["topics covered", *_percent(found.coverage)],
        ],
    )

    named = {"nodes fully covered": found.fully_covered, "topics covered": found.coverage}
    shares = {
        name: {float(k): (100 * share, 0.0) for k, share in zip(ks, of, strict=True)}
        for name, of in named.items()
    }
    sizes = [size for size, _ in found.points]
    ends = [(float(end), float(end)) for end in (min(sizes), max(sizes))]
    points = {"a node": [(float(size), float(covered)) for size, covered in found.points]}
    page.plots([
        (curves(shares, "friends", "%", y_max=100), "Coverage by the k best friends"),
        (
            scatter(points, "topics of a node", "covered by six friends",
                           {"all topics": ends}),
            "Topics of each node, and how many of them six friends cover",
        ),
    ])  # fmt: skip


def _percent(shares: Sequence[float]) -> list[str]:
    return [f"{100 * share:.1f} %" for share in shares]
