"""Writes the page of `orbweaver compare`: overlays side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orbweaver import __version__
from orbweaver.metrics.averages import interval95, mean
from orbweaver.report.charts import histograms
from orbweaver.report.costs import Disc, Panel, panels, trade_off
from orbweaver.report.look import BLUE, GREY, Picture
from orbweaver.report.oracle import told_oracle
from orbweaver.report.page import Page
from orbweaver.report.webs import web
from orbweaver.study.run import Result, run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

COLUMNS = {
    "degree_mean": ("degree", 2),
    "degree_max": ("max degree", 0),
    "components": ("components", 0),
    "partitioned_topics": ("partitioned topics", 0),
    "diameter_max": ("max diameter", 0),
    "hit_ratio": ("hit ratio", 4),
    "duplicates": ("duplicates", 2),
    "duplicates_steady": ("steady", 3),
    "delay_hops_mean": ("hops", 2),
    "traffic_overhead": ("overhead", 3),
    "control_messages_per_join": ("msgs/join", 1),
    "control_bytes_per_node_second": ("control B/s", 0),
}
"""Metric -> column title and number of digits, for terminal and page."""

FAIRNESS = {
    "relays_per_event": ("relays", 1),
    "load_correlation": ("load by interest", 2),
    "load_correlation_bytes": ("bytes by interest", 2),
    "load_share_top1": ("busiest 1 %", 3),
}
"""Columns of a second table on the page, about who carries the load."""

ByOverlay = Mapping[str, Sequence[Result]]


def averages(results: Sequence[Result], metric: str) -> list[float]:
    return [r.metrics[metric] for r in results if r.metrics[metric] is not None]


def table_rows(by_overlay: ByOverlay, columns: Mapping[str, tuple[str, int]]) -> list[list[str]]:
    """Return the means over seeds, one row for each overlay."""
    rows = []
    for overlay, results in by_overlay.items():
        row = [overlay]
        for metric, (_, digits) in columns.items():
            values = averages(results, metric)
            row.append(f"{mean(values):,.{digits}f}" if values else "-")
        rows.append(row)
    return rows


def write_page(
    path: Path, workload: str, command: str, calm: ByOverlay, churned: ByOverlay | None = None
) -> None:
    """Write the page. `churned` has the same overlays on the same workload, with nodes that come
    and go."""
    seeds = len(next(iter(calm.values())))
    page = Page(
        "Orbweaver: overlays compared",
        f"{workload}; means over {seeds} seed{'s' if seeds > 1 else ''}.",
    )
    page.plots([_trade_off(calm, churned)])
    page.plots([_panels(calm, churned)])
    for line in findings(calm, churned):
        page.text(line)
    for line in settings(calm):
        page.text(line)
    page.heading("Without churn" if churned else "In numbers")
    _add_table(page, calm, COLUMNS)
    page.text(
        "A topic with more than one component is partitioned: its events cannot reach all its "
        "subscribers through subscribers alone. Unless relays help, the hit ratio is then below 1. "
        "Overhead is the share of received events on topics to which the node does not subscribe. "
        "Steady counts duplicates of the last event on each topic, when trees have formed."
    )
    page.heading("Who carries the load")
    _add_table(page, calm, FAIRNESS)
    page.text(
        "Relays are the nodes that an event reaches although they are not interested in it, mean "
        "over events. Load by interest is the correlation between the messages that a node sends "
        "and receives and the number of its subscriptions, and bytes by interest the one of the "
        "bytes that it sends. Where it is 1, the load of a node follows from its own "
        "subscriptions; where all nodes have equally many, there is no correlation. Busiest 1 % is "
        "the share of all messages that these nodes carry."
    )
    degrees = {overlay: results[0].degree_histogram for overlay, results in calm.items()}
    caption = "Links of a node: share of nodes, first seed"
    page.plots([(histograms(degrees, "links of a node"), caption)])
    if churned:
        page.heading("With churn: nodes come and go")
        _add_table(page, churned, COLUMNS)
        _add_table(page, churned, FAIRNESS)
    page.plots([woven()])
    page.heading("How to make this page again")
    page.command(command)
    page.write(path, f"orbweaver {__version__}")


def _add_table(page: Page, runs: ByOverlay, columns: Mapping[str, tuple[str, int]]) -> None:
    titles = ["overlay", *(title for title, _ in columns.values())]
    page.table(titles, table_rows(runs, columns))


def settings(runs: ByOverlay) -> list[str]:
    """Return sentences about settings that are not defaults, and overlays that use an oracle."""
    firsts = [results[0] for results in runs.values()]
    told = [
        f"{first.overlay} {', '.join(f'{name}={value}' for name, value in first.params.items())}"
        for first in firsts
        if first.params
    ]
    lines = [f"Settings that are not the defaults: {'; '.join(told)}."] if told else []
    return [*lines, *filter(None, [told_oracle(firsts)])]


def findings(calm: ByOverlay, churned: ByOverlay | None) -> list[str]:
    """Return what the numbers say, in sentences."""
    lines = []
    for metric, what, digits in (
        ("degree_mean", "Fewest links for each node", 1),
        ("traffic_overhead", "Least traffic of no interest", 3),
        ("relays_per_event", "Fewest uninterested nodes for each event", 1),
        ("load_share_top1", "Smallest share of the busiest nodes", 3),
        ("delay_hops_mean", "Fewest hops to a subscriber", 1),
        ("control_bytes_per_node_second", "Least control traffic, bytes a second", 0),
    ):
        values = _means(calm, metric)
        if len(values) > 1:
            text = {name: f"{value:,.{digits}f}" for name, value in values.items()}
            least, most = (text[end(values, key=values.__getitem__)] for end in (min, max))
            named = [", ".join(n for n, t in text.items() if t == end) for end in (least, most)]
            lines.append(f"{what}: {named[0]} ({least}); most: {named[1]} ({most}).")
    for runs, when in ((calm, "without churn"), (churned, "with churn")):
        if runs:
            hits = _means(runs, "hit_ratio")
            if not hits:
                lines.append(f"No event was published {when}.")
                continue
            whole = [name for name, ratio in hits.items() if ratio == 1]
            lost = [f"{name} {100 * (1 - r):.2g} %" for name, r in hits.items() if r < 1]
            line = f"Every expected delivery happened {when}: {', '.join(whole) or 'no overlay'}."
            lines.append(line + (f" Lost: {', '.join(lost)}." if lost else ""))
    return lines


def _means(runs: ByOverlay, metric: str) -> dict[str, float]:
    """Return the mean of each overlay that has values of the metric."""
    found = {overlay: averages(results, metric) for overlay, results in runs.items()}
    return {overlay: mean(values) for overlay, values in found.items() if values}


def _spreads(runs: ByOverlay, metric: str) -> dict[str, float]:
    found = {overlay: averages(results, metric) for overlay, results in runs.items()}
    return {o: interval95(v) if len(v) > 1 else 0.0 for o, v in found.items() if v}


def _trade_off(calm: ByOverlay, churned: ByOverlay | None) -> tuple[Picture | None, str]:
    """Plot what an overlay costs: links, delay, and traffic at nodes without interest."""

    def points(runs: ByOverlay) -> dict[str, tuple[float, float, float]]:
        degree, hops, relays = (
            _means(runs, m) for m in ("degree_mean", "delay_hops_mean", "relays_per_event")
        )
        there = (o for o in runs if o in degree and o in hops and o in relays)
        return {o: (degree[o], hops[o], relays[o]) for o in there}

    hits, after = _means(calm, "hit_ratio"), points(churned or {})
    discs = [
        Disc(name, *numbers, BLUE if hits.get(name) == 1 else GREY, after.get(name))
        for name, numbers in points(calm).items()
    ]
    picture = trade_off(
        discs, "links of a node", "hops to a subscriber", "uninterested nodes of an event"
    )
    caption = (
        "The trade-off: links, hops and, as the area, how many uninterested nodes an event "
        "reaches. Low and left is better. Grey overlays lose events"
    )
    return picture, caption + ("; rings show runs with churn" if churned else "")


PANELS = {
    "degree_mean": "links of a node, mean",
    "degree_max": "links of a node, largest",
    "hit_ratio": "hit ratio",
    "delay_hops_mean": "hops, mean",
    "delay_hops_max": "hops, largest",
    "duplicates": "duplicates per delivery",
    "traffic_overhead": "traffic of no interest",
    "relays_per_event": "relays per event",
    "load_share_top1": "load of the busiest 1 %",
    "partitioned_topics": "partitioned topics",
    "control_bytes_per_node_second": "control bytes/s",
    "control_messages_per_join": "messages per join",
}
"""Metric -> title of its small picture."""


def _panels(calm: ByOverlay, churned: ByOverlay | None) -> tuple[Picture | None, str]:
    measured = [
        Panel(title, _means(calm, m), _spreads(calm, m), _means(churned or {}, m))
        for m, title in PANELS.items()
    ]
    caption = "Each number, all overlays on one scale. Bars are 95 % intervals over the seeds"
    caption += "; rings show runs with churn" if churned else ""
    return panels(measured, list(calm)), caption


def woven() -> tuple[Picture, str]:
    """Draw a small overlay, simulated for the page."""
    scenario = Scenario(
        overlay="spidercast",
        workload=WorkloadSpec(nodes=90, topics=20, subscriptions_per_node="4"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=15_000, drain_ms=0, measure_bytes=False),
    )
    overlay = run_scenario(scenario, 1).looks[-1]
    on_topic = sorted(overlay.on_topic().values(), key=lambda nodes: -len(nodes))[2]
    topics = [len(overlay.interests[node]) for node in range(90)]
    names = [str(node) for node in range(90)]
    return (
        web(frozenset(on_topic), overlay.edges(), topics, names),
        "A small overlay: 90 nodes, 20 topics, 4 subscriptions for each node. In colour: the nodes "
        "of one topic and the links between them, over which its events travel",
    )
