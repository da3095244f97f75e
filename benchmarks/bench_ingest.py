"""What does ingest cost, relative to a plain Spark job and to pyarrow with the same result?

The file is the follower graph of `bench_pipeline.py`. All three write the subscriptions as Parquet,
each once and in order, without self-loops, and count lines, nodes, topics and the most of each. The
plain job trusts the file: it reads it as CSV and looks for no defects. Its table alone, without the
counts, is measured as well. In every second round the order is turned round. Seconds are of the
processor, for all processes; the lowest of all rounds is printed, and the quotient of the lowest.

    python benchmarks/bench_ingest.py --edges 1000000 10000000 20000000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from bench_pipeline import write_graph
from bench_sweep import processor_seconds
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from orbweaver.pipeline.ingest.job import prepare
from orbweaver.pipeline.ingest.run import ingest
from orbweaver.pipeline.ingest.table_facts import of_subscriptions
from orbweaver.pipeline.session import spark_session

Counted = dict[str, int]
COLUMNS = ("node", "topic")


def ours(spark: SparkSession, text: Path, out: Path) -> Counted:
    job = prepare("directed-edges", [str(text)], out, {"direction": "follower-first"})
    report = ingest(spark, job)
    return {"lines": report.entries, **report.facts}


def plain_table(spark: SparkSession, text: Path, out: Path) -> DataFrame:
    rows = spark.read.csv(str(text), sep="\t", schema="node string, topic string")
    once = rows.where("node != topic").distinct().orderBy(*COLUMNS)
    once.write.parquet(str(out))
    return spark.read.parquet(str(out))


def plain(spark: SparkSession, text: Path, out: Path) -> Counted:
    rows = plain_table(spark, text, out)
    return {"lines": spark.read.text(str(text)).count(), **of_subscriptions(rows)}


def arrow(text: Path, out: Path) -> Counted:
    form = ds.CsvFileFormat(
        csv.ParseOptions(delimiter="\t"),
        read_options=csv.ReadOptions(column_names=COLUMNS),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string())),
    )
    read = ds.dataset(sorted(text.glob("part-*")), format=form).to_table()
    once = read.filter(pc.field("node") != pc.field("topic")).group_by(COLUMNS).aggregate([])
    once = once.sort_by([(name, "ascending") for name in COLUMNS])
    pq.write_table(once, out)
    counts = [pc.value_counts(once[name]).field("counts") for name in COLUMNS]
    names = ("nodes", "subscriptions_per_node_max", "topics", "nodes_per_topic_max")
    values = [f(of) for of in counts for f in (len, lambda of: pc.max(of).as_py())]
    return {"lines": len(read), **dict(zip(names, values, strict=True))}


def compare(spark: SparkSession, scratch: Path, edges: int, rounds: int) -> list[str]:
    """Return the cells of the row for one size."""
    text = scratch / "edges"
    write_graph(spark, text, edges, edges // 20, 0)
    steps: dict[str, Callable[[Path], object]] = {
        "ingest": lambda out: ours(spark, text, out),
        "plain": lambda out: plain(spark, text, out),
        "table": lambda out: plain_table(spark, text, out),
        "arrow": lambda out: arrow(text, out),
    }
    best: dict[str, tuple[float, float]] = {}
    found: dict[str, object] = {}
    for number in range(rounds):
        for name in list(steps)[:: -1 if number % 2 else 1]:
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                started, used = time.perf_counter(), processor_seconds()
                found[name] = steps[name](Path(folder, "out"))
                took = processor_seconds() - used, time.perf_counter() - started
            best[name] = min(best.get(name, took), took)
    assert found["ingest"] == found["plain"] == found["arrow"], found
    return [
        f"{edges:,}",
        *(f"{best[name][0]:.1f} ({best[name][1]:.1f})" for name in steps),
        *(f"{best['ingest'][0] / best[name][0]:.2f}" for name in ("plain", "table", "arrow")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--edges", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    spark = spark_session()
    table = Table(title="Ingest of a follower graph, processor seconds (of the clock)")
    others = ("plain Spark", "its table alone", "pyarrow")
    for column in ("edges", "ingest", *others, *(f"ingest / {name}" for name in others)):
        table.add_column(column, justify="right")
    for edges in args.edges:
        with tempfile.TemporaryDirectory() as scratch:
            table.add_row(*compare(spark, Path(scratch), edges, args.rounds))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
