"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object as the last line on stdout.")
]
Master = Annotated[
    str | None, typer.Option(help="Spark master or Connect URL. [default: local[*]]")
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A setting of Spark, such as spark.executor.memory=4g; may be given several times.",
    ),
]
SEED = 0
"""Default seed of commands that run once: the first of `SEEDS`."""
SEEDS = "0-2"
"""Default seeds of commands that run a scenario several times. Three is the lowest number with
which a claim can be judged reproduced. All commands share it, so that they share finished runs."""
Seeds = Annotated[str, typer.Option(help="Run once for each of these seeds, as in 0-2 or 1,5,9.")]
STORE = "out/store"
Store = Annotated[
    str,
    typer.Option(
        metavar="DIR|URL", help="Where finished runs are kept: a folder, or s3://, gs://, abfs://."
    ),
]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="How to reach a store at an address, such as AWS_ENDPOINT_URL=http://HOST:9000; may "
        "be given several times.",
    ),
]
HtmlPage = Annotated[Path, typer.Option("--out", help="Write the HTML page here.")]

# -- Options of the workload: None leaves the value of the scenario, or the default.

Nodes = Annotated[int | None, typer.Option(help="Number of nodes. [default: 1000]")]
Topics = Annotated[int | None, typer.Option(help="Number of topics. [default: 100]")]
SubscriptionsPerNode = Annotated[
    str | None,
    typer.Option(help="S for all nodes, or MIN:MAX to draw a number for each. [default: 10]"),
]
Popularity = Annotated[
    str | None,
    typer.Option(
        help="How subscriptions spread over topics: uniform, zipf:A, rss, nyse, exponential:S, "
        "buckets:GROUPS:TAKEN, multi-modal:GROUPS:TAKEN:A, spatial or "
        "hierarchical:INITFRAC:LAMBDA:ALPHA0. "
        "[default: zipf:0.5]"
    ),
]
SubscriptionTable = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR|FILE",
        help="Your own subscriptions: CSV or Parquet with columns node,topic (or say --columns), "
        "commas, semicolons, tabs or spaces between the cells, or what "
        "`orbweaver ingest`, `sample` or `synthesise` wrote.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Which two columns of the table are node and topic, as names or numbers: user,group "
        "or 1,3. [default: node,topic]"
    ),
]
TableHeader = Annotated[
    Literal["auto", "yes", "no"] | None,
    typer.Option(
        "--header", help="Whether the table begins with a header. [default: auto, found out]"
    ),
]
Churn = Annotated[
    str | None,
    typer.Option(
        # Not `ON:OFF`, which the help would show as an emoji.
        help="When nodes come and go: a table time,node,kind (time in ms; kind join, leave or "
        "crash), or exponential:MEAN_ON:MEAN_OFF "
        "in seconds."
    ),
]
