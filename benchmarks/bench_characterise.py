"""How long do generating and characterising a workload take, and how wrong is the approximation?

Three tables. Generation: every model, rows in a second. Characterisation of one workload:
wall seconds and peak memory of this process, its JVM and its Python workers together (the
proportional share of each page, sampled four times a second). Error: tdi from a sample
and from MinHash bands compared with the exact value, on workloads from flat to skewed.

The defaults take about two minutes. The sizes that matter:

    python benchmarks/bench_characterise.py --nodes 100000 --topics 10000
    python benchmarks/bench_characterise.py --generate 10000000 --models rss --only generate
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from orbweaver.pipeline.characterise import locality, popularity, tdi
from orbweaver.pipeline.characterise.interests import interests
from orbweaver.pipeline.characterise.minhash import Bands
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.synthesise import stage
from orbweaver.pipeline.synthesise.job import Recipe, prepare, run
from orbweaver.workload.models.catalog import build, make_plan

T = TypeVar("T")

MODELS = ["rss", "nyse", "vitis-low", "multi-modal", "spatial", "hierarchical", "omen-zipf"]
ERROR_CASES: list[tuple[str, dict[str, Any]]] = [
    ("uniform", {"topics": 1000, "subscriptions_per_node": "10"}),
    ("rss", {"topics": 100, "subscriptions_per_node": "10"}),
    ("rss", {"topics": 10_000, "subscriptions_per_node": "20"}),
    ("zipf:1", {"topics": 10_000, "subscriptions_per_node": "1:99"}),
    ("vitis-low", {}),
    ("spatial", {}),
]


class PeakMemory(threading.Thread):
    """Measures the peak memory of this process and all its descendants together, in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.mb = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.25):
            self.mb = max(self.mb, sum(map(_held_kb, _family())) / 1024)

    def stop(self) -> float:
        self._over.set()
        self.join()
        return self.mb


def _family() -> list[Path]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(after_name[1]), []).append(int(path.parent.name))
    found, todo = [], [int(Path("/proc/self").resolve().name)]
    while todo:
        number = todo.pop()
        found.append(Path(f"/proc/{number}/smaps_rollup"))
        todo += parents.get(number, [])
    return found


def _held_kb(path: Path) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def timed(action: Callable[[], T]) -> tuple[T, float, float]:
    """Return the result, the seconds and the peak MB."""
    memory = PeakMemory()
    memory.start()
    started = time.monotonic()
    result = action()
    seconds = time.monotonic() - started
    return result, seconds, memory.stop()


def table_of(title: str, *columns: str) -> Table:
    made = Table(title=title)
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    return made


def generation(spark: SparkSession, models: list[str], nodes: int, folder: Path) -> Table:
    table = table_of(
        f"Generating {nodes:,} nodes, to Parquet",
        "model", "subscriptions", "s", "rows/s", "MB on disk", "peak MB",
    )  # fmt: skip
    # The first job pays for starting the workers.
    stage.rates(spark, 10, prepare(Recipe(make_plan("rss", {})), folder / "w").rates).collect()
    for model in models:
        job = prepare(Recipe(make_plan(model, {"nodes": nodes})), folder / "w")
        facts, seconds, peak = timed(lambda job=job: run(spark, job))
        rows = facts["tables"]["subscriptions"]
        files = (folder / "w" / "subscriptions").glob("*.parquet")
        size = sum(file.stat().st_size for file in files) / 1e6
        table.add_row(
            model, f"{rows:,}", f"{seconds:.1f}", f"{rows / seconds:,.0f}", f"{size:,.0f}",
            f"{peak:,.0f}",
        )  # fmt: skip
        shutil.rmtree(folder / "w")
    return table


def grouped(spark: SparkSession, model: str, given: dict[str, Any], seed: int) -> DataFrame:
    plan = make_plan(model, given)
    pairs = stage.subscriptions(spark, plan.nodes, build(plan, seed))
    return interests(pairs).persist(StorageLevel.MEMORY_AND_DISK)


def characterisation(spark: SparkSession, args: argparse.Namespace) -> Table:
    given = {"nodes": args.nodes, "topics": args.topics, "subscriptions_per_node": args.size}
    title = f"{args.law}: {args.nodes:,} nodes x {args.topics:,} topics, {args.size} for each"
    table = table_of(title, "part", "s", "peak MB", "result")
    found = grouped(spark, args.law, given, args.seed)
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("gathering and sizes", lambda: popularity.describe(popularity.topics_of_nodes(found))),
        ("popularity and fit", lambda: popularity.describe(popularity.nodes_of_topics(found))),
        ("tdi(20), sample", lambda: tdi.approximate(found, 20)),
        ("tdi(20), MinHash", lambda: tdi.approximate(found, 20, bands=Bands())),
        ("locality", lambda: locality.locality(found)),
    ]
    if args.nodes <= args.exact_max:
        parts.append(("tdi(20), exact", lambda: tdi.exact(found, 20)))
    for name, part in parts:
        result, seconds, peak = timed(part)
        table.add_row(name, f"{seconds:.1f}", f"{peak:,.0f}", _short(result))
    found.unpersist()
    return table


def _short(result: Any) -> str:
    if isinstance(result, tdi.Tdi):
        interval = f" +- {result.interval95:.2f}" if result.interval95 is not None else ""
        return f"{result.percent:.2f} %{interval}"
    if isinstance(result, popularity.Distribution):
        exponent = f", exponent {result.fit.alpha:.2f}" if result.fit else ""
        return f"mean {result.mean:.1f}, max {result.max:,}{exponent}"
    return f"six friends cover {100 * result.fully_covered[5]:.0f} %" if result else "-"


def errors(spark: SparkSession, nodes: int, asked: int, seed: int) -> Table:
    table = table_of(
        f"tdi(20) of {nodes:,} nodes in %: exact, and estimated from {asked:,} of them",
        "workload", "exact", "s", "sample", "error", "interval", "s",
        "MinHash 64x1", "error", "s", "32x2", "error", "s",
    )  # fmt: skip
    for model, given in ERROR_CASES:
        found = grouped(spark, model, given | {"nodes": nodes}, seed)
        found.count()
        exact, seconds, _ = timed(lambda f=found: tdi.exact(f, 20))
        cells = [f"{exact.percent:.2f}", f"{seconds:.1f}"]
        for bands in (None, Bands(64, 1), Bands(32, 2)):
            near, seconds, _ = timed(
                lambda f=found, b=bands: tdi.approximate(f, 20, seed, asked, b)
            )
            cells += [f"{near.percent:.2f}", f"{near.percent - exact.percent:+.2f}"]
            cells += [f"{near.interval95 or 0:.2f}"] if bands is None else []
            cells.append(f"{seconds:.1f}")
        options = ", ".join(f"{value}" for value in given.values())
        table.add_row(f"{model} {options}", *cells)
        found.unpersist()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000, help="to characterise")
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--size", default="20", help="subscriptions of each node")
    parser.add_argument("--law", default="rss", help="model to characterise")
    parser.add_argument("--exact-max", type=int, default=20_000, help="nodes up to which exact")
    parser.add_argument("--generate", type=int, default=50_000, help="nodes to generate")
    parser.add_argument("--models", nargs="+", default=MODELS, help="models to generate")
    parser.add_argument("--error-nodes", type=int, default=2000)
    parser.add_argument("--error-sample", type=int, default=1000)
    parser.add_argument("--only", choices=["generate", "characterise", "error"])
    parser.add_argument("--master", help="Spark master")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    console = Console()
    spark = spark_session(args.master, "bench_characterise")
    with tempfile.TemporaryDirectory() as folder:
        if args.only in (None, "generate"):
            console.print(generation(spark, args.models, args.generate, Path(folder)))
    if args.only in (None, "characterise"):
        console.print(characterisation(spark, args))
    if args.only in (None, "error"):
        console.print(errors(spark, args.error_nodes, args.error_sample, args.seed))


if __name__ == "__main__":
    main()
