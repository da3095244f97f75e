"""The pictures of all pages: Vega-Lite specifications, made with Altair in one look.

A page shows them interactively, and `svg` renders one for a Markdown file. Altair is imported only
where a picture is made, since commands that print tables do without it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from orbweaver.core.errors import LAB, UsageError
from orbweaver.report.labels import Spot, place_labels

if TYPE_CHECKING:
    import altair as alt

Picture = dict[str, Any]
"""A Vega-Lite specification."""
Points = Sequence[tuple[float, float]]

COLOURS = ("#2a6f97", "#e07a5f", "#5a9a7c", "#9d6b9e", "#c9a227", "#5c677d", "#d1495b")
BLUE, ORANGE = COLOURS[:2]
RED = COLOURS[6]
GREY, PALE, INK = "#8b95a1", "#d5dae0", "#22303c"
WIDTH, HEIGHT = 430, 240
"""Pixels of the area of a picture inside its axes."""
SMALL_WIDTH, ROW = 116, 17
"""Pixels of a small picture in a row of them, and of each of its lines."""
PER_ROW = 7
"""Most small pictures beside each other."""
FONT = 11
"""Pixels of the height of letters."""
WIDE = 30
"""How many times the least value, or 1, the largest has to be for a logarithmic axis."""
LINES_MAX = 4
"""Most histograms in one picture; more get a picture each."""

SHORT = (
    "datum.value >= 1e4 ? format(datum.value, '~s') : datum.value >= 0.001 || datum.value == 0 ? "
    "format(datum.value, ',.4~f') : format(datum.value, '.0e')"
)
"""An expression of Vega that labels an axis: 0.01, 500, 20k, 1M."""

CONFIG: dict[str, Any] = {
    "background": "white",
    "font": "system-ui, 'DejaVu Sans', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": GREY, "tickColor": GREY, "gridColor": "#eef1f4", "labelColor": INK,
        "titleColor": INK, "titleFontWeight": "normal", "labelFontSize": FONT,
        "titleFontSize": FONT, "labelLimit": 220,
    },
    "legend": {
        "labelColor": INK, "labelFontSize": FONT, "title": None, "labelLimit": 260,
        "orient": "bottom", "columns": 3, "symbolType": "circle",
    },
    "title": {
        "anchor": "start", "color": INK, "fontSize": FONT, "fontWeight": "normal", "offset": 6,
    },
    "header": {
        "title": None, "labelColor": INK, "labelFontSize": FONT, "labelAnchor": "start",
        "labelLimit": SMALL_WIDTH,
    },
    "range": {"category": list(COLOURS)},
}  # fmt: skip


def can_draw() -> bool:
    """Return whether the packages that make pictures are installed."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def check_can_draw() -> None:
    if not can_draw():
        raise UsageError(f"plots need {LAB}")


@cache
def runtime() -> str:
    """Return the JavaScript that draws pictures in a browser: Vega, Vega-Lite and Vega-Embed."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def svg(picture: Picture) -> str:
    """Render a picture, for files that are not HTML."""
    import vl_convert

    return vl_convert.vegalite_to_svg(picture)


def made(chart: alt.TopLevelMixin) -> Picture:
    """Return the specification of a chart, in the look of all pictures."""
    # By way of JSON, which knows no nan and makes an independent copy.
    plain: Picture = json.loads(json.dumps(chart.to_dict(), allow_nan=False))
    return plain | {"config": CONFIG}


def data(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    import altair as alt

    return alt.InlineData(values=[dict(row) for row in rows])


def _scale(values: Sequence[float]) -> dict[str, Any]:
    """Return a scale and an axis for values from 0 up: logarithmic if they are far apart."""
    import altair as alt

    high, low = max(values, default=0), min(values, default=0)
    if high <= WIDE * max(1, low):
        return _from_zero(values)
    # Zeros have a place on it, which they have on no truly logarithmic one.
    powers = [10.0**power for power in range(math.ceil(math.log10(high)) + 1)]
    ticks = [0, *(one for one in powers if one <= high)]
    return {
        "scale": alt.Scale(type="symlog", domain=[0, high], nice=False),
        "axis": alt.Axis(values=ticks, labelExpr=SHORT),
    }


def _from_zero(values: Sequence[float]) -> dict[str, Any]:
    import altair as alt

    # An axis on which all values are zero would have one label only.
    scale = alt.Scale(zero=True) if any(values) else alt.Scale(domain=[0, 1])
    return {"scale": scale, "axis": alt.Axis(tickCount=5)}


def _log(values: Sequence[float]) -> dict[str, Any]:
    """Return a logarithmic scale with labels at powers of ten, or also between them."""
    import altair as alt

    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), range(1, 10)):
        ticks = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) > 2:
            break
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=ticks, labelExpr=SHORT, labelOverlap=True),
    }


# -- what overlays cost


@dataclasses.dataclass(frozen=True)
class Disc:
    """An overlay in the picture of the trade-off."""

    name: str
    x: float
    y: float
    size: float
    colour: str = BLUE
    after: tuple[float, float, float] | None = None
    """The same numbers with churn."""


def trade_off(discs: Sequence[Disc], x_label: str, y_label: str, size_label: str) -> Picture | None:
    """Draw a disc for each overlay: two numbers give its place, a third its area. A line leads to
    its place with churn, a ring."""
    if not discs:
        return None
    import altair as alt

    rows: list[dict[str, Any]] = []
    for disc in discs:
        spots = [("without churn", disc.x, disc.y, disc.size)]
        if disc.after is not None:
            spots.append(("with churn", *disc.after))
        rows += [
            {"name": disc.name, "when": when, "x": x, "y": y, "size": size, "colour": disc.colour}
            for when, x, y, size in spots
        ]
    width, height = 2 * WIDTH, round(1.6 * HEIGHT)
    x_scale, y_scale = (_linear([row[axis] for row in rows]) for axis in "xy")
    rows.sort(key=lambda row: -row["size"])  # small discs on top of large ones
    most = rows[0]["size"] or 1
    for row in rows:
        row["area"] = 60 + 700 * row["size"] / most
    spots_px = [
        Spot(
            row["name"],
            width * _share(row["x"], x_scale),
            height * (1 - _share(row["y"], y_scale)),
            math.sqrt(row["area"] / math.pi),
        )
        for row in rows
    ]
    calm = [i for i, row in enumerate(rows) if row["when"] == "without churn"]
    texts = place_labels([spots_px[i] for i in calm], spots_px, FONT, width, height)
    words = [
        {"name": rows[i]["name"], "px": at[0], "py": at[1]}
        for i, at in zip(calm, texts, strict=True)
        if at is not None
    ]
    x = alt.X("x:Q", title=x_label, scale=alt.Scale(domain=x_scale, nice=False))
    y = alt.Y("y:Q", title=y_label, scale=alt.Scale(domain=y_scale, nice=False))
    tooltip = [
        alt.Tooltip("name:N", title="overlay"),
        alt.Tooltip("when:N", title="nodes"),
        alt.Tooltip("x:Q", title=x_label, format=",.4~r"),
        alt.Tooltip("y:Q", title=y_label, format=",.4~r"),
        alt.Tooltip("size:Q", title=size_label, format=",.4~r"),
    ]
    area = alt.Size("area:Q", scale=None, legend=None)
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(data(rows))
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        x=x, y=y, detail="name:N", color=colour
    )
    discs_layer = (
        base.transform_filter("datum.when == 'without churn'")
        .mark_circle(opacity=0.65)
        .encode(x=x, y=y, size=area, color=colour, tooltip=tooltip)
    )
    rings = (
        base.transform_filter("datum.when == 'with churn'")
        .mark_point(filled=False, fillOpacity=0, strokeWidth=1.5)
        .encode(x=x, y=y, size=area, color=colour, tooltip=tooltip)
    )
    labels = (
        alt.Chart(data(words))
        .mark_text(align="left", baseline="middle", fontSize=FONT, color=INK)
        .encode(x=alt.X("px:Q", scale=None), y=alt.Y("py:Q", scale=None), text="name:N")
    )
    chart = alt.layer(lines, discs_layer, rings, labels)
    return made(chart.properties(width=width, height=height))


def _linear(values: Sequence[float]) -> list[float]:
    """Return the ends of an axis from 0 on, with room for discs."""
    high = max(values) or 1
    return [-0.04 * high, 1.12 * high]


def _share(value: float, scale: Sequence[float]) -> float:
    return (value - scale[0]) / (scale[1] - scale[0])


@dataclasses.dataclass(frozen=True)
class Panel:
    """One number of several overlays."""

    title: str
    values: Mapping[str, float]
    halves: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Half the width of the 95 % interval."""
    after: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The same number with churn."""


def panels(
    measured: Sequence[Panel], names: Sequence[str], colours: Mapping[str, str] | None = None
) -> Picture | None:
    """Draw a small picture for each number, all names below each other on one scale. `colours`
    are those of some names."""
    import altair as alt

    kept = [one for one in measured if one.values]
    if not kept:
        return None

    def panel(one: Panel, first: bool) -> Any:
        rows: list[dict[str, Any]] = [
            {
                "name": name, "value": value, "low": max(0.0, value - one.halves.get(name, 0)),
                "high": value + one.halves.get(name, 0), "after": one.after.get(name),
                "colour": (colours or {}).get(name, BLUE),
            }
            for name, value in one.values.items()
        ]  # fmt: skip
        numbers = [*one.values.values(), *one.after.values()]
        numbers += [row["high"] for row in rows]
        scaled = _scale(numbers)
        scaled["axis"].tickCount = 3
        axis = alt.Axis(title=None, grid=True, ticks=False, domain=False, labels=first, offset=8)
        y = alt.Y("name:N", scale=alt.Scale(domain=list(names)), axis=axis)
        x = alt.X("value:Q", title=None, **scaled)
        colour = alt.Color("colour:N", scale=None)
        tooltip = [
            alt.Tooltip("name:N", title="overlay"),
            alt.Tooltip("value:Q", title=one.title, format=",.4~r"),
        ]
        if one.halves:
            tooltip += [alt.Tooltip("low:Q", format=",.4~r"), alt.Tooltip("high:Q", format=",.4~r")]
        if one.after:
            tooltip.append(alt.Tooltip("after:Q", title="with churn", format=",.4~r"))
        base = alt.Chart(data(rows)).encode(y=y, color=colour, tooltip=tooltip)
        interval = base.mark_rule(strokeWidth=2, opacity=0.5, clip=True).encode(
            x=alt.X("low:Q", title=None, **scaled), x2="high:Q"
        )
        layers = [interval, base.mark_circle(size=55, opacity=1).encode(x=x)]
        if one.after:
            after = alt.X("after:Q", title=None, **scaled)
            layers += [
                base.mark_rule(opacity=0.35).encode(x=x, x2="after:Q"),
                base.mark_point(filled=False, size=55, strokeWidth=1.5).encode(x=after),
            ]
        return alt.layer(*layers).properties(
            width=SMALL_WIDTH, height=ROW * len(names), title=one.title
        )

    lines = []
    width = math.ceil(len(kept) / math.ceil(len(kept) / PER_ROW))
    for at in range(0, len(kept), width):
        row = [panel(one, i == 0) for i, one in enumerate(kept[at : at + width])]
        lines.append(alt.hconcat(*row, spacing=16))
    return made(alt.vconcat(*lines, spacing=18))


# -- curves and distributions

Curve = Mapping[float, tuple[float, float]]
"""x -> a mean, and half the width of its 95 % interval."""


def curves(
    ours: Mapping[str, Curve],
    x_label: str,
    y_label: str,
    paper: Mapping[str, Mapping[float, float]] | None = None,
    y_max: float | None = None,
    marks: Mapping[str, float] | None = None,
) -> Picture:
    """Draw curves with their intervals, the numbers of a paper as rings, and upright lines at some
    values of x."""
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
    scaled = _scale([row["y"] for row in rows] + heights)
    if y_max is not None:
        scaled = {"scale": alt.Scale(domain=[0, y_max]), "axis": alt.Axis(tickCount=5)}
    colour = alt.Color("name:N", sort=None, scale=alt.Scale(domain=[*ours, *(marks or {})]))
    xs = sorted({row["x"] for row in rows + told})
    placed = _from_zero(xs) if len(xs) == 1 else {"scale": alt.Scale(zero=False)}
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
        return curves(shares, x_label, "% of nodes")
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
    axes = [(_log if log else _from_zero)([pair[i] for pair in pairs]) for i in (0, 1)]
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
