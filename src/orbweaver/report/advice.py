"""Writes the page of `orbweaver advise`: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orbweaver import __version__
from orbweaver.report.charts import curves
from orbweaver.report.costs import Disc, Panel, panels, trade_off
from orbweaver.report.look import BLUE, GREY, ORANGE, Picture
from orbweaver.report.page import Page
from orbweaver.report.webs import DRAWN_MAX, LINKS_MAX, web
from orbweaver.study.advice.measures import MEASURES
from orbweaver.study.advice.value import Advice, Drawing, Possible, Rating

COLOURS = {"pick": ORANGE, "tie": BLUE, "suitable": BLUE}
"""Place of an overlay -> its colour; the others are grey."""
PLACES = {
    "pick": "the pick",
    "tie": "a tie with the pick",
    "suitable": "suitable",
    "lossy": "loses events",
    "out": "not suitable",
}
SHOWN = 4
"""One in so many nodes, at most, has the topic that is coloured in the picture of the overlay."""

Drawn = tuple[Picture | None, str]
"""A picture and its caption."""


def write_advice(path: Path, advice: Advice) -> None:
    data = advice.data
    about = f"{data.nodes:,} nodes, {data.topics:,} topics, {data.subscriptions:,} subscriptions."
    page = Page(f"Which overlay suits {data.name}?", about)
    page.verdict(advice.headline)
    for sentence in (*advice.sentences, *(f"Not sure: {doubt}" for doubt in advice.doubts)):
        page.text(sentence)
    page.plots([_trade_off(advice)])
    page.plots([_panels(advice)])
    page.heading("The overlays")
    rows = [[rating.overlay, PLACES[rating.place], rating.words] for rating in advice.ratings]
    page.table(["overlay", "", "in words"], rows, text=True)
    page.heading("What decides: the data")
    page.table(["property", "in words", "with it and without it"], _properties(advice), text=True)
    if advice.possible is not None:
        _how_good(page, advice, advice.possible)
    if advice.forecasts:
        _expected(page, advice)
    if advice.drawing is not None:
        page.heading("The overlay on this data")
        page.plots([_web(advice.drawing)])
    page.heading("What was run, and how to run it again")
    for sentence in _ran(advice):
        page.text(sentence)
    page.command(advice.repeat)
    page.write(path, f"orbweaver {__version__}, runs of code {advice.ran.code}")


def _mean(rating: Rating, measure: str) -> float | None:
    found = rating.measures.get(measure)
    return None if found is None else found.mean


def _colour(rating: Rating) -> str:
    return COLOURS.get(rating.place, GREY)


def _trade_off(advice: Advice) -> Drawn:
    discs = []
    for rating in advice.ratings:
        links, delay = _mean(rating, "links"), _mean(rating, "delay_p95")
        if links is not None and delay is not None:
            relays = _mean(rating, "relays") or 0.0
            discs.append(Disc(rating.overlay, links, delay, relays, _colour(rating)))
    picture = trade_off(
        discs, "links of a node, mean", "ms until 95 of 100 deliveries", "relays of an event"
    )
    caption = (
        "Links against delay; the area of a disc is how many nodes pass on an event that they did "
        "not ask for. Low and left is better. The pick is orange, overlays that are not suitable "
        "are grey"
    )
    return picture, caption


def _panels(advice: Advice) -> Drawn:
    drawn = []
    for name, measure in MEASURES.items():
        times = 100 if measure.unit == "share" else 1
        there = {r.overlay: r.measures[name] for r in advice.ratings if name in r.measures}
        means = {overlay: times * one.mean for overlay, one in there.items()}
        halves = {overlay: times * (one.half or 0.0) for overlay, one in there.items()}
        drawn.append(Panel(TITLES.get(name, measure.title), means, halves))
    names = [rating.overlay for rating in advice.ratings]
    caption = (
        "Each number, all overlays on one scale, the best overlay first. Less is better. Dots are "
        "means over the seeds, bars their 95 % intervals. An overlay that was out early was run on "
        "smaller samples only"
    )
    colours = {rating.overlay: _colour(rating) for rating in advice.ratings}
    return panels(drawn, names, colours), caption


TITLES = {
    "lost": "events lost, %",
    "links": "links, mean",
    "links_max": "links, largest",
    "relayed": "not asked for, %",
    "relays": "relays of an event",
    "traffic": "sent by a node, B/s",
    "delay_p50": "median delay, ms",
    "delay_p95": "95 % delay, ms",
    "busiest": "busiest 1 %, times",
}
"""Short titles of the measures; small pictures have no room for long ones."""


def _properties(advice: Advice) -> Iterator[list[str]]:
    for one in advice.properties:
        effect = one.change or "not measured"
        if one.decides:
            effect += ": this decides"
        yield [one.title, one.words, effect]


def _how_good(page: Page, advice: Advice, possible: Possible) -> None:
    page.heading("How good could it be?")
    page.text(
        "Links planned in one place, by an algorithm that knows all subscriptions, connect every "
        "topic with few links. No overlay that connects all topics has fewer links of a node than "
        f"{possible.links_mean_bound:.1f} in the mean, and {possible.links_max_bound:.1f} at the "
        "largest node."
        + (
            f" The pick has {possible.ratio:.1f} times the links of the best design."
            if possible.ratio is not None
            else ""
        )
    )
    rows = [
        [design.name, f"{design.links_mean:.1f}", f"{design.links_max:.1f}"]
        for design in possible.designs
    ]
    page.table(["design", "links, mean", "links, largest"], rows)
    grown = {
        design.name: {links: (100 * share, 0.0) for links, share in design.curve}
        for design in possible.designs
    }
    marks = {"the least possible": possible.links_mean_bound}
    pick = next((r for r in advice.ratings if r.overlay == advice.pick), None)
    if pick is not None and (links := _mean(pick, "links")) is not None:
        marks[pick.overlay] = links
    picture = curves(
        grown, "links of a node, mean", "% of topics connected", y_max=100, marks=marks
    )
    caption = "Topics that are connected while a design adds its links one by one"
    page.plots([(picture, caption)])


def _expected(page: Page, advice: Advice) -> None:
    page.heading("What to expect with another number of nodes")
    rows = []
    for one in advice.forecasts:
        measure = MEASURES[one.measure]
        times, unit = (100, "%") if measure.unit == "share" else (1, measure.unit)
        numbers = [f"{times * number:,.4g}" for number in (one.expected, one.low, one.high)]
        span = f"{numbers[1]} to {numbers[2]}"
        sizes = ", ".join(f"{n:,}" for n in sorted({n for n, _ in one.points}))
        rows.append(
            [one.overlay, measure.title, f"{one.nodes:,}", f"{numbers[0]} {unit}", span, one.law,
             sizes]
        )  # fmt: skip
    columns = ["overlay", "measure", "nodes", "expected", "95 % interval", "law", "from runs with"]
    page.table(columns, rows, text=True)


def _web(drawing: Drawing) -> Drawn:
    nodes: dict[int, list[int]] = {}
    for node, topics in enumerate(drawing.interests):
        for topic in topics:
            nodes.setdefault(topic, []).append(node)
    few = [t for t in sorted(nodes) if len(nodes[t]) * SHOWN <= len(drawing.labels)]
    topic = few[0] if few else min(nodes, key=lambda t: len(nodes[t]))
    counts = [len(topics) for topics in drawing.interests]
    caption = (
        f"{drawing.overlay} on {len(drawing.labels):,} nodes of the data. In colour: the "
        f"{len(nodes[topic]):,} nodes of the topic {drawing.topics[topic]} and their links"
    )
    if len(drawing.labels) > DRAWN_MAX or len(drawing.links) > LINKS_MAX:
        caption += f". At most {DRAWN_MAX} nodes and {LINKS_MAX:,} links are drawn"
    return web(frozenset(nodes[topic]), drawing.links, counts, drawing.labels), caption


def _ran(advice: Advice) -> Iterator[str]:
    ran = advice.ran
    sizes = ", ".join(f"{size:,}" for size in ran.sizes)
    yield (
        f"{ran.runs:,} simulated runs with {sizes} nodes and the seeds "
        f"{', '.join(map(str, ran.seeds))} took {ran.run_s / 60:,.1f} minutes in all."
    )
    if advice.data.sampled:
        yield f"Samples of the data: {advice.data.sampled}."
