"""Writes a self-contained HTML page: sections of text, tables and pictures, no outside links."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from orbweaver.records.files import whole_file
from orbweaver.report.look import Picture, runtime

STYLE = """
:root { --ink: #22303c; --line: #dde2e8; --good: #2e7d4f; --bad: #b3423a; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto;
       max-width: 1400px; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p { max-width: 46rem; } code { background: #f2f4f7; padding: .1em .35em; border-radius: 4px; }
.lead { color: #55626f; } .plots { display: flex; flex-wrap: wrap; gap: 1.6rem 2.4rem;
         margin: 1rem 0; }
.verdict { font-size: 1.25rem; line-height: 1.4; max-width: 52rem; border-left: 4px solid #e07a5f;
           padding-left: .9rem; }
figure { margin: 0; max-width: 100%; overflow-x: auto; break-inside: avoid; }
figcaption { font-size: .85rem; color: #55626f; max-width: 46rem; }
.scroll { overflow-x: auto; margin-bottom: 1rem; }
table { border-collapse: collapse; font-size: .82rem; }
td.long { overflow-wrap: anywhere; } td { min-width: 2.8rem; }
th, td { padding: .35rem .5rem; border-bottom: 1px solid var(--line); text-align: right;
         vertical-align: top; } th { border-bottom-width: 2px; }
th:first-child, td:first-child, .text th, .text td { text-align: left; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
footer { margin-top: 3rem; font-size: .85rem; color: #55626f; }
@page { size: landscape; margin: 12mm; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } .scroll { overflow: visible; }
  table, figcaption { font-size: 8.5px; } th, td { padding: 2px 4px; } td { min-width: 0; }
  figure { overflow: visible; } figure svg { max-width: 100%; height: auto; }
  h2, thead { break-after: avoid; } tr { break-inside: avoid; } footer { margin-top: 1rem; } }
"""
DRAW = """
addEventListener("error", event => { document.body.dataset.error = event.message; });
const pictures = JSON.parse(document.getElementById("pictures").textContent);
window.drawn = Promise.all(pictures.map((picture, i) => vegaEmbed("#picture" + i, picture,
  {actions: false, renderer: "svg"})));
window.drawn.catch(error => { document.body.dataset.error = String(error); });
"""
"""Draws the pictures. What goes wrong is written where a test finds it."""

WORD_MAX = 18
"""Most letters of a word that a table of texts keeps on one line; no overlay's name has more."""


class Page:
    """A page collects sections; `write` puts them into one file."""

    def __init__(self, title: str, lead: str) -> None:
        self._title = title
        self._parts = [f"<h1>{escape(title)}</h1>", f'<p class="lead">{escape(lead)}</p>']
        self._pictures: list[Picture] = []

    def heading(self, text: str) -> None:
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

    def verdict(self, text: str) -> None:
        """Add the sentence that matters most."""
        self._parts.append(f'<p class="verdict">{escape(text)}</p>')

    def command(self, text: str) -> None:
        self._parts.append(f"<p><code>{escape(text)}</code></p>")

    def plots(self, pictures: Iterable[tuple[Picture | None, str]]) -> None:
        """Add pictures with captions, side by side. Those that are None are left out."""
        figures = []
        for picture, caption in pictures:
            if picture is not None:
                place = f'<div id="picture{len(self._pictures)}"></div>'
                self._pictures.append({"description": caption} | picture)
                figures.append(
                    f"<figure>{place}<figcaption>{escape(caption)}</figcaption></figure>"
                )
        if figures:
            self._parts.append(f'<div class="plots">{"".join(figures)}</div>')

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str]], text: bool = False
    ) -> None:
        """Add a table. Cells are text; verdicts are coloured. Long names are broken;
        beside numbers, which cannot be, every name is where there is no room."""
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        body = "".join(
            f"<tr>{''.join(_cell(cell, text, not i) for i, cell in enumerate(row))}</tr>"
            for row in rows
        )
        kind = ' class="text"' if text else ""
        self._parts.append(
            f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def write(self, path: Path, footer: str) -> None:
        html = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self._title)}</title><style>{STYLE}</style></head><body>"
            f"{''.join(self._parts)}<footer>{escape(footer)}</footer>{self._scripts()}"
            "</body></html>\n"
        )
        with whole_file(path) as temporary:
            temporary.write_text(html, encoding="utf-8")

    def _scripts(self) -> str:
        if not self._pictures:
            return ""
        # A name in the data must not end the script.
        pictures = json.dumps(self._pictures, separators=(",", ":")).replace("<", "\\u003c")
        return (
            "<noscript>The pictures need JavaScript.</noscript>"
            f'<script type="application/json" id="pictures">{pictures}</script>'
            f"<script>{runtime()}</script><script>{DRAW}</script>"
        )


def _cell(text: str, among_texts: bool, first: bool) -> str:
    kind = {"reproduced": "good", "holds": "good", "not reproduced": "bad"}.get(text, "")
    long = any(len(word) > WORD_MAX for word in text.split())
    if long if among_texts else first:
        kind = "long"
    told = f' class="{kind}"' if kind else ""
    return f"<td{told}>{escape(text)}</td>"
