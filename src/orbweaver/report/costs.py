"""Pictures of several overlays beside each other: what each costs, and every number of each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from orbweaver.report.labels import Spot, place_labels
from orbweaver.report.look import (
    BLUE,
    FONT,
    HEIGHT,
    INK,
    PER_ROW,
    ROW,
    SMALL_WIDTH,
    WIDTH,
    Picture,
    axis_for,
    data,
    made,
)


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
    # Few enough ticks that none is in the room below zero.
    axis = alt.Axis(tickCount=10)
    x = alt.X("x:Q", title=x_label, scale=alt.Scale(domain=x_scale, nice=False), axis=axis)
    y = alt.Y("y:Q", title=y_label, scale=alt.Scale(domain=y_scale, nice=False), axis=axis)
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
        scaled = axis_for(numbers)
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
