"""Pictures of nodes and links: an overlay, and the way of an event through it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from orbweaver.metrics.missed import Stop
from orbweaver.metrics.trace import ARRIVED, EventTrace
from orbweaver.report.look import (
    BLUE,
    FONT,
    GREY,
    HEIGHT,
    ORANGE,
    PALE,
    RED,
    WIDTH,
    Picture,
    data,
    made,
)
from orbweaver.report.trace import Name, tell

DRAWN_MAX = 250
"""Most nodes in a picture."""
LINKS_MAX = 3000
"""Most links in a picture; more make a page large and show less."""
NAMED_MAX = 60
"""Most nodes whose names stand beside them."""
BEND = 0.45
"""How far a link bends towards the middle of the circle: 1 is a straight one."""


def web(
    on_topic: frozenset[int],
    links: Collection[tuple[int, int]],
    topics: Sequence[int],
    names: Sequence[str],
) -> Picture:
    """Draw an overlay as a web: nodes on a circle, links as threads. The nodes of one topic and
    the links between them are coloured. `topics` has the number of topics of each node. At most
    `DRAWN_MAX` nodes and `LINKS_MAX` links are drawn, those of the topic first."""
    import altair as alt

    kept = _some(len(names), on_topic, links)
    angle = {node: 2 * math.pi * i / len(kept) for i, node in enumerate(kept)}
    place = {node: (math.cos(a), math.sin(a)) for node, a in angle.items()}
    there = [(a, b) for a, b in links if a in place and b in place]
    there.sort(key=lambda link: not on_topic.issuperset(link))
    threads = []
    for number, (a, b) in enumerate(there[:LINKS_MAX]):
        (ax, ay), (bx, by) = place[a], place[b]
        bent = (BEND * (ax + bx) / 2, BEND * (ay + by) / 2)
        inside = a in on_topic and b in on_topic
        for i, (x, y) in enumerate(((ax, ay), bent, (bx, by))):
            row = {"l": number, "i": i, "x": round(x, 3), "y": round(y, 3), "in": inside}
            threads.append(row)
    degree = dict.fromkeys(kept, 0)
    for a, b in links:
        for node in (a, b):
            if node in degree:
                degree[node] += 1
    nodes = [
        {
            "node": names[node], "x": round(place[node][0], 3), "y": round(place[node][1], 3),
            "links": degree[node], "topics": topics[node], "in": node in on_topic,
        }
        for node in kept
    ]  # fmt: skip
    across, down = alt.X("x:Q", axis=None), alt.Y("y:Q", axis=None)

    def coloured(inside: str, outside: str) -> Any:
        return alt.condition("datum['in']", alt.value(inside), alt.value(outside))

    def thread(inside: bool) -> Any:
        rows = [row for row in threads if row["in"] == inside]
        colour, width = (ORANGE, 1.3) if inside else (PALE, 0.6)
        mark = alt.Chart(data(rows)).mark_line(
            interpolate="basis", strokeWidth=width, color=colour, opacity=0.9
        )
        return mark.encode(x=across, y=down, detail="l:N", order="i:O")

    dots = (
        alt.Chart(data(nodes))
        .mark_circle(opacity=1)
        .encode(
            x=across, y=down, color=coloured(ORANGE, BLUE),
            size=alt.condition("datum['in']", alt.value(60), alt.value(22)),
            tooltip=["node:N", "links:Q", "topics:Q"],
        )
    )  # fmt: skip
    side = round(1.9 * HEIGHT)
    layers = [thread(inside) for inside in (False, True)]
    return made(alt.layer(*layers, dots).properties(width=side, height=side))


def _some(nodes: int, on_topic: frozenset[int], links: Collection[tuple[int, int]]) -> list[int]:
    """Return at most `DRAWN_MAX` nodes: those of the topic first, then their neighbours."""
    beside = [end for link in links for end in link if not on_topic.isdisjoint(link)]
    chosen = dict.fromkeys([*sorted(on_topic), *beside, *range(nodes)])
    return sorted(list(chosen)[:DRAWN_MAX])


FATES = {
    "first": BLUE, "pulled": "#5a9a7c", "duplicate": PALE, "lost": RED, "refused": RED,
    "under way": GREY,
}  # fmt: skip
"""What became of a copy -> its colour."""


def way(trace: EventTrace, stops: Sequence[Stop], name: Name) -> Picture:
    """Draw the way of an event: a line for each node, from left to right the time, and each copy
    from its sender to its receiver. Nodes that the event missed are crosses at the end."""
    import altair as alt

    order = _lines(trace, stops)
    line = {node: i for i, node in enumerate(order)}
    end_ms = max([hop.at_ms for hop in trace.hops] + list(trace.had.values()))
    copies = [
        {
            "from": name(hop.sender), "to": name(hop.receiver), "what": hop.fate, "why": hop.why,
            "x": _after(hop.sent_ms or trace.had.get(hop.sender, hop.at_ms), trace),
            "x2": _after(hop.at_ms, trace), "y": line[hop.sender], "y2": line[hop.receiver],
        }
        for hop in trace.hops
        if hop.sender in line and hop.receiver in line
    ]  # fmt: skip
    dots = [
        {"node": name(node), "x": _after(trace.had[node], trace), "y": line[node],
         "kind": "delivered" if node in trace.delivered else
         "publisher" if node == trace.publisher else "passed on"}
        for node in order if node in trace.had
    ]  # fmt: skip
    crosses = [
        {"node": name(stop.node), "x": 1.03 * _after(end_ms, trace) + 1, "y": line[stop.node],
         "why": tell(stop, trace, name)}
        for stop in stops if stop.node in line and stop.node not in trace.had
    ]  # fmt: skip
    many = len(order) > NAMED_MAX
    named = {i: name(node)[:8] for i, node in enumerate(order)}
    axis = alt.Axis(
        title="nodes, in the order of the tree", grid=False, domain=False, ticks=False,
        values=[] if many else list(named), labelExpr=_choice(named), labelOverlap=False,
    )  # fmt: skip
    y_scale = alt.Scale(domain=[-1, len(order)], reverse=True, nice=False)
    x = alt.X("x:Q", title="ms after the publication", scale=alt.Scale(zero=True))
    y = alt.Y("y:Q", scale=y_scale, axis=axis)
    present = list(dict.fromkeys(fate for fate in FATES if trace.count(fate)))  # type: ignore[arg-type]
    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=present, range=[FATES[fate] for fate in present])
    )
    ways = (
        alt.Chart(data(copies))
        .mark_rule(strokeWidth=1.3, opacity=0.8)
        .encode(
            x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour,
            strokeDash=alt.condition(
                "datum.what == 'first' || datum.what == 'duplicate'",
                alt.value([1, 0]), alt.value([4, 3]),
            ),
            tooltip=["from:N", "to:N", "what:N", "why:N", alt.Tooltip("x:Q", title="sent, ms"),
                     alt.Tooltip("x2:Q", title="ended, ms")],
        )
    )  # fmt: skip
    got = (
        alt.Chart(data(dots))
        .mark_circle(size=34, opacity=1, color=BLUE)
        .encode(x=x, y=y, tooltip=["node:N", "kind:N", alt.Tooltip("x:Q", title="ms")])
    )
    missed = (
        alt.Chart(data(crosses))
        .mark_point(shape="cross", angle=45, size=40, filled=True, color=RED)
        .encode(x=x, y=y, tooltip=["node:N", "why:N"])
    )
    layers = [ways, got] + ([missed] if crosses else [])
    height = max(HEIGHT // 2, min(4 * HEIGHT, (FONT + 3) * len(order)))
    return made(alt.layer(*layers).properties(width=2 * WIDTH, height=height))


def _after(time_ms: int, trace: EventTrace) -> int:
    return time_ms - trace.published_ms


def _choice(names: Mapping[int, str]) -> str:
    """Return an expression of Vega that names the lines by their numbers."""
    listed = ", ".join(repr(name) for name in names.values())
    return f"[{listed}][datum.value]"


def _lines(trace: EventTrace, stops: Sequence[Stop]) -> list[int]:
    """Return the nodes from top to bottom: below each node those that got the event from it, at
    the end those that it missed. There are at most `DRAWN_MAX`."""
    children: dict[int, list[int]] = {}
    known = {trace.publisher}
    for hop in trace.hops:
        if hop.fate in ARRIVED and hop.receiver not in known:
            known.add(hop.receiver)
            children.setdefault(hop.sender, []).append(hop.receiver)
    order: list[int] = []
    stack = [trace.publisher]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += reversed(children.get(node, []))
    missed = [stop.node for stop in stops if stop.node not in known]
    return [*order[: DRAWN_MAX - len(missed[: DRAWN_MAX // 2])], *missed[: DRAWN_MAX // 2]]
