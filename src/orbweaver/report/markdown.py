"""Writes a ledger for a repository: a Markdown file, and its pictures beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orbweaver import __version__
from orbweaver.records.files import whole_file
from orbweaver.report.ledger import figures, ledger_rows, notes, settings_rows
from orbweaver.report.look import svg
from orbweaver.report.oracle import told_oracle
from orbweaver.study.claims import count_runs
from orbweaver.study.judge import Judged


def write_markdown(path: Path, judged: Judged, machine: str) -> None:
    """Write the file `path`, and the pictures into a folder of the same name."""
    ledger, series = judged.ledger, judged.series
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    drawn = figures(judged)
    for figure, picture in drawn.items():
        with whole_file(folder / f"{figure.name}.svg") as temporary:
            temporary.write_text(svg(picture), encoding="utf-8")
    runs = count_runs(series.values())
    parts = [
        f"# {ledger.title}: its claims, run again",
        f"{ledger.summary} Scale: {ledger.scale}, "
        f"{ledger.scale_meaning}; {runs} runs, seeds {_listed(ledger.seeds)}. A number after ± "
        "is half the 95 % interval over the seeds.",
        *filter(None, [told_oracle(r for one in series.values() for r in one.each())]),
        f"orbweaver {__version__}, code {judged.code}; {machine}",
        f"    {ledger.command()}\n    {ledger.command(ledger.verdicts[0].claim)}    # one claim",
        _table(*ledger_rows(ledger)),
        *_notes(judged),
        *_sensitivity(judged),
        "## Figures",
        *(f"### {f.caption}\n\n![{f.caption}]({folder.name}/{f.name}.svg)" for f in drawn),
        "## All settings",
        _table(*settings_rows(series, judged.paper.columns, judged.codes)),
    ]
    with whole_file(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _notes(judged: Judged) -> list[str]:
    lines = [f"- **{about}.** {note}" for about, note in notes(judged).items()]
    return ["## What does not reproduce, and why", "\n".join(lines)] if lines else []


def _sensitivity(judged: Judged) -> list[str]:
    series = judged.series
    tried = {label: one for label, one in series.items() if label.startswith("sensitivity ")}
    if not tried:
        return []
    columns, rows = settings_rows(tried, judged.paper.columns, judged.codes)
    plain = [[row[0].removeprefix("sensitivity "), *row[1:]] for row in rows]
    text = (
        "Each row changes one parameter that the paper leaves open; the others are as in the base "
        "setting. If the last change is as late as the snapshot, the overlay had not settled."
    )
    return ["## Sensitivity", text, _table(["parameter", *columns[1:]], plain)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in r) + " |" for r in lines
    )


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
