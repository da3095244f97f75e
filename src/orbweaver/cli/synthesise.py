"""`orbweaver synthesise` makes a workload from a paper's model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from orbweaver.cli.options import Conf, Json, Master
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.terminal import out, print_json

MAGNET = "Categories and hierarchies (Vitis, Magnet)"
TRAFFIC = "Rates and churn"


def synthesise(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model: uniform, zipf:A, rss, nyse, exponential:S; vitis-random, vitis-low, "
            "vitis-high; multi-modal, spatial, hierarchical; omen-unif, omen-zipf, omen-expo.",
        ),
    ],
    out_dir: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder for the Parquet tables subscriptions, rates and, with --churn, churn.",
        ),
    ],
    nodes: Annotated[
        int | None, typer.Option(help="Number of nodes. [default: the paper's]")
    ] = None,
    topics: Annotated[
        int | None, typer.Option(help="Number of topics. [default: the paper's]")
    ] = None,
    subscriptions_per_node: Annotated[
        str | None,
        typer.Option(
            help="S, MIN:MAX or powerlaw:MIN:MAX:A; for spatial and hierarchical the mean "
            "(Magnet's t and Z). [default: the paper's]"
        ),
    ] = None,
    categories: Annotated[
        int | None,
        typer.Option(
            help="Number of categories, or buckets, of topics (b_n).", rich_help_panel=MAGNET
        ),
    ] = None,
    categories_per_node: Annotated[
        int | None,
        typer.Option(help="How many categories a node chooses (b_p).", rich_help_panel=MAGNET),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="multi-modal: power law inside a category.", rich_help_panel=MAGNET),
    ] = None,
    init_frac: Annotated[
        float | None,
        typer.Option(
            help="hierarchical: share of subscriptions drawn at first.", rich_help_panel=MAGNET
        ),
    ] = None,
    homophily: Annotated[
        float | None,
        typer.Option(
            help="hierarchical: lambda, how close new topics are to earlier ones.",
            rich_help_panel=MAGNET,
        ),
    ] = None,
    alpha0: Annotated[
        float | None,
        typer.Option(
            help="hierarchical: exponent of the density of popularity at first.",
            rich_help_panel=MAGNET,
        ),
    ] = None,
    rates: Annotated[
        str,
        typer.Option(
            help="Publication rates of topics: uniform or powerlaw:A.", rich_help_panel=TRAFFIC
        ),
    ] = "uniform",
    churn: Annotated[
        str | None,
        typer.Option(
            help="Joins and leaves: exponential:MEAN_ON:MEAN_OFF in seconds.",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    duration: Annotated[
        float, typer.Option(help="Seconds of churn.", rich_help_panel=TRAFFIC)
    ] = 1000,
    seed: Annotated[
        int, typer.Option(help="Seed of the workload; the same seed gives the same tables.")
    ] = 0,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Make a workload of any size from a paper's model.

    Writes Parquet tables that `simulate` and `compare` read, and prints how many rows they have.
    Without options a model has the settings of its paper. A node's subscriptions depend on the
    seed and its number alone, so the tables are the same on a laptop and on a cluster.

    Examples:

        orbweaver synthesise rss --nodes 10000 --topics 1000 --subscriptions-per-node 10:30
        --out workload

        orbweaver synthesise multi-modal --categories 50 --categories-per-node 5
        --rates powerlaw:0.75 --out workload

        orbweaver synthesise spatial --nodes 10000000 --churn exponential:300:75 --out big

        orbweaver simulate --overlay spidercast --subscriptions workload/subscriptions
    """
    given = {
        "nodes": nodes, "topics": topics, "subscriptions_per_node": subscriptions_per_node,
        "categories": categories, "categories_per_node": categories_per_node, "alpha": alpha,
        "init_frac": init_frac, "homophily": homophily, "alpha0": alpha0,
    }  # fmt: skip
    with lab_imports():
        from orbweaver.pipeline.synthesise.job import Recipe, prepare, run
        from orbweaver.workload.models.catalog import make_plan
    recipe = Recipe(make_plan(model, given), seed, rates, churn, duration)
    job = prepare(recipe, out_dir)
    spark = start_spark(master, "synthesise", conf)
    started = time.monotonic()
    made = run(spark, job)
    seconds = time.monotonic() - started
    if json:
        print_json(made | {"out": str(out_dir), "seconds": round(seconds, 3)})
        return
    rows = ", ".join(f"{count:,} {name}" for name, count in made["tables"].items())
    out.print(f"{out_dir}: {rows} in {seconds:.1f} s", soft_wrap=True)
