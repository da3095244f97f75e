"""`orbweaver overlays` lists the overlays."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from orbweaver.cli.terminal import out, print_json, show
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import describe
from orbweaver.overlays.catalog import OVERLAYS, find


def overlays(
    name: Annotated[str | None, typer.Argument(help="Show this overlay only.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the overlays: their paper, what they promise, and their parameters.

    Each parameter has its default and where the default comes from. Set it with
    `simulate --set NAME=VALUE` or `node --set NAME=VALUE`. An overlay of your own is named
    `module:Class`.

    Example:

        orbweaver overlays vitis
    """
    chosen = [find(name)] if name else list(OVERLAYS.values())
    if json:
        print_json({overlay.name: as_plain(overlay) for overlay in chosen})
        return
    for overlay in chosen:
        _print(overlay)


def as_plain(overlay: type[Overlay]) -> dict[str, Any]:
    return {
        "summary": overlay.summary,
        "paper": overlay.paper,
        "claims": dataclasses.asdict(overlay.claims(overlay.Params())),
        "parameters": [dataclasses.asdict(info) for info in describe(overlay.Params)],
    }


def _print(overlay: type[Overlay]) -> None:
    claims = overlay.claims(overlay.Params())
    out.print(Text.assemble((overlay.name, "bold"), f"  {overlay.summary}"), soft_wrap=True)
    out.print(f"  from     {overlay.paper or '-'}", soft_wrap=True)
    promised = [
        text
        for held, text in (
            (claims.noiseless, "noiseless"),
            (claims.topic_connected, "topic-connected"),
            (claims.total_delivery, "total delivery"),
        )
        if held
    ]
    promised.append(f"degree bound: {claims.degree_bound}")
    out.print(f"  promises {'; '.join(promised)}", soft_wrap=True)
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("  parameter", no_wrap=True)
    grid.add_column("default", no_wrap=True)
    grid.add_column("meaning (where the default comes from)")
    for info in describe(overlay.Params):
        choices = f"; one of {info.type.replace('|', ', ')}" if "|" in info.type else ""
        meaning = Text.assemble(f"{info.description}{choices} ", (f"({info.source})", "dim"))
        grid.add_row(f"  {info.name}", show(info.default), meaning)
    out.print(grid)
    out.print()
