"""`orbweaver design` plans links for known subscriptions, at one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orbweaver.cli.links import write_links
from orbweaver.cli.options import SEED, Columns, Json, TableHeader
from orbweaver.cli.scenario import tell_table
from orbweaver.cli.spark import lab_imports
from orbweaver.cli.terminal import err, out, print_json, show, table
from orbweaver.core.errors import UsageError
from orbweaver.records.files import check_file
from orbweaver.workload.links import read_links
from orbweaver.workload.scenario import WorkloadSpec
from orbweaver.workload.subscriptions import load_subscriptions
from orbweaver.workload.tables import table_in

TITLES = {"gm": "GM", "lowoda": "LowODA", "minmaxoda": "MinMaxODA"}


def design(
    subscriptions: Annotated[
        Path,
        typer.Option(
            metavar="DIR|FILE",
            help="What each node subscribes to: CSV or Parquet with columns node,topic (or say "
            "--columns), or what `orbweaver ingest`, `sample` or `synthesise` wrote.",
        ),
    ],
    out_file: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Write the links here: CSV, columns a,b.")
    ],
    algorithm: Annotated[
        str, typer.Option(help="gm, lowoda or minmaxoda; see the list above.")
    ] = "lowoda",
    rho: Annotated[
        float | None,
        typer.Option(
            help="lowoda: how many times better a link must be to raise the maximum degree, 1 or "
            "more. [default: 3]"
        ),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Existing links, columns a,b: keep them all and add what is missing. Links of "
            "nodes without subscriptions are left out.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed that decides between equally good links.")] = SEED,
    columns: Columns = None,
    header: TableHeader = None,
    json: Json = False,
) -> None:
    """Plan the links of an overlay from all subscriptions at once.

    With these links the subscribers of each topic are connected through subscribers of the topic
    alone. Writes the links as CSV. Prints the mean and the maximum degree (links of a node) and a
    lower bound that no such overlay can go below.

    Algorithms:

    - `lowoda`: few links, and few at each node. A link that raises the maximum degree must be
      --rho times better than the best that does not.
    - `gm`: the fewest links; some nodes have very many.
    - `minmaxoda`: the lowest maximum degree; more links in all.

    The plan needs two bytes for each pair of nodes: 200 MB for 10,000 nodes. The first design
    after an installation takes some seconds longer, to compile.

    Examples:

        orbweaver design --subscriptions my.csv --out links.csv

        orbweaver design --subscriptions now.csv --links links.csv --out links.csv

        orbweaver simulate --overlay static --links links.csv --subscriptions my.csv
    """
    with lab_imports():
        from orbweaver.design.plan import design as plan_links
        from orbweaver.design.rules import RHO, Rule
    rule = Rule(algorithm, RHO if rho is None else rho)  # type: ignore[arg-type]
    if rho is not None and algorithm != "lowoda":
        raise UsageError(
            f"--rho {rho:g} is for lowoda; {algorithm} has no such setting: leave it out"
        )
    check_file(out_file)
    workload = WorkloadSpec(file=str(subscriptions), columns=columns or "", header=header or "auto")
    tell_table(workload)
    source = load_subscriptions(table_in(subscriptions, "subscriptions"), workload.reading())
    given = read_links(links, source.labels) if links is not None else None
    if given is not None and given.left_out:
        others = len(given.strangers) - 1
        err.print(
            f"{links}: {given.left_out:,} links left out, since '{given.strangers[0]}'"
            f"{f' and {others:,} more nodes' if others else ''} of it have no subscriptions",
            soft_wrap=True,
        )
    with err.status("designing"):
        plan = plan_links(source.of_node, rule, seed, given.links if given is not None else ())
    write_links(plan.links, source.labels, out_file)
    if json:
        print_json(
            {
                "algorithm": algorithm,
                "rho": rule.rho if algorithm == "lowoda" else None,
                "seed": seed,
                "nodes": len(source.labels),
                "topics": len(source.topics),
                "subscriptions": sum(map(len, source.of_node)),
                "links": len(plan.links),
                "links_given": len(plan.given),
                "links_left_out": given.left_out if given is not None else 0,
                "degree_max": plan.degree_max,
                "degree_mean": plan.degree_mean,
                "degree_max_bound": plan.bounds.degree_max,
                "degree_mean_bound": plan.bounds.degree_mean,
                "out": str(out_file),
            }
        )
        return
    name = TITLES[algorithm] + (f"({rule.rho:g})" if algorithm == "lowoda" else "")
    out.print(
        f"{name} for {len(source.labels):,} nodes, {len(source.topics):,} topics and "
        f"{sum(map(len, source.of_node)):,} subscriptions, seed {seed}",
        soft_wrap=True,
    )
    grid = table("", "degree", "mean", "maximum")
    grid.add_row("of the plan", show(plan.degree_mean), show(plan.degree_max))
    grid.add_row("lower bound", show(plan.bounds.degree_mean), show(plan.bounds.degree_max))
    out.print(grid)
    kept = f", {len(plan.given):,} of them given" if given is not None else ""
    out.print(f"{len(plan.links):,} links{kept}, in {out_file}", soft_wrap=True)
