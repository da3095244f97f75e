"""Draws plots as SVG text. Matplotlib is imported only here, when a page is made."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from orbweaver.core.errors import LAB, UsageError
from orbweaver.metrics.snapshot import Snapshot

COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#9d6b9e", "#c9a227", "#5c677d", "#d1495b")
GREY = "#b8bec7"
INK = "#22303c"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(paint: Callable[[Any], None], width: float = 5.2, height: float = 3.3) -> str:
    """Run `paint` on fresh axes and return the picture."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(f"plots need {LAB}") from None
    style: Any = {
        "svg.hashsalt": "orbweaver",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.edgecolor": GREY,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
        "legend.frameon": False,
        "text.parse_math": False,  # names may have dollar signs
    }
    with rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        paint(axes)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                _label_log(axis)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _label_log(axis: Any) -> None:
    """Label a log axis with plain numbers: matplotlib's own labels are maths, which would be
    shown as its source text. Powers of ten are labelled; where these are fewer than two, their
    multiples by 2 and 5 as well; and round numbers on an axis that is shorter than a power."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    powers = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1
    if high < 10 * low:
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0,) if powers > 1 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda x, _: plain_number(x)))
    axis.set_minor_formatter(NullFormatter())


def plain_number(x: float) -> str:
    """Write a label of a log axis: 0.01, 500, 20,000, and 10⁶ or 2·10⁶ beyond."""
    if 0.001 <= x < 999_999:
        return f"{x:,.10g}"
    digits, _, power = f"{x:.0e}".partition("e")
    raised = str(int(power)).translate(SUPERSCRIPTS)
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


def bars(
    values: Mapping[str, float],
    label: str,
    spread: Mapping[str, float] | None = None,
    marks: Mapping[str, float] | None = None,
    mark_label: str = "",
) -> str:
    """Draw a bar for each name, with an error bar and a mark above it if given. Return an empty
    text if there are none."""
    if not values:
        return ""

    def paint(axes: Any) -> None:
        names = list(values)
        heights = [values[name] for name in names]
        errors = [spread[name] for name in names] if spread else None
        colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
        axes.bar(names, heights, color=colours, yerr=errors, capsize=3, ecolor=INK, width=0.62)
        if marks:
            axes.plot(names, [marks[n] for n in names], "_", color=INK, ms=22, label=mark_label)
            axes.legend()
        axes.set_ylabel(label)
        if len(names) > 5:
            # The end of a name stands below its bar, not its middle.
            for tick_label in axes.get_xticklabels():
                tick_label.set(rotation=25, ha="right", rotation_mode="anchor")
        if max(heights) > 20 * max(1, min(heights)):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)

    return draw(paint)


def histograms(counts: Mapping[str, Mapping[int, int]], label: str) -> str:
    """Draw the share of nodes by value, one line for each name."""

    def paint(axes: Any) -> None:
        for i, (name, by_value) in enumerate(counts.items()):
            if not by_value:
                continue
            total = sum(by_value.values())
            xs = range(min(by_value), max(by_value) + 1)
            ys = [100 * by_value.get(x, 0) / total for x in xs]
            axes.plot(xs, ys, color=COLOURS[i % len(COLOURS)], label=name, lw=1.6)
            axes.fill_between(xs, ys, color=COLOURS[i % len(COLOURS)], alpha=0.12)
        axes.set_xlabel(label)
        axes.set_ylabel("% of nodes")
        axes.set_ylim(bottom=0)
        axes.legend()

    return draw(paint)


def against_paper(
    ours: Mapping[str, Mapping[float, tuple[float, float]]],
    paper: Mapping[str, Mapping[float, float]],
    label: str,
    x_label: str = "nodes",
) -> str:
    """Draw our curves as lines with their intervals, and the paper's numbers as open circles."""

    def paint(axes: Any) -> None:
        for i, (name, curve) in enumerate(ours.items()):
            colour = COLOURS[i % len(COLOURS)]
            middles = [middle for middle, _ in curve.values()]
            halves = [half for _, half in curve.values()]
            axes.errorbar(
                list(curve), middles, yerr=halves, fmt="-o", ms=3.5, capsize=2, color=colour,
                label=name,
            )  # fmt: skip
            points = paper.get(name, {})
            axes.plot(list(points), list(points.values()), "o", ms=8, mfc="none", color=colour)
        if any(paper.values()):
            axes.plot([], [], "o", ms=8, mfc="none", color=INK, label="paper")
        axes.set_xlabel(x_label)
        axes.set_ylabel(label)
        highest = max((y for curve in ours.values() for y, _ in curve.values()), default=0)
        lowest = min((y for curve in ours.values() for y, _ in curve.values()), default=0)
        if highest > 30 * max(1, lowest):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return draw(paint)


def scatter(points: Mapping[str, Sequence[tuple[float, float]]], x_label: str, label: str) -> str:
    """Draw a point for each pair, in one colour for each name."""

    def paint(axes: Any) -> None:
        for i, (name, pairs) in enumerate(points.items()):
            xs, ys = zip(*pairs, strict=True) if pairs else ((), ())
            colour = COLOURS[i % len(COLOURS)]
            axes.plot(xs, ys, "o", ms=3, alpha=0.4, color=colour, label=name)
        axes.set_xlabel(x_label)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return draw(paint)


def trade_off(
    points: Mapping[str, tuple[float, float, float]],
    x_label: str,
    label: str,
    size_label: str,
    moved: Mapping[str, tuple[float, float, float]] | None = None,
) -> str:
    """Draw a disc for each name: two numbers give its place, a third its size. If `moved` has the
    name, a line leads to its second place, marked by a ring."""

    def paint(axes: Any) -> None:
        largest = max((size for _, _, size in points.values()), default=1) or 1
        for i, (name, (x, y, size)) in enumerate(points.items()):
            colour = COLOURS[i % len(COLOURS)]
            axes.scatter([x], [y], s=40 + 500 * size / largest, color=colour, alpha=0.7, lw=0)
            text = f"{name}: {size:.1f}"
            if moved and name in moved:
                to_x, to_y, to_size = moved[name]
                axes.plot([x, to_x], [y, to_y], color=colour, lw=0.8, alpha=0.7)
                ring = 40 + 500 * to_size / largest
                axes.scatter([to_x], [to_y], s=ring, facecolors="none", edgecolors=colour)
                text += f", {to_size:.1f}"
            axes.plot([], [], "o", color=colour, label=text)
        axes.margins(0.12, 0.15)
        axes.set_xlabel(x_label)
        axes.set_ylabel(label)
        axes.legend(title=size_label, loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw(paint, 7.0, 3.6)


def web(overlay: Snapshot, topic: str) -> str:
    """Draw the overlay as a web: nodes on a circle, links as threads, one topic in colour."""

    def paint(axes: Any) -> None:
        nodes = sorted(overlay.links)
        angle = {n: 2 * math.pi * i / len(nodes) for i, n in enumerate(nodes)}
        place = {n: (math.cos(a), math.sin(a)) for n, a in angle.items()}
        on_topic = {n for n in nodes if topic in overlay.interests[n]}
        for a, b in overlay.edges():
            inside = a in on_topic and b in on_topic
            axes.plot(
                *_thread(place[a], place[b]),
                color=COLOURS[1] if inside else GREY,
                lw=1.1 if inside else 0.35,
                alpha=0.9 if inside else 0.55,
                zorder=2 if inside else 1,
            )
        for n, (x, y) in place.items():
            here = n in on_topic
            size = 5.5 if here else 3.0
            axes.plot(x, y, "o", ms=size, color=COLOURS[1] if here else COLOURS[0], zorder=3)
        axes.set_aspect("equal")
        axes.axis("off")

    return draw(paint, 4.6, 4.8)


def _thread(
    a: tuple[float, float], b: tuple[float, float]
) -> tuple[Sequence[float], Sequence[float]]:
    """Return a curve from a to b that bends towards the middle of the circle."""
    ts = [i / 12 for i in range(13)]
    xs = [(1 - t) ** 2 * a[0] + t**2 * b[0] + 0.7 * t * (1 - t) * (a[0] + b[0]) for t in ts]
    ys = [(1 - t) ** 2 * a[1] + t**2 * b[1] + 0.7 * t * (1 - t) * (a[1] + b[1]) for t in ts]
    return xs, ys
