"""The page of `orbweaver compare`: overlays side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orbweaver import __version__
from orbweaver.metrics.averages import interval95, mean
from orbweaver.report import plots
from orbweaver.report.page import Page
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
"""Metric -> column title and digits, for terminal and page alike."""


def averages(results: Sequence[Result], metric: str) -> list[float]:
    return [r.metrics[metric] for r in results if r.metrics[metric] is not None]


def table_rows(by_overlay: Mapping[str, Sequence[Result]]) -> list[list[str]]:
    """Means over the seeds, one row for each overlay."""
    rows = []
    for overlay, results in by_overlay.items():
        row = [overlay]
        for metric, (_, digits) in COLUMNS.items():
            values = averages(results, metric)
            row.append(f"{mean(values):,.{digits}f}" if values else "-")
        rows.append(row)
    return rows


def write_page(
    path: Path,
    workload: str,
    command: str,
    by_overlay: Mapping[str, Sequence[Result]],
) -> None:
    seeds = len(next(iter(by_overlay.values())))
    page = Page(
        "Orbweaver: overlays compared",
        f"{workload}; means over {seeds} seed{'s' if seeds > 1 else ''}.",
    )
    page.plots([_trade_off(by_overlay)])
    page.table(["overlay", *(title for title, _ in COLUMNS.values())], table_rows(by_overlay))
    page.text(
        "A topic with more than one component is partitioned: events cannot reach all its "
        "subscribers through subscribers alone, and the hit ratio shows it. Steady counts "
        "duplicates of the last event on each topic, when the trees have been found."
    )
    page.plots([*_comparison_plots(by_overlay), woven()])
    page.heading("Again")
    page.command(command)
    page.write(path, f"orbweaver {__version__}")


def _trade_off(by_overlay: Mapping[str, Sequence[Result]]) -> tuple[str, str]:
    """What an overlay costs in links, in traffic nobody wants, and in time."""
    points = {}
    for overlay, results in by_overlay.items():
        found = [
            averages(results, m) for m in ("degree_mean", "traffic_overhead", "delay_hops_mean")
        ]
        if all(found):
            degree, overhead, delay = map(mean, found)
            points[overlay] = (degree, 100 * overhead, delay)
    picture = plots.trade_off(
        points, "links of a node", "traffic of no interest, %", "hops to a subscriber"
    )
    return picture, "The trade-off: links, uninteresting traffic and delay. Low and left is better"


def _comparison_plots(by_overlay: Mapping[str, Sequence[Result]]) -> list[tuple[str, str]]:
    def means(metric: str) -> dict[str, float]:
        found = {o: averages(rs, metric) for o, rs in by_overlay.items()}
        return {o: mean(values) if values else 0.0 for o, values in found.items()}

    def spreads(metric: str) -> dict[str, float]:
        found = {o: averages(rs, metric) for o, rs in by_overlay.items()}
        return {o: interval95(v) if len(v) > 1 else 0.0 for o, v in found.items()}

    first = {overlay: results[0].degree_histogram for overlay, results in by_overlay.items()}
    return [
        (
            plots.bars(means("degree_mean"), "links of a node", spreads("degree_mean"),
                       means("degree_max"), "largest"),
            "Degree: mean with 95 % interval over seeds, and the largest",
        ),
        (plots.histograms(first, "links of a node"), "Degree: share of nodes, first seed"),
        (
            plots.bars(means("components"), "components over all topics", spreads("components"),
                       means("topics"), "number of topics"),
            "Topic connectivity: as many components as topics is the best there is",
        ),
        (
            plots.bars(means("hit_ratio"), "hit ratio", spreads("hit_ratio")),
            "Deliveries that happened, of those owed",
        ),
        (
            plots.bars(means("delay_hops_mean"), "hops", spreads("delay_hops_mean"),
                       means("delay_hops_max"), "largest"),
            "Delay of delivered events in hops",
        ),
        (
            plots.bars(means("control_bytes_per_node_second"), "bytes per node and second"),
            "Control traffic: heartbeats, links, announcements",
        ),
    ]  # fmt: skip


def woven() -> tuple[str, str]:
    """A small overlay to look at."""
    scenario = Scenario(
        overlay="spidercast",
        workload=WorkloadSpec(nodes=90, topics=20, subscriptions_per_node="4"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=5000, drain_ms=0, measure_bytes=False),
    )
    overlay = run_scenario(scenario, 1).looks[-1]
    topic = sorted(overlay.on_topic().items(), key=lambda item: -len(item[1]))[2][0]
    return (
        plots.web(overlay, topic),
        "A woven overlay: 90 nodes, 20 topics, 4 for each node. In colour, the nodes of one "
        "topic and the links among them, over which its events go",
    )
