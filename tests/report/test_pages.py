"""Pages as they are looked at: nothing fails, no label lies over another, nothing is cut off."""

from __future__ import annotations

import dataclasses
import re
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from orbweaver.report.charts import curves
from orbweaver.report.costs import Panel, panels
from orbweaver.report.look import runtime, svg
from orbweaver.report.page import STYLE, WORD_MAX, Page
from tests.report.browser import CHROMIUM, measured
from tests.report.pages import PAGES

WIDTH = 1300
"""Pixels of a window in which no column may be cut off."""
PAPER = 1030
"""Pixels between the margins of a sheet of A4 on its side."""
BYTES_MAX = 2_000_000
"""Largest size of a page, with the JavaScript that draws its pictures."""
EM = 16
"""Pixels of the browser's own letters, which the style's rem is counted in."""
LETTER_EM, BAR = 0.56, 15
"""The width of a letter or digit over the height of its font; pixels of a scroll bar."""
TOUCH = 1.0
"""Pixels by which the boxes around two labels may lie on each other, since letters do not fill
them."""
SEEN = """({
  error: document.body.dataset.error || "",
  broken: [...document.querySelectorAll("td")].flatMap(td => {
    const text = td.firstChild, found = [];
    for (const word of text ? text.data.matchAll(/[A-Za-z]{2,18}/g) : []) {
      if (td.classList.contains("long")) continue;
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (range.getClientRects().length > 1) found.push(word[0]);
    }
    return found;
  }),
  wide: [...document.querySelectorAll(".scroll, figure")].map(e => [e.clientWidth, e.scrollWidth]),
  pictures: [...document.querySelectorAll("figure svg.marks")].map(svg => ({
    labels: [...svg.querySelectorAll("text")].filter(
        e => e.textContent && e.getAttribute("opacity") !== "0").map(e => {
      const box = e.getBoundingClientRect();
      return [e.textContent, box.left, box.top, box.right, box.bottom];
    }),
    axes: [...svg.querySelectorAll(".role-axis-label")].map(axis =>
      [...axis.querySelectorAll("text")].filter(
        e => e.textContent && e.getAttribute("opacity") !== "0").length),
    discs: svg.closest("figure").lastChild.textContent.includes("the area"),
    marks: svg.querySelectorAll(".mark-symbol path, .mark-line path, .mark-area path").length,
  })),
})"""


def styled(pattern: str) -> float:
    found = re.search(pattern, STYLE, re.DOTALL)
    assert found, f"the style has no {pattern}"
    return float(found[1])


@dataclasses.dataclass
class Drawn:
    """A page, and what a browser makes of it."""

    path: Path
    text: str
    seen: Any

    @property
    def pictures(self) -> int:
        return self.text.count("<figure>")


@pytest.fixture(scope="module", params=PAGES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "page.html"
    PAGES[request.param](path)
    seen = measured(path, SEEN, WIDTH, folder) if CHROMIUM is not None else None
    return Drawn(path, path.read_text(encoding="utf-8"), seen)


in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def test_a_page_is_one_file_of_a_moderate_size(drawn: Drawn) -> None:
    assert drawn.path.stat().st_size < BYTES_MAX
    without_scripts = re.sub("<script.*?</script>", "", drawn.text, flags=re.DOTALL)
    assert not re.search(r"x\^|x_min|p = 0[^.]", without_scripts), "raw maths"
    assert not re.search(r"(src|href)=", without_scripts)
    assert drawn.pictures >= 1


@in_a_browser
def test_every_picture_is_drawn_without_an_error(drawn: Drawn) -> None:
    assert drawn.seen["error"] == ""
    assert len(drawn.seen["pictures"]) == drawn.pictures
    assert all(picture["marks"] for picture in drawn.seen["pictures"])


@in_a_browser
def test_no_label_lies_on_another(drawn: Drawn) -> None:
    for picture in drawn.seen["pictures"]:
        for (one, *a), (other, *b) in combinations(picture["labels"], 2):
            across = min(a[2], b[2]) - max(a[0], b[0])
            down = min(a[3], b[3]) - max(a[1], b[1])
            assert min(across, down) <= TOUCH, f"'{one}' and '{other}' lie on each other"


@in_a_browser
def test_each_axis_with_labels_has_at_least_two(drawn: Drawn) -> None:
    for picture in drawn.seen["pictures"]:
        assert all(labels >= 2 for labels in picture["axes"])


@in_a_browser
def test_nothing_is_cut_off_in_a_browser(drawn: Drawn) -> None:
    assert len(drawn.seen["wide"]) == drawn.text.count('<div class="scroll">') + drawn.pictures
    assert [there for there, needed in drawn.seen["wide"] if needed > there] == []


@in_a_browser
def test_words_of_a_table_stay_on_a_line(drawn: Drawn) -> None:
    assert drawn.seen["broken"] == []


@in_a_browser
def test_the_room_for_discs_has_no_number_below_zero(drawn: Drawn) -> None:
    trade_offs = [found for found in drawn.seen["pictures"] if found["discs"]]
    labels = [text for picture in trade_offs for text, *_ in picture["labels"]]
    assert [text for text in labels if re.fullmatch("[-\N{MINUS SIGN}][0-9.,]+", text)] == []


@in_a_browser
@pytest.mark.parametrize("name", ["compare", "report of no paper"])
def test_nothing_is_cut_off_on_paper(name: str, tmp_path: Path) -> None:
    """Of the pages with the widest tables, as a browser prints them."""
    page = tmp_path / "page.html"
    PAGES[name](page)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("@media print", "@media all"), encoding="utf-8")
    seen = measured(page, SEEN, PAPER, tmp_path)
    assert [there for there, needed in seen["wide"] if needed > there] == []


def test_tables_are_narrow_enough(drawn: Drawn) -> None:
    """By the longest word of each column: a text is folded between words, a number is not."""
    side = EM * styled(r"body {.*?padding: \S+ ([\d.]+)rem")
    room = min(WIDTH - BAR, styled(r"body {.*?max-width: (\d+)px")) - 2 * side
    padding = 2 * EM * styled(r"th, td {.*?padding: \S+ ([\d.]+)rem")
    letter = LETTER_EM * EM * styled(r"table {.*?font-size: ([\d.]+)rem")
    least = EM * styled(r"td {.*?min-width: ([\d.]+)rem")
    tables = re.findall(r"<table(.*?)>(.*?)</table>", drawn.text)
    assert tables
    for kind, table in tables:
        rows = [
            re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
            for row in re.findall("<tr>(.*?)</tr>", table)
        ]
        columns = [list(map(longest_word, column)) for column in zip(*rows, strict=True)]
        folded = WORD_MAX if "text" in kind else 0
        for i in range(len(columns) if "text" in kind else 1):
            columns[i] = [letters if letters <= folded else 0 for letters in columns[i]]
        needed = sum(padding + max(least, letter * max(letters)) for letters in columns)
        assert needed <= room, f"{rows[0]} need {needed:.0f} pixels of {room:.0f}"


def longest_word(cell: str) -> int:
    return max(map(len, cell.split()), default=0)


@in_a_browser
def test_a_failing_picture_is_noticed(tmp_path: Path) -> None:
    page = Page("a page", "with a picture that cannot be drawn")
    page.plots([({"mark": "no such mark", "data": {"values": [{}]}}, "a caption")])
    page.write(tmp_path / "page.html", "")
    assert measured(tmp_path / "page.html", SEEN, WIDTH, tmp_path)["error"]


def test_a_name_in_the_data_ends_no_script(tmp_path: Path) -> None:
    page = Page("a page", "")
    found = panels([Panel("n", {"</script><b>": 1.0})], ["</script><b>"])
    page.plots([(found, "a caption")])
    page.write(tmp_path / "page.html", "")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("</script>") == text.count("<script") == 3
    assert "<b>" not in text.replace(runtime(), "")


def test_a_picture_for_a_file_that_is_not_html() -> None:
    curve = {1.0: (2.0, 0.5), 2.0: (40_000.0, 0.5)}
    found = svg(curves({"a $1 plan": curve}, "nodes", "links"))
    told = [e.text for e in ElementTree.fromstring(found).iter() if e.tag.endswith("}text")]
    assert {"a $1 plan", "nodes", "links", "0", "100", "10k"} <= set(told)


def test_values_far_apart_are_on_an_axis_that_has_a_place_for_zero() -> None:
    for high, kind in ((29.0, None), (40_000.0, "symlog")):
        found = curves({"a": {1.0: (0.0, 0.0), 2.0: (high, 0.0)}}, "x", "y")
        assert found["layer"][0]["encoding"]["y"]["scale"].get("type") == kind
