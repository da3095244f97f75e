"""The look of all pictures: Vega-Lite specifications, made with Altair.

A page shows them interactively, and `svg` renders one for a Markdown file. Altair is imported only
where a picture is made, since commands that print tables do without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from orbweaver.core.errors import LAB, UsageError

if TYPE_CHECKING:
    import altair as alt

Picture = dict[str, Any]
"""A Vega-Lite specification."""

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


def axis_for(values: Sequence[float]) -> dict[str, Any]:
    """Return a scale and an axis for values from 0 up: logarithmic if they are far apart."""
    import altair as alt

    high, low = max(values, default=0), min(values, default=0)
    if high <= WIDE * max(1, low):
        return axis_from_zero(values)
    # Zeros have a place on it, which they have on no truly logarithmic one.
    powers = [10.0**power for power in range(math.ceil(math.log10(high)) + 1)]
    ticks = [0, *(one for one in powers if one <= high)]
    return {
        "scale": alt.Scale(type="symlog", domain=[0, high], nice=False),
        "axis": alt.Axis(values=ticks, labelExpr=SHORT),
    }


def axis_from_zero(values: Sequence[float]) -> dict[str, Any]:
    import altair as alt

    # An axis on which all values are zero would have one label only.
    scale = alt.Scale(zero=True) if any(values) else alt.Scale(domain=[0, 1])
    return {"scale": scale, "axis": alt.Axis(tickCount=5)}


def axis_log(values: Sequence[float]) -> dict[str, Any]:
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
