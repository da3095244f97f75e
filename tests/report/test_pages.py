"""Pages as they are looked at: plain labels, none over another, and tables that fit."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from orbweaver.report import plots
from orbweaver.report.page import STYLE
from tests.report.browser import CHROMIUM, measured
from tests.report.pages import PAGES

WIDTH = 1300
"""Pixels of a window in which no column may be cut off."""
EM = 16
"""Pixels of the browser's own letters, which the style's rem is counted in."""
LETTER_EM, BAR = 0.56, 15
"""The width of a letter or digit over the height of its font; pixels of a scroll bar."""


def styled(pattern: str) -> float:
    found = re.search(pattern, STYLE, re.DOTALL)
    assert found, f"the style has no {pattern}"
    return float(found[1])


class Drawn:
    """A page and the figures that were drawn for it."""

    def __init__(self, path: Path, figures: list[Figure]) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.figures = figures


@pytest.fixture(scope="module", params=PAGES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    path = tmp_path_factory.mktemp("page") / "page.html"
    figures: list[Figure] = []
    save = Figure.savefig

    def savefig(figure: Figure, *arguments: Any, **options: Any) -> None:
        save(figure, *arguments, **options)
        figures.append(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        PAGES[request.param](path)
    return Drawn(path, figures)


def pictures(text: str) -> list[str]:
    found = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", text)
    return [base64.b64decode(one).decode() for one in found]


def test_no_label_is_the_source_of_a_formula(drawn: Drawn) -> None:
    found = pictures(drawn.text)
    assert found
    for picture in found:
        # Matplotlib draws letters as shapes, and writes the text beside them as a comment.
        labels = re.findall("<!-- (.*?) -->", picture)
        assert labels or "axes_1" in picture
        assert not [label for label in labels if "$" in label or "\\" in label]
    assert "mathdefault" not in drawn.text


def test_no_label_of_an_axis_lies_on_another(drawn: Drawn) -> None:
    assert drawn.figures
    for figure in drawn.figures:
        (axes,) = figure.axes
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label for label in shown(axis) if not label.get_rotation()]
            boxes = [(label.get_text(), label.get_window_extent()) for label in labels]
            over = [
                (a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)
            ]
            assert not over, f"labels of {axis.get_label_text()} lie on each other"


def shown(axis: Any) -> Iterator[Any]:
    low, high = sorted(axis.get_view_interval())
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if tick.label1.get_visible() and tick.label1.get_text() and low <= tick.get_loc() <= high:
            yield tick.label1


def test_each_axis_has_at_least_two_labels(drawn: Drawn) -> None:
    for figure in drawn.figures:
        (axes,) = figure.axes
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            assert len(list(shown(axis))) >= 2, axis.get_label_text()


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
        wide = [max(map(longest_word, column)) for column in zip(*rows, strict=True)]
        folded = range(len(wide)) if "text" in kind else (0,)
        needed = sum(
            padding + (least if i in folded else max(least, letter * letters))
            for i, letters in enumerate(wide)
        )
        assert needed <= room, f"{rows[0]} need {needed:.0f} pixels of {room:.0f}"


def longest_word(cell: str) -> int:
    return max(map(len, cell.split()), default=0)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_no_column_is_cut_off_in_a_browser(drawn: Drawn, tmp_path: Path) -> None:
    script = "[...document.querySelectorAll('.scroll')].map(e => [e.clientWidth, e.scrollWidth])"
    found = measured(drawn.path, script, WIDTH, tmp_path)
    assert len(found) == drawn.text.count("<table")
    assert [there for there, needed in found if needed > there] == []


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.001, "0.001"), (0.5, "0.5"), (1, "1"), (20_000, "20,000"), (1e6, "10⁶"), (2e-4, "2·10⁻⁴")],
)
def test_numbers_of_a_log_axis(number: float, text: str) -> None:
    assert plots.plain_number(number) == text


def test_dollar_signs_of_a_name_stay() -> None:
    picture = plots.bars({"a $1 plan": 1.0, "a $2 plan": 200_000.0}, "links")
    assert "<!-- a $1 plan -->" in picture
    assert "<!-- 10,000 -->" in picture
