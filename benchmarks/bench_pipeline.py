"""How fast does a follower graph go through ingest and a breadth-first sample?

Spark itself makes the graph and writes it as text, once: every edge has a uniform follower, and a
followed user of power-law popularity (the r-th most followed has about r^-0.75 of the followers of
the first, so that in-degrees have a power law of about 2.3). For comparison, the table has the time
in which Spark reads the same file and counts its lines; no program that reads the file can be
faster. Seconds are of the wall clock: the work is in the JVM.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from orbweaver.pipeline.ingest.job import prepare
from orbweaver.pipeline.ingest.run import ingest
from orbweaver.pipeline.sample.methods import build_settings
from orbweaver.pipeline.sample.run import sample
from orbweaver.pipeline.session import spark_session

T = TypeVar("T")

SKEW = 4
"""Exponent of ranks: a rank is the SKEW-th power of a uniform draw, which makes shares fall as
r^(1/SKEW - 1)."""


def timed(action: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def write_graph(spark: SparkSession, path: Path, edges: int, users: int, seed: int) -> None:
    """Write the graph, drawn from a hash of the row, so that it does not depend on partitions."""

    def draw(purpose: str) -> Column:
        return (F.xxhash64(F.lit(seed), F.lit(purpose), "id") / 2.0**64) + 0.5

    follower = F.floor(draw("follower") * users)
    followed = F.floor(F.pow(draw("followed"), F.lit(SKEW)) * users)
    # Names are scattered, as in a real trace: the most followed are not the lowest numbers.
    scattered = F.pmod(F.xxhash64(F.lit(seed), followed), F.lit(10**9))
    lines = F.concat_ws("\t", F.pmod(F.xxhash64(F.lit(seed), follower), F.lit(10**9)), scattered)
    spark.range(edges).select(lines.alias("value")).write.text(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--edges", type=int, default=2_000_000)
    parser.add_argument("--follows", type=int, default=20, help="edges for each user, on average")
    parser.add_argument("--nodes", type=int, default=10_000, help="of the sample")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--master", default=None)
    args = parser.parse_args()
    spark = spark_session(args.master)
    with tempfile.TemporaryDirectory() as scratch:
        text, tables = Path(scratch, "edges"), Path(scratch, "tables")
        users = max(2, args.edges // args.follows)
        _, making = timed(lambda: write_graph(spark, text, args.edges, users, args.seed))
        read = spark.read.text(str(text))
        # The first is warm-up, for the JVM and for the disk's cache.
        read.count()
        lines, plain = timed(read.count)
        job = prepare("directed-edges", [str(text)], tables, {"direction": "follower-first"})
        report, ingesting = timed(lambda: ingest(spark, job))
        given = {"nodes": args.nodes, "seeds": args.seeds}
        settings = build_settings("bfs", args.seed, given)
        taken, sampling = timed(lambda: sample(spark, tables, Path(scratch, "sample"), settings))
    assert lines == report.entries == args.edges
    table = Table(title=f"A follower graph of {args.edges:,} edges through the pipeline")
    table.add_column("stage")
    for column in ("rows in", "rows out", "s", "rows in/s", "x plain read"):
        table.add_column(column, justify="right")
    kept = report.tables["subscriptions"]
    for stage, rows_in, rows_out, seconds in (
        ("make and write the text", args.edges, args.edges, making),
        ("plain read and count", lines, 1, plain),
        ("ingest", lines, kept, ingesting),
        (
            f"sample {taken.nodes:,}, {taken.hops} hops",
            kept,
            taken.tables["subscriptions"],
            sampling,
        ),
    ):
        table.add_row(
            stage,
            f"{rows_in:,}",
            f"{rows_out:,}",
            f"{seconds:.1f}",
            f"{rows_in / seconds:,.0f}",
            f"{seconds / plain:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
