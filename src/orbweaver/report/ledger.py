"""The page of `orbweaver reproduce`: every claim with both numbers, then the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orbweaver import __version__
from orbweaver.report import plots
from orbweaver.report.page import Page
from orbweaver.study.claims import Series, Verdict
from orbweaver.study.spidercast.paper import TABLE_12, table_12
from orbweaver.study.version import code_version

COLUMNS = ["claim", "what", "paper", "ours", "verdict", "note"]

FIGURES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Table 12, Fig. 14: degree over N": (
        "nodes",
        "degree_mean",
        ("spidercast", "similarity(10,0)", "random(10)", "similarity(20,0)", "ring-per-topic"),
    ),
    "Fig. 7: degree by popularity": (
        "nodes",
        "degree_mean",
        ("uniform", "spidercast", "zipf:1", "nyse"),
    ),
    "Fig. 13: components of 100 topics": (
        "nodes",
        "components",
        ("spidercast", "similarity(10,0)", "similarity(7,3)", "similarity(20,0)"),
    ),
    "Fig. 6: degree with Zipf 2": ("nodes", "degree_mean", ("zipf2 (3,0)", "zipf2 (3,1)")),
    "Fig. 8a: degree with 100 and 200 topics": ("nodes", "degree_mean", ("spidercast", "t200")),
    "Fig. 8b: degree over the number of topics": ("topics", "degree_mean", ("topics",)),
    "Fig. 8c: degree over subscriptions": ("S", "degree_mean", ("subscriptions N=*",)),
    "Fig. 8f: tdi(2S) over subscriptions": ("S", "tdi", ("subscriptions N=*",)),
    "Fig. 10: degree over the share known": ("share", "degree_mean", ("views N=*",)),
    "Fig. 11: degree over the mean time up": ("seconds", "degree_mean", ("churn N=*",)),
}
"""Caption -> x axis, metric, series; a * takes all that begin so."""


def add_verdicts(page: Page, verdicts: Sequence[Verdict]) -> None:
    rows = [[v.claim, v.what, v.paper, v.ours, verdict_word(v), v.note] for v in verdicts]
    page.table(COLUMNS, rows, text=True)


def verdict_word(verdict: Verdict) -> str:
    return "reproduced" if verdict.reproduced else "not reproduced"


def figures(series: Mapping[str, Series]) -> list[tuple[str, str]]:
    """A plot for each figure that has all its series, with the paper's numbers where the
    text gives them."""
    found = []
    for caption, (x_label, metric, wanted) in FIGURES.items():
        labels = [label for want in wanted for label in series if _fits(label, want)]
        if len(labels) < len(wanted):
            continue
        ours = {
            label: dict(zip(series[label].xs, series[label].means(metric), strict=True))
            for label in labels
        }
        paper = {
            label: dict(zip(series[label].xs, table_12(label, series[label].xs), strict=True))
            for label in labels
            if label in TABLE_12 and metric == "degree_mean"
        }
        y_label = {"degree_mean": "average degree"}.get(metric, metric)
        found.append((plots.against_paper(ours, paper, y_label, x_label), caption))
    return found


def write_ledger(
    path: Path,
    paper: str,
    scale: str,
    seeds: int,
    command: str,
    verdicts: Sequence[Verdict],
    series: Mapping[str, Series],
) -> None:
    held = sum(verdict.reproduced for verdict in verdicts)
    page = Page(
        f"{paper}: its claims, run again",
        f"Scale: {scale}; {seeds} seeds. {held} of {len(verdicts)} checks reproduced.",
    )
    add_verdicts(page, verdicts)
    page.heading("Figures")
    page.plots(figures(series))
    page.heading("Again")
    page.command(command)
    page.write(path, f"orbweaver {__version__}, code {code_version()}")


def _fits(label: str, want: str) -> bool:
    return label.startswith(want[:-1]) if want.endswith("*") else label == want
