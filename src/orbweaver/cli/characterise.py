"""`orbweaver characterise` describes a workload."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import typer

from orbweaver.cli.options import Columns, Conf, Json, Master, TableHeader
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.terminal import err, out, print_json, show, table
from orbweaver.core.errors import UsageError, nearest
from orbweaver.records.files import check_file
from orbweaver.workload.dialect import Reading
from orbweaver.workload.subscriptions import SUBSCRIPTION_COLUMNS
from orbweaver.workload.tables import told_layout

if TYPE_CHECKING:
    from orbweaver.pipeline.characterise.tdi import Method
    from orbweaver.pipeline.characterise.workload import Character

METHODS = ("exact", "sample", "minhash")


def characterise(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE",
            help="A CSV or Parquet file with columns node,topic (or say --columns), a Parquet "
            "folder, or what `orbweaver synthesise` wrote.",
        ),
    ],
    columns: Columns = None,
    header: TableHeader = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write an HTML page with plots here.")
    ] = None,
    d: Annotated[
        int, typer.Option("--d", help="How many most similar nodes tdi(d) compares with.", min=1)
    ] = 20,
    approximate: Annotated[
        bool | None,
        typer.Option(
            "--approximate/--exact",
            help="Take tdi from a sample of nodes, with its error, or from all. "
            "[default: exact up to 50,000 nodes]",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="How to approximate: 'sample', or 'minhash' to compare candidates only."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample of nodes.")] = 0,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Describe a workload: popularity, sizes, similarity and locality of interests.

    Prints how many nodes a topic has and how many topics a node has, each with a power-law fit.
    tdi(d) says how similar interests are (SpiderCast). Locality says how few friends cover
    everything that a node subscribes to (Rappel). --out writes a page with plots.

    Examples:

        orbweaver characterise my.csv --out my.html

        orbweaver characterise workload --approximate --json

        orbweaver synthesise zipf:1 --out workload && orbweaver characterise workload --d 40
    """
    chosen = choose_method(approximate, method)
    if out_file is not None:
        check_file(out_file)
    found = _run(path, Reading(columns or "", header or "auto"), d, chosen, seed, master, conf)
    if out_file is not None:
        from orbweaver.pipeline.characterise.page import write_page

        command = again(path, out_file, d, chosen, seed)
        write_page(out_file, path.resolve().name, command, found)
    if json:
        plain: dict[str, Any] = {"source": str(path)} | msgspec.to_builtins(found)
        print_json(plain | {"page": str(out_file) if out_file else None})
        return
    print_character(path, found)
    if out_file is not None:
        out.print(f"The page with plots: {out_file}", soft_wrap=True)


def _run(
    path: Path,
    read: Reading,
    d: int,
    method: Method | None,
    seed: int,
    master: str | None,
    conf: list[str] | None,
) -> Character:
    with lab_imports():
        from orbweaver.pipeline.characterise.source import locate, read_pairs
        from orbweaver.pipeline.characterise.workload import characterise as describe
        from orbweaver.pipeline.dataset import explained_failures
    source = locate(path, read)
    if source.layout is not None and (told := told_layout(path, SUBSCRIPTION_COLUMNS, read)):
        err.print(told, soft_wrap=True)
    spark = start_spark(master, "characterise", conf)
    with explained_failures():
        return describe(read_pairs(spark, source), d, method, seed)


def choose_method(approximate: bool | None, method: str | None) -> Method | None:
    if method is not None and method not in METHODS:
        raise UsageError(f"unknown method '{method}': {nearest(method, METHODS)}")
    if method is not None and (approximate is False) != (method == "exact"):
        wanted = "--exact" if method == "exact" else "--approximate"
        if approximate is not None:
            raise UsageError(f"--method {method} needs {wanted}, not its opposite")
    if method is None and approximate is not None:
        method = "sample" if approximate else "exact"
    return cast("Method | None", method)


def again(path: Path, out_file: Path, d: int, method: str | None, seed: int) -> str:
    parts = ["orbweaver", "characterise", str(path), "--out", str(out_file), "--d", str(d)]
    if method is not None:
        parts += ["--exact"] if method == "exact" else ["--approximate", "--method", method]
    return shlex.join([*parts, "--seed", str(seed)])


def print_character(path: Path, found: Character) -> None:
    from orbweaver.pipeline.characterise.page import describe_tdi, verdict

    title = (
        f"{path}: {found.nodes:,} nodes, {found.topics:,} topics, "
        f"{found.subscriptions:,} subscriptions"
    )
    grid = table(title, "", "mean", "median", "max", "exponent", "from", "values", "KS")
    rows = (("nodes of a topic", found.popularity), ("topics of a node", found.sizes))
    for name, of in rows:
        cells = ["-"] * 4
        if of.fit is not None:
            fit = of.fit
            exponent = f"{fit.alpha:.2f} ± {fit.sigma:.2f}"
            cells = [exponent, show(fit.x_min), show(fit.tail), show(fit.ks)]
        grid.add_row(name, f"{of.mean:,.2f}", show(of.median), show(of.max), *cells)
    out.print(grid)
    for name, of in rows:
        out.print(f"{name}: {verdict(of)}", soft_wrap=True)
    out.print(describe_tdi(found.tdi), soft_wrap=True)
    if found.locality is not None:
        covered = found.locality.fully_covered
        few = ", ".join(f"{k}: {100 * covered[k - 1]:.0f} %" for k in (1, 2, 4, 6, 8, 10))
        out.print(f"nodes whose topics k friends cover, among nodes with 5 topics or more: {few}")
    if found.rejected or found.repeated:
        err.print(
            f"left out {found.rejected:,} rows that are not a node and a topic, and "
            f"{found.repeated:,} repeated rows"
        )
