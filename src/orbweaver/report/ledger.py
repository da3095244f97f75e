"""Writes the page of a study: every claim with both numbers, then figures and all settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orbweaver import __version__
from orbweaver.core.messages import PURPOSES
from orbweaver.metrics.averages import interval95, mean
from orbweaver.report.charts import curves, histograms, scatter
from orbweaver.report.costs import Panel, panels
from orbweaver.report.look import Picture
from orbweaver.report.oracle import told_oracle
from orbweaver.report.page import Page
from orbweaver.study.claims import count_runs
from orbweaver.study.judge import Judged, Ledger, told_versions
from orbweaver.study.paper import COLUMNS, HISTOGRAMS, BySeries, Figure
from orbweaver.study.results import Codes

DELIVERY = {
    "hit_ratio": ("hit ratio", 4),
    "hit_ratio_worst": ("worst twentieth", 4),
    "duplicates": ("duplicates", 2),
    "duplicates_steady": ("steady", 3),
    "delay_hops_mean": ("hops", 2),
    "delay_hops_max": ("most hops", 1),
    "delay_ms_mean": ("ms", 0),
    "delay_ms_max": ("most ms", 0),
}
"""Columns of a table of settings about delivery: metric -> title and number of digits."""

TRAFFIC = {
    "traffic_overhead": ("overhead", 3),
    "burdened": ("above 20 %", 3),
    "relays_per_event": ("relays", 1),
    "load_correlation": ("load by interest", 2),
    "load_share_top1": ("busiest 1 %", 3),
    "control_messages_per_join": ("msgs/join", 1),
    "control_bytes_per_node_second": ("control B/s", 0),
} | {f"{purpose}_messages": (f"{purpose} messages", 0) for purpose in PURPOSES}
"""Columns of a table of settings about traffic: metric -> title and number of digits."""


def ledger_rows(ledger: Ledger) -> tuple[list[str], list[list[str]]]:
    """Return column titles and rows, as text."""
    columns = ["claim", "what", "paper", "ours", "verdict", "note"]
    rows = [
        [
            v.claim,
            v.what,
            v.paper,
            v.ours,
            ledger.word(v),
            "; ".join(filter(None, (v.uncounted, v.note))),
        ]
        for v in ledger.verdicts
    ]
    if ledger.codes:
        columns.append("code")
        rows = [[*row, ledger.codes[row[0]]] for row in rows]
    return columns, rows


def figures(judged: Judged) -> dict[Figure, Picture]:
    """Return a picture of each figure that has all its series."""
    series = judged.series
    drawn = ((figure, figure.labels(series)) for figure in judged.paper.figures)
    pictures = {figure: draw(figure, labels, series) for figure, labels in drawn if labels}
    return {figure: picture for figure, picture in pictures.items() if picture is not None}


def draw(figure: Figure, labels: Sequence[str], series: BySeries) -> Picture | None:
    chosen = [series[label] for label in labels]
    if figure.metric in HISTOGRAMS:
        counts = {one.label: getattr(one.each()[0], figure.metric) for one in chosen}
        return histograms(counts, figure.x_label)
    if figure.over_time:
        course = {one.label: _with_interval(one.over_time(figure.metric)) for one in chosen}
        return curves(course, figure.x_label, figure.y_label, figure.paper)
    ours = {
        one.label: {
            x: (middle, half)
            for x, middle, half in zip(
                one.xs, one.means(figure.metric), one.intervals(figure.metric), strict=True
            )
        }
        for one in chosen
    }
    paper = {
        label: {x: y for x, y in points.items() if x in series[label].results}
        for label, points in figure.paper.items()
        if label in labels
    }
    return curves(ours, figure.x_label, figure.y_label, paper)


def _with_interval(curve: Mapping[float, Sequence[float]]) -> dict[float, tuple[float, float]]:
    return {
        x: (mean(values), interval95(values) if len(values) > 1 else 0.0)
        for x, values in sorted(curve.items())
    }


def settings_rows(
    series: BySeries,
    columns: Mapping[str, tuple[str, int]] = COLUMNS,
    codes: Codes | None = None,
) -> tuple[list[str], list[list[str]]]:
    """Return every setting with its means and 95 % intervals over seeds. If several versions of the
    code made the runs, each row names them."""
    rows = []
    for one in series.values():
        told = {metric: one.told_each(metric, digits) for metric, (_, digits) in columns.items()}
        for i, (x, results) in enumerate(one.results.items()):
            cells = (told[metric][i] for metric in columns)
            versions = [told_versions(results, codes)] if codes else []
            rows.append([one.label, f"{x:g}", str(len(results)), *cells, *versions])
    titles = [title for title, _ in columns.values()]
    return ["setting", "at", "seeds", *titles, *(["code"] if codes else [])], rows


def notes(judged: Judged) -> dict[str, str]:
    """Return the notes on claims that do not reproduce."""
    failing = {verdict.claim for verdict in judged.ledger.counted if not verdict.reproduced}
    return judged.paper.notes_on(judged.ledger.scale, failing)


def write_study(
    path: Path,
    papers: Sequence[Judged],
    series: BySeries,
    command: str,
    code: str,
    topics: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> None:
    """Write the page. `series` are all series, also those that no claim was judged on. `code` is
    the version that made the runs. `topics` has (nodes, diameter) of each topic, for some
    settings."""
    page = Page("Orbweaver: runs and what they show", _lead(papers, series))
    for judged in papers:
        ledger = judged.ledger
        page.heading(f"{ledger.title}: its claims, run again")
        page.text(
            f"Scale: {ledger.scale}, {ledger.scale_meaning}. {ledger.summary} These "
            "commands judge all claims again, or one:"
        )
        page.command(ledger.command())
        page.command(ledger.command(ledger.verdicts[0].claim))
        page.table(*ledger_rows(ledger), text=True)
        for about, note in notes(judged).items():
            page.text(f"{about}: {note}")
        page.heading(f"{ledger.title}: its figures")
        page.plots((picture, figure.caption) for figure, picture in figures(judged).items())
    if not papers:
        page.plots([_overview(series)])
    if topics:
        page.heading("Topics")
        picture = scatter(topics, "nodes of the topic", "diameter, hops")
        page.plots([(picture, "Each topic's diameter over its number of nodes")])
    if oracle := told_oracle(result for one in series.values() for result in one.each()):
        page.text(oracle)
    page.heading("Settings")
    page.text("Means over seeds, with half the 95 % interval if there are several seeds.")
    if papers:
        _settings(page, series, papers[0].paper.columns, papers[0].codes)
    else:
        _settings(page, series, COLUMNS, {})
    page.heading("How to make this page again")
    page.command(command)
    page.write(path, f"orbweaver {__version__}, runs of code {code}")


def _settings(
    page: Page, series: BySeries, columns: Mapping[str, tuple[str, int]], codes: Codes
) -> None:
    """Add the tables of all settings: the paper's columns, then the measured columns of delivery
    and traffic that the paper leaves out."""
    page.table(*settings_rows(series, columns, codes))
    for title, others in (("Delivery and delay", DELIVERY), ("Traffic", TRAFFIC)):
        left = {m: c for m, c in others.items() if m not in columns and _measured(series, m)}
        if left:
            page.heading(title)
            page.table(*settings_rows(series, left, codes))


def _measured(series: BySeries, metric: str) -> bool:
    """Return whether every run knows the metric, which runs of older code may not, and at least one
    run has a value."""
    results = [result for one in series.values() for result in one.each()]
    return all(metric in r.metrics for r in results) and any(
        r.metrics[metric] is not None for r in results
    )


def _lead(papers: Sequence[Judged], series: BySeries) -> str:
    runs = count_runs(series.values())
    settings = sum(len(one.results) for one in series.values())
    text = f"{runs:,} runs of {settings:,} settings."
    for judged in papers:
        text += f" {judged.ledger.title}: {judged.ledger.summary}"
    return text


PANELS = {
    "degree_mean": "links of a node, mean",
    "components": "components of topics",
    "diameter_max": "largest topic diameter",
    "hit_ratio": "hit ratio",
    "delay_hops_mean": "hops",
    "traffic_overhead": "traffic of no interest",
    "control_bytes_per_node_second": "control bytes/s",
}
"""Metric -> title of its small picture."""


def _overview(series: BySeries) -> tuple[Picture | None, str]:
    """Plot the settings side by side, for runs that belong to no paper."""

    def measured(metric: str, title: str) -> Panel:
        there = [one for one in series.values() if one.values(metric)[-1]]
        means = {one.label: one.means(metric)[-1] for one in there}
        return Panel(title, means, {one.label: one.intervals(metric)[-1] for one in there})

    found = [measured(m, title) for m, title in PANELS.items() if _measured(series, m)]
    caption = "Each number, all settings on one scale. Bars are 95 % intervals over the seeds"
    return panels(found, list(series)), caption
