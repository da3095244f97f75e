"""Pages of claims, made from results that no run gave."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from orbweaver.metrics.summary import MEANING
from orbweaver.report.ledger import (
    Ledger,
    figures,
    judge,
    ledger_rows,
    settings_rows,
    write_study,
)
from orbweaver.report.markdown import write_markdown
from orbweaver.study.claims import ADDED_LATER, Series, gather, told
from orbweaver.study.paper import COLUMNS, Paper
from orbweaver.study.run import Result
from orbweaver.study.spidercast import SPIDERCAST
from orbweaver.study.vitis import VITIS
from orbweaver.study.vitis.scales import SCALES


def result(name: str, seed: int, **metrics: Any) -> Result:
    plain = dict.fromkeys(MEANING, 1.0) | {"degree_mean": 10.0 + seed} | metrics
    return Result(
        name=name, overlay="spidercast", params={}, nodes=1, topics=1, seed=seed, digest="",
        wall_seconds=0, events=0, complete=True, metrics=plain, snapshots=[plain],
        degree_histogram={9: 2, 10: 5, 12: 1}, states={"kr": {0: 1}}, fingerprint=name, version="",
    )  # fmt: skip


@pytest.fixture(scope="module")
def series() -> dict[str, Series]:
    jobs = SPIDERCAST.jobs(list(SPIDERCAST.claims), "quick", [0, 1, 2])
    return gather(result(scenario.name, seed) for scenario, seed in jobs)


def test_a_page_with_every_claim_and_figure(tmp_path: Path, series: dict[str, Series]) -> None:
    judged = judge(SPIDERCAST, list(SPIDERCAST.claims), "quick", series)
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
    assert not re.search(r"(src|href)=\"(?!data:)", page), "the page must be self-contained"


def test_a_small_form_for_a_repository(tmp_path: Path, series: dict[str, Series]) -> None:
    judged = judge(SPIDERCAST, list(SPIDERCAST.claims), "quick", series)
    ledger = judged.ledger
    for _ in range(2):
        write_markdown(tmp_path / "spider.md", judged, "feed", "a machine, a day")
    text = (tmp_path / "spider.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\((spider/.*\.svg)\)", text)
    assert len(pictures) == len(SPIDERCAST.figures)
    assert all((tmp_path / name).stat().st_size < 200_000 for name in pictures)
    assert len(re.findall(r"^\| S\d+ \|", text, re.MULTILINE)) == len(ledger.verdicts)
    assert f"{ledger.held} of {len(ledger.counted)} checks reproduced" in text
    assert "code feed; a machine, a day" in text
    assert "| margin | 5 | 3 | 11.00 ±2.48 |" in text


def test_a_figure_needs_all_its_series(series: dict[str, Series]) -> None:
    some = {label: one for label, one in series.items() if label != "t200"}
    drawn = {figure.name for figure in figures(judge(SPIDERCAST, ["S1"], "quick", some))}
    missing = {f.name for f in SPIDERCAST.figures if "t200" in f.series}
    assert missing
    assert drawn == {f.name for f in SPIDERCAST.figures} - missing


def test_figures_show_what_was_judged_and_nothing_else_there_is(
    tmp_path: Path, series: dict[str, Series]
) -> None:
    some = {label: series[label] for label in ("spidercast", "t200")}
    judged = judge(SPIDERCAST, ["S2"], "quick", some)
    write_study(tmp_path / "p.html", [judged], series, "orbweaver report x", "feed")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert 1 <= page.count("<figure>") == len(figures(judged)) < len(SPIDERCAST.figures)


def test_settings_have_their_spread(series: dict[str, Series]) -> None:
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


def made(paper: Paper, claims: list[str], scale: str) -> list[Result]:
    jobs = paper.jobs(claims, scale, [0])
    return [
        msgspec.structs.replace(result(one.name, seed), nodes=one.workload.nodes)
        for one, seed in jobs
    ]


def enough(paper: Paper, results: list[Result]) -> tuple[str, list[str]]:
    return paper.judged_by(results)[:2]


def test_which_claims_some_runs_are_enough_for() -> None:
    quick = made(SPIDERCAST, ["S1", "S14"], "quick")
    assert enough(SPIDERCAST, quick) == ("quick", ["S1", "S2", "S14"])
    full = made(SPIDERCAST, ["S10"], "full")
    assert enough(SPIDERCAST, full) == ("full", ["S10"])
    assert enough(SPIDERCAST, quick + full) == ("quick", ["S1", "S2", "S14"])
    assert enough(SPIDERCAST, [result("mine", 0)]) == ("", [])
    assert enough(VITIS, [result("mine", 0)]) == ("", []), "though V10 needs no runs"


@pytest.mark.parametrize("scale", VITIS.scales)
def test_a_scale_is_known_by_its_nodes_where_names_are_the_same(scale: str) -> None:
    mine = made(VITIS, ["V2", "V3", "V4"], scale)
    others = made(VITIS, ["V3"], "quick" if scale != "quick" else "full")
    found, claims, kept = VITIS.judged_by(mine + others)
    assert (found, claims) == (scale, ["V2", "V3", "V4", "V10"])
    assert kept == mine


@pytest.mark.parametrize("scale", VITIS.scales)
def test_a_scale_is_known_by_the_size_of_its_sample(scale: str) -> None:
    sampled = SCALES[scale].sampled
    jobs = VITIS.jobs(["V7"], scale, [0])
    # Some nodes of a sample want nothing.
    results = [
        msgspec.structs.replace(result(one.name, seed), nodes=sampled - 3) for one, seed in jobs
    ]
    assert enough(VITIS, results) == (scale, ["V7", "V10"])


def test_points_of_a_series_are_in_the_order_of_their_numbers() -> None:
    names = ["friends @ 0", "friends @ 12", "friends @ 6", "size @ 10000", "size @ 2500"]
    found = gather(result(name, 0) for name in names)
    assert found["friends"].xs == [0, 6, 12]
    assert found["size"].xs == [2500, 10000]


def test_it_takes_several_seeds_to_call_something_reproduced(series: dict[str, Series]) -> None:
    whole = judge(SPIDERCAST, ["S2"], "quick", series).ledger
    alone = msgspec.structs.replace(whole, seeds=[0])
    one = msgspec.structs.replace(whole.verdicts[0], reproduced=True)
    other = msgspec.structs.replace(one, reproduced=False)
    assert (whole.word(one), alone.word(one)) == ("reproduced", "holds")
    assert whole.word(other) == alone.word(other) == "not reproduced"
    assert "hold over one seed" in alone.summary
    assert "reproduced." in whole.summary


def test_a_check_that_does_not_count_is_shown_as_such(
    tmp_path: Path, series: dict[str, Series]
) -> None:
    whole = judge(SPIDERCAST, ["S1"], "quick", series)
    counted, shown = whole.ledger.verdicts
    assert (counted.uncounted, shown.uncounted) == ("", ADDED_LATER)
    held = msgspec.structs.replace(shown, reproduced=True)
    ledger = msgspec.structs.replace(
        whole.ledger, verdicts=[msgspec.structs.replace(counted, reproduced=False), held]
    )
    assert ledger.summary == "0 of 1 checks reproduced. Shown and not counted: 1."
    assert ledger.word(held) == "holds, not counted"
    assert ledger.word(shown) == "does not hold, not counted"
    write_markdown(tmp_path / "spider.md", whole, "feed", "a machine, a day")
    text = (tmp_path / "spider.md").read_text(encoding="utf-8")
    assert f"| does not hold, not counted | {ADDED_LATER} |" in text


def test_a_page_tells_which_line_is_of_which_version(
    tmp_path: Path, series: dict[str, Series]
) -> None:
    def of(name: str) -> str:
        return "new" if name.startswith("topics") else "old"

    results = [r for one in series.values() for r in one.each()]
    codes = {(r.fingerprint, r.seed): of(r.name) for r in results}
    judged = judge(SPIDERCAST, ["S1", "S7", "S9"], "quick", series, codes)
    columns, rows = ledger_rows(judged.ledger)
    assert columns[-1] == "code"
    found = {row[0]: row[-1] for row in rows}
    assert found == {"S1": "old", "S7": "new", "S9": "old, new"}
    columns, rows = settings_rows(series, COLUMNS, judged.codes)
    assert columns[-1] == "code"
    assert all(row[-1] == of(row[0]) for row in rows)
    write_markdown(tmp_path / "spider.md", judged, "old, new", "a machine, a day")
    assert "| topics | 100 | 3 |" in (tmp_path / "spider.md").read_text(encoding="utf-8")


def test_where_all_is_of_one_version_no_line_says_so(series: dict[str, Series]) -> None:
    results = [r for one in series.values() for r in one.each()]
    codes = {(r.fingerprint, r.seed): "one" for r in results}
    judged = judge(SPIDERCAST, ["S1"], "quick", series, codes)
    assert ledger_rows(judged.ledger)[0][-1] == "note"
    assert settings_rows(series, COLUMNS, judged.codes)[0][-1] != "code"


def test_the_setting_with_fewest_seeds_counts() -> None:
    results = [result("a @ 1", 0), *(result("b @ 1", seed) for seed in range(3))]
    assert judge(VITIS, ["V10"], "quick", gather(results)).ledger.seeds == [0]


def test_what_needs_no_runs_needs_no_seeds() -> None:
    ledger = judge(VITIS, ["V10"], "quick", {}).ledger
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
    tmp_path: Path, series: dict[str, Series], papers: list[str]
) -> None:
    judged = [judge(SPIDERCAST, papers, "quick", series)] if papers else []
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
