"""Pages of claims, made from results that no run gave."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from orbweaver.metrics.summary import MEANING
from orbweaver.report.ledger import figures, ledger_rows, settings_rows, write_study
from orbweaver.report.markdown import write_markdown
from orbweaver.study.claims import ADDED_LATER, gather, told
from orbweaver.study.judge import Judged, Ledger, judge, judge_all
from orbweaver.study.paper import COLUMNS, NO_TRACES, BySeries, Paper
from orbweaver.study.results import Results, Stored
from orbweaver.study.run import Result, fingerprint
from orbweaver.study.spidercast import SPIDERCAST
from orbweaver.study.vitis import VITIS
from orbweaver.workload.scenario import StudySpec

NOWHERE = StudySpec()


def result(
    name: str, seed: int, study: StudySpec = NOWHERE, fingerprint: str = "", **metrics: Any
) -> Result:
    plain = dict.fromkeys(MEANING, 1.0) | {"degree_mean": 10.0 + seed} | metrics
    return Result(
        name=name, overlay="spidercast", params={}, nodes=1, topics=1, seed=seed, digest="",
        wall_seconds=0, events=0, complete=True, metrics=plain, snapshots=[plain],
        degree_histogram={9: 2, 10: 5, 12: 1}, states={"kr": {0: 1}},
        fingerprint=fingerprint or name, version="", study=study,
    )  # fmt: skip


@pytest.fixture(scope="module")
def series() -> BySeries:
    jobs = SPIDERCAST.jobs(list(SPIDERCAST.claims), "quick", [0, 1, 2])
    return gather(result(scenario.name, seed, scenario.study) for scenario, seed in jobs)


def judged_on(
    paper: Paper,
    claims: Sequence[str],
    series: BySeries,
    code: Callable[[Result], str] = lambda result: "feed",
) -> Judged:
    results = [result for one in series.values() for result in one.each()]
    return judge(paper, claims, "quick", [Stored(code(result), result) for result in results])


def test_a_page_with_every_claim_and_figure(tmp_path: Path, series: BySeries) -> None:
    judged = judged_on(SPIDERCAST, list(SPIDERCAST.claims), series)
    topics = {"spidercast": [(5, 2), (90, 4)]}
    write_study(tmp_path / "p.html", [judged], series, "orbweaver report x", "feed", topics)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == len(SPIDERCAST.figures) + 1
    for claim in SPIDERCAST.claims:
        assert f"<td>{claim}</td>" in page
    assert 'class="bad">not reproduced' in page
    assert 'class="good">reproduced' in page
    assert "orbweaver reproduce spidercast --scale quick --seeds 0,1,2" in page
    assert "runs of code feed" in page


def test_a_small_form_for_a_repository(tmp_path: Path, series: BySeries) -> None:
    judged = judged_on(SPIDERCAST, list(SPIDERCAST.claims), series)
    ledger = judged.ledger
    for _ in range(2):
        write_markdown(tmp_path / "spider.md", judged, "a machine, a day")
    text = (tmp_path / "spider.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\((spider/.*\.svg)\)", text)
    assert len(pictures) == len(SPIDERCAST.figures)
    assert all((tmp_path / name).stat().st_size < 200_000 for name in pictures)
    assert len(re.findall(r"^\| S\d+ \|", text, re.MULTILINE)) == len(ledger.verdicts)
    assert f"{ledger.held} of {len(ledger.counted)} checks reproduced" in text
    assert "code feed; a machine, a day" in text
    assert "| margin | 5 | 3 | 11.00 ±2.48 |" in text


def test_a_figure_needs_all_its_series(series: BySeries) -> None:
    some = {label: one for label, one in series.items() if label != "t200"}
    drawn = {figure.name for figure in figures(judged_on(SPIDERCAST, ["S1"], some))}
    missing = {f.name for f in SPIDERCAST.figures if "t200" in f.series}
    assert missing
    assert drawn == {f.name for f in SPIDERCAST.figures} - missing


def test_figures_show_what_was_judged_and_nothing_else_there_is(
    tmp_path: Path, series: BySeries
) -> None:
    some = {label: series[label] for label in ("spidercast", "t200")}
    judged = judged_on(SPIDERCAST, ["S2"], some)
    write_study(tmp_path / "p.html", [judged], series, "orbweaver report x", "feed")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert 1 <= page.count("<figure>") == len(figures(judged)) < len(SPIDERCAST.figures)


def test_settings_have_their_spread(series: BySeries) -> None:
    columns, rows = settings_rows({"nyse": series["nyse"]})
    assert rows[0][:3] == ["nyse", "1000", "3"]
    assert rows[0][columns.index("degree")] == "11.00 ±2.48"
    assert rows[0][columns.index("components")] == "1.0"


@pytest.mark.parametrize(
    ("middle", "half", "digits", "text"),
    [(9.994, 0.004, 2, "9.99"), (9.994, 0.006, 2, "9.99 ±0.01"), (100.0, 0.0, 0, "100")],
)
def test_means_as_text(middle: float, half: float, digits: int, text: str) -> None:
    assert told(middle, half, digits) == text


def made(paper: Paper, claims: list[str], scale: str, traces: Path = NO_TRACES) -> list[Result]:
    """Results of the runs that claims need, stored under names that say nothing."""
    jobs = paper.jobs(claims, scale, [0], traces)
    return [result("", seed, fingerprint=fingerprint(one)) for one, seed in jobs]


def enough(paper: Paper, results: list[Result], traces: Path = NO_TRACES) -> tuple[str, list[str]]:
    judged = judge_all(paper, Results(Stored("feed", r) for r in results), traces)
    if judged is None:
        return "", []
    return judged.ledger.scale, list(dict.fromkeys(v.claim for v in judged.ledger.verdicts))


def test_which_claims_some_runs_are_enough_for() -> None:
    quick = made(SPIDERCAST, ["S1", "S14"], "quick")
    assert enough(SPIDERCAST, quick) == ("quick", ["S1", "S2", "S14"])
    full = made(SPIDERCAST, ["S10"], "full")
    assert enough(SPIDERCAST, full) == ("full", ["S10"])
    assert enough(SPIDERCAST, quick + full) == ("quick", ["S1", "S2", "S14"])
    assert enough(SPIDERCAST, [result("mine", 0)]) == ("", [])
    assert enough(VITIS, [result("mine", 0)]) == ("", []), "though V10 needs no runs"


@pytest.mark.parametrize("scale", VITIS.scales)
def test_runs_of_another_scale_do_not_count(scale: str) -> None:
    mine = made(VITIS, ["V3", "V11"], scale)
    others = made(VITIS, ["V3"], "quick" if scale != "quick" else "full")
    assert enough(VITIS, mine + others) == (scale, ["V3", "V10", "V11"])


def test_a_run_on_a_trace_is_known_by_its_table(tmp_path: Path) -> None:
    for trace in VITIS.traces["quick"]:
        trace.folder(tmp_path).write_text("node,topic\na,x\n")
    results = made(VITIS, ["V7"], "quick", tmp_path)
    assert enough(VITIS, results, tmp_path) == ("quick", ["V7", "V10"])
    assert enough(VITIS, results) == ("", []), "without its table"


def test_points_of_a_series_are_in_the_order_of_their_numbers() -> None:
    places = [("friends", 0), ("friends", 12), ("friends", 6), ("size", 10000), ("size", 2500)]
    found = gather(result("", 0, StudySpec(series=name, x=x)) for name, x in places)
    assert found["friends"].xs == [0, 6, 12]
    assert found["size"].xs == [2500, 10000]


def test_it_takes_several_seeds_to_call_something_reproduced(series: BySeries) -> None:
    whole = judged_on(SPIDERCAST, ["S2"], series).ledger
    alone = msgspec.structs.replace(whole, seeds=[0])
    one = msgspec.structs.replace(whole.verdicts[0], reproduced=True)
    other = msgspec.structs.replace(one, reproduced=False)
    assert (whole.word(one), alone.word(one)) == ("reproduced", "holds")
    assert whole.word(other) == alone.word(other) == "not reproduced"
    assert "hold over one seed" in alone.summary
    assert "reproduced." in whole.summary


def test_a_check_that_does_not_count_is_shown_as_such(tmp_path: Path, series: BySeries) -> None:
    whole = judged_on(SPIDERCAST, ["S1"], series)
    counted, shown = whole.ledger.verdicts
    assert (counted.uncounted, shown.uncounted) == ("", ADDED_LATER)
    held = msgspec.structs.replace(shown, reproduced=True)
    ledger = msgspec.structs.replace(
        whole.ledger, verdicts=[msgspec.structs.replace(counted, reproduced=False), held]
    )
    assert ledger.summary == "0 of 1 checks reproduced. Shown and not counted: 1."
    assert ledger.word(held) == "holds, not counted"
    assert ledger.word(shown) == "does not hold, not counted"
    write_markdown(tmp_path / "spider.md", whole, "a machine, a day")
    text = (tmp_path / "spider.md").read_text(encoding="utf-8")
    assert f"| does not hold, not counted | {ADDED_LATER} |" in text


def test_a_page_tells_which_line_is_of_which_version(tmp_path: Path, series: BySeries) -> None:
    def of(series: str) -> str:
        return "newnewnew+own file" if series.startswith("topics") else "old"

    claims = ["S1", "S7", "S9"]
    judged = judged_on(SPIDERCAST, claims, series, lambda result: of(result.study.series))
    columns, rows = ledger_rows(judged.ledger)
    assert columns[-1] == "code"
    found = {row[0]: row[-1] for row in rows}
    new = "newnew+own fi"  # the beginnings are enough beside the head of the page
    assert found == {"S1": "old", "S7": new, "S9": f"old, {new}"}
    columns, rows = settings_rows(series, COLUMNS, judged.codes)
    assert columns[-1] == "code"
    assert all(row[-1] == (new if of(row[0]) != "old" else "old") for row in rows)
    write_markdown(tmp_path / "spider.md", judged, "a machine, a day")
    assert "| topics | 100 | 3 |" in (tmp_path / "spider.md").read_text(encoding="utf-8")


def test_where_all_is_of_one_version_no_line_says_so(series: BySeries) -> None:
    judged = judged_on(SPIDERCAST, ["S1"], series)
    assert ledger_rows(judged.ledger)[0][-1] == "note"
    assert settings_rows(series, COLUMNS, judged.codes)[0][-1] != "code"


def test_the_setting_with_fewest_seeds_counts() -> None:
    series = gather([result("a", 0), *(result("b", seed) for seed in range(3))])
    assert judged_on(VITIS, ["V10"], series).ledger.seeds == [0]


def test_what_needs_no_runs_needs_no_seeds() -> None:
    ledger = judge(VITIS, ["V10"], "quick", []).ledger
    assert ledger.command() == "orbweaver reproduce vitis --scale quick --claims V10"
    assert ledger.summary == "1 of 1 checks reproduced."
    assert ledger.word(ledger.verdicts[0]) == "reproduced"


def test_the_command_names_traces_where_they_are_needed() -> None:
    ledger = Ledger("vitis", "Vitis", "quick", "small", [0, 1], [], ["V9"], [])
    whole = "orbweaver reproduce vitis --scale quick"
    assert ledger.command() == f"{whole} --seeds 0,1 --traces TRACES"
    assert ledger.command("V9") == f"{whole} --claims V9 --seeds 0,1 --traces TRACES"
    assert ledger.command("V1") == f"{whole} --claims V1 --seeds 0,1"
    part = msgspec.structs.replace(ledger, traced=[], part=["V1", "V2"])
    assert part.command() == f"{whole} --claims V1,V2 --seeds 0,1"


def test_notes_are_those_of_the_scale_and_of_the_claims() -> None:
    notes = {"S1": "one", "S2": "two", "both (S1, S3)": "more", "the scale": "small"}
    paper = dataclasses.replace(SPIDERCAST, notes={"quick": notes})
    found = {"S1": "one", "both (S1, S3)": "more", "the scale": "small"}
    assert paper.notes_on("quick", ["S1"]) == found
    assert paper.notes_on("quick", []) == {"the scale": "small"}
    assert paper.notes_on("full", ["S1"]) == {}


@pytest.mark.parametrize("papers", [[], ["S1"]], ids=["no paper", "a paper"])
def test_delivery_delay_and_traffic_are_on_the_page(
    tmp_path: Path, series: BySeries, papers: list[str]
) -> None:
    judged = [judged_on(SPIDERCAST, papers, series)] if papers else []
    write_study(tmp_path / "p.html", judged, series, "orbweaver report x", "feed")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    for title in ("hit ratio", "hops", "ms", "overhead", "control B/s", "repair messages"):
        assert f"<th>{title}</th>" in page
    assert page.count("<th>msgs/join</th>") == 1, "shown by the first table"


def test_what_was_not_measured_has_no_table(tmp_path: Path) -> None:
    unpublished = {m: None for m in MEANING if m.startswith(("hit", "dup", "delay", "prompt"))}
    found = gather([result("mine", seed, **unpublished) for seed in range(3)])
    write_study(tmp_path / "p.html", [], found, "orbweaver report x", "feed")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "Delivery" not in page
    assert "<th>control B/s</th>" in page
