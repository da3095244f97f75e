"""Pictures of numbers: curves, histograms and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orbweaver.report.look import (
    BLUE,
    HEIGHT,
    PER_ROW,
    SHORT,
    SMALL_WIDTH,
    WIDTH,
    Picture,
    axis_for,
    axis_from_zero,
    axis_log,
    data,
    made,
)

Points = Sequence[tuple[float, float]]
Curve = Mapping[float, tuple[float, float]]
"""x -> a mean, and half the width of its 95 % interval."""
LINES_MAX = 4
"""Most histograms in one picture; more get a picture each."""


def curves(
    ours: Mapping[str, Curve],
    x_label: str,
    y_label: str,
    paper: Mapping[str, Mapping[float, float]] | None = None,
    y_max: float | None = None,
    marks: Mapping[str, float] | None = None,
) -> Picture:
    """Draw curves with their intervals, the numbers of a paper as rings, and upright lines at some
    values of x. With `y_max` the axis goes from 0 to there, and is not logarithmic."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {"name": name, "x": x, "y": y, "low": y - half, "high": y + half, "of": "ours"}
        for name, curve in ours.items()
        for x, (y, half) in curve.items()
    ]
    told: list[dict[str, Any]] = [
        {"name": name, "x": x, "y": y, "of": "the paper"}
        for name, points in (paper or {}).items()
        for x, y in points.items()
    ]
    heights = [row["high"] for row in rows] + [row["y"] for row in told]
    scaled = axis_for([row["y"] for row in rows] + heights)
    if y_max is not None:
        scaled = {"scale": alt.Scale(domain=[0, y_max]), "axis": alt.Axis(tickCount=5)}
    colour = alt.Color("name:N", sort=None, scale=alt.Scale(domain=[*ours, *(marks or {})]))
    xs = sorted({row["x"] for row in rows + told})
    placed = axis_from_zero(xs) if len(xs) == 1 else {"scale": alt.Scale(zero=False)}
    x = alt.X("x:Q", title=x_label, **({"axis": alt.Axis(tickCount=6)} | placed))
    y = alt.Y("y:Q", title=y_label, **scaled)
    tooltip = [
        alt.Tooltip("name:N", title="series"),
        alt.Tooltip("of:N", title="number of"),
        alt.Tooltip("x:Q", title=x_label, format=",.4~r"),
        alt.Tooltip("y:Q", title=y_label, format=",.4~r"),
    ]
    base = alt.Chart(data(rows)).encode(x=x, color=colour, tooltip=tooltip)
    layers: list[Any] = [
        base.mark_line(strokeWidth=1.8).encode(y=y),
        base.mark_circle(size=26, opacity=1).encode(y=y),
    ]
    if any(half for curve in ours.values() for _, half in curve.values()):
        low = alt.Y("low:Q", title=y_label, **scaled)
        layers.append(base.mark_rule(opacity=0.6, clip=True).encode(y=low, y2="high:Q"))
    if told:
        layers.append(
            alt.Chart(data(told))
            .mark_point(filled=False, size=90, strokeWidth=1.4)
            .encode(x=x, y=y, color=colour, tooltip=tooltip)
        )
    if marks:
        lines = [{"name": name, "x": at} for name, at in marks.items()]
        upright = alt.Chart(data(lines)).mark_rule(strokeDash=[4, 3], strokeWidth=1.6)
        layers.append(upright.encode(x=x, color=colour, tooltip=["name:N", tooltip[2]]))
    return made(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))


def histograms(counts: Mapping[str, Mapping[int, int]], x_label: str) -> Picture | None:
    """Draw the share of nodes by value: curves in one picture, or a picture for each of many."""
    import altair as alt

    shares: dict[str, Curve] = {}
    for name, by_value in counts.items():
        total = sum(by_value.values())
        if total:
            values = range(min(by_value), max(by_value) + 1)
            shares[name] = {x: (100 * by_value.get(x, 0) / total, 0.0) for x in values}
    if not shares:
        return None
    if len(shares) <= LINES_MAX:
        most = max(share for curve in shares.values() for share, _ in curve.values())
        return curves(shares, x_label, "% of nodes", y_max=most)
    rows: list[dict[str, Any]] = [
        {"name": name, "x": x, "y": y}
        for name, curve in shares.items()
        for x, (y, _) in curve.items()
    ]
    top = max(row["x"] for row in rows)
    scale = alt.Scale(type="symlog", domain=[0, top], nice=False)
    ticks = [0, *(10**power for power in range(len(str(int(top)))))]
    chart = (
        alt.Chart(data(rows))
        .mark_area(interpolate="step", color=BLUE, opacity=0.75)
        .encode(
            x=alt.X(
                "x:Q", title=x_label, scale=scale, axis=alt.Axis(values=ticks, labelExpr=SHORT)
            ),
            y=alt.Y("y:Q", title="% of nodes", axis=alt.Axis(tickCount=2)),
            tooltip=[
                alt.Tooltip("name:N", title="overlay"),
                alt.Tooltip("x:Q", title=x_label),
                alt.Tooltip("y:Q", title="% of nodes", format=".3~r"),
            ],
        )
        .properties(width=SMALL_WIDTH, height=60)
        .facet(
            facet=alt.Facet("name:N", sort=list(shares), title=None), columns=PER_ROW, spacing=12
        )
    )
    return made(chart)


def scatter(
    points: Mapping[str, Points],
    x_label: str,
    y_label: str,
    lines: Mapping[str, Points] | None = None,
    log: bool = False,
) -> Picture:
    """Draw a point for each pair, and lines through them. `log` makes both axes logarithmic."""
    import altair as alt

    def rows(of: Mapping[str, Points]) -> list[dict[str, Any]]:
        return [{"name": name, "x": x, "y": y} for name, pairs in of.items() for x, y in pairs]

    names = [*points, *(lines or {})]
    colour = alt.Color(
        "name:N", sort=None, scale=alt.Scale(domain=names), legend=alt.Legend()
        if len(names) > 1 else None,
    )  # fmt: skip
    pairs = [pair for of in (points, lines or {}) for some in of.values() for pair in some]
    axes = [(axis_log if log else axis_from_zero)([pair[i] for pair in pairs]) for i in (0, 1)]
    x, y = alt.X("x:Q", title=x_label, **axes[0]), alt.Y("y:Q", title=y_label, **axes[1])
    tooltip = ["name:N", alt.Tooltip("x:Q", title=x_label), alt.Tooltip("y:Q", title=y_label)]
    layers: list[Any] = [
        alt.Chart(data(rows(points)))
        .mark_circle(size=22, opacity=0.5)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    ]
    if lines:
        layers.append(alt.Chart(data(rows(lines))).mark_line(strokeWidth=1.4).encode(
            x=x, y=y, color=colour
        ))  # fmt: skip
    return made(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))
