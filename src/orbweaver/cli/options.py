"""Options that several commands have, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Json = Annotated[bool, typer.Option("--json", help="The last line on stdout is one JSON object.")]
Master = Annotated[
    str | None, typer.Option(help="Spark master or Connect URL. [default: local[*]]")
]
SEED = 0
"""Default of commands that run once: the first of `SEEDS`."""
SEEDS = "0-2"
"""Default of commands that run scenarios over several seeds: as many as it takes to call a check
of a claim reproduced. All have the same, so that a run of one is a run of the others."""
Seeds = Annotated[str, typer.Option(help="Seeds, as in 0-2 or 1,5,9.")]
Store = Annotated[Path, typer.Option(help="Where results are kept.")]
HtmlPage = Annotated[Path, typer.Option("--out", help="Where the HTML page goes.")]

# -- of the workload: None leaves the scenario's, or the default

Nodes = Annotated[int | None, typer.Option(help="Number of nodes. [default: 1000]")]
Topics = Annotated[int | None, typer.Option(help="Number of topics. [default: 100]")]
SubscriptionsPerNode = Annotated[
    str | None, typer.Option(help="S, or MIN:MAX to draw it for each node. [default: 10]")
]
Popularity = Annotated[
    str | None,
    typer.Option(
        help="uniform, zipf:A, rss, nyse, exponential:S or buckets:GROUPS:TAKEN. "
        "[default: zipf:0.5]"
    ),
]
SubscriptionTable = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR|FILE",
        help="Your own data instead: CSV or Parquet with columns node,topic (or say --columns), "
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
    typer.Option("--header", help="Does the table begin with a header? [default: found out]"),
]
Churn = Annotated[
    str | None,
    typer.Option(
        # Not ON:OFF, which the help would show as a picture.
        help="A table time,node,kind (ms; join, leave or crash), or exponential:MEAN_ON:MEAN_OFF "
        "in seconds."
    ),
]
