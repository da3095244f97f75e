"""Runs SpiderCast and its baselines on subscriptions that the paper never used.

Five real traces are ingested, cut by the papers' own sampling methods to a size that a simulator
can run, and given to each overlay; one of them also with the joins and leaves of the machines of a
cluster. Writes one Markdown page. Runs are kept in a store, so that the study can be interrupted.

    python studies/real_traces.py TRACES --out docs/results/real-traces.md
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.store import locate_store
from orbweaver.pipeline.sweep import sweep
from orbweaver.pipeline.traces import fetch
from orbweaver.records.files import whole_file
from orbweaver.study.claims import Series, gather
from orbweaver.study.traces import Trace
from orbweaver.workload.scenario import (
    ChurnSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)

SEEDS = (0, 1, 2)


TRACES = (
    Trace("Facebook friends", "social/facebook_ego_snap.txt.gz", "undirected-edges"),
    Trace(
        "Twitter followers",
        "social/twitter_followers_bofa_careers.csv.gz",
        "directed-edges",
        {"direction": "followed-first"},
        "bfs",
        {"nodes": 2000, "seeds": 10, "along": "both"},
    ),
    Trace(
        "YouTube groups",
        "subscriptions/youtube_groupmemberships.txt.gz",
        "pairs",
        {},
        "seed-universe",
        {"seeds": 250, "topics": 1000, "nodes": 2000},
    ),
    Trace(
        "GitHub watches",
        "subscriptions/github_watch_2009_a.txt.gz",
        "pairs",
        {},
        "seed-universe",
        {"seeds": 250, "topics": 1000, "nodes": 2000},
    ),
    Trace("Wikipedia edits", "subscriptions/wikipedia_edits_jodie.txt.gz", "edits"),
)
CHURNED = "Twitter followers"
MACHINES = Trace(
    "cluster machines", "churn/google2011_machine_events.csv.gz", "machine-events", {},
    "machines", {"nodes": 2000},
)  # fmt: skip
SPEED = 2000
"""Speed of the churn trace: the 29 days of the cluster in 21 minutes, of which five are played."""

OVERLAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "spidercast, adaptive": ("spidercast", {}),
    "spidercast (3,0)": ("spidercast", {"kg": 3, "kr": 0, "adaptive": False}),
    "similarity(10,0)": ("similarity", {"similar": 10, "random": 0}),
    "random(10)": ("random", {"random": 10}),
    "ring-per-topic": ("ring-per-topic", {}),
}
ORACLE = {"membership": "full"}
"""Settings of the paper's evaluation: every node knows all others, at no cost."""
COLUMNS = {
    "degree_mean": ("degree", 2),
    "degree_max": ("max", 0),
    "components": ("components", 0),
    "partitioned_topics": ("partitioned", 0),
    "diameter_max": ("max diameter", 0),
    "hit_ratio": ("hit ratio", 4),
    "delay_hops_mean": ("hops", 2),
    "control_messages_per_join": ("msgs/join", 1),
}


def scenarios(trace: Trace, folder: Path, machines: Path) -> list[Scenario]:
    made = []
    for label, (overlay, params) in OVERLAYS.items():
        static = Scenario(
            overlay=overlay,
            name=f"{trace.name}: {label}",
            params=ORACLE | params,
            workload=WorkloadSpec(file=str(folder)),
            publish=PublishSpec(per_topic=1),
            run=RunSpec(tdi=20, measure_bytes=False),
        )
        made.append(static)
        if trace.name == CHURNED:
            churn = ChurnSpec(model="file", file=str(machines), nodes="in order", speed=SPEED)
            run = RunSpec(
                warmup_ms=60_000,
                duration_ms=300_000,
                snapshots_ms=tuple(range(60_000, 300_001, 60_000)),
                young_ms=2000,
                tdi=20,
                measure_bytes=False,
            )
            made.append(replace(static, name=f"{trace.name}, churn: {label}", churn=churn, run=run))
    return made


def page(series: dict[str, Series], machine: str) -> str:
    parts = [
        "# On data that the paper never saw",
        "SpiderCast and its baselines on five real traces. As in the paper's evaluation, an "
        "oracle tells every node of all others (`membership=full`), which no network has and "
        "which costs no traffic. Means over three seeds; ± is half "
        "the 95 % interval. Components are to be compared with the number of topics: as many "
        "is the best there is.",
        machine,
        "    python studies/real_traces.py TRACES --out docs/results/real-traces.md",
    ]
    for heading in dict.fromkeys(label.partition(": ")[0] for label in series):
        here = {k: s for k, s in series.items() if k.partition(": ")[0] == heading}
        first = next(iter(here.values())).each()[0]
        parts.append(f"## {heading}")
        parts.append(
            f"{first.nodes:,} nodes, {first.topics:,} topics, tdi(20) {first.metrics['tdi']:.1f} %."
        )
        parts.append(_table(here))
    return "\n\n".join(parts) + "\n"


def _table(series: dict[str, Series]) -> str:
    rows = [["overlay", *(title for title, _ in COLUMNS.values())]]
    rows.append(["---"] * len(rows[0]))
    for label, one in series.items():
        cells = [one.told(metric, digits) for metric, (_, digits) in COLUMNS.items()]
        rows.append([label.partition(": ")[2], *cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traces", type=Path, help="the folder with the traces")
    parser.add_argument("--out", type=Path, default=Path("real-traces.md"))
    parser.add_argument("--work", type=Path, default=Path("out/traces"), help="tables and runs")
    parser.add_argument("--machine", default="", help="a line that says when and where")
    args = parser.parse_args(arguments)
    args.work.mkdir(parents=True, exist_ok=True)
    spark = spark_session()
    try:
        folders = {trace: fetch(spark, args.traces, trace, args.work) for trace in TRACES}
        machines = fetch(spark, args.traces, MACHINES, args.work)
    except UsageError as error:
        parser.error(str(error))
    made = [s for trace, folder in folders.items() for s in scenarios(trace, folder, machines)]
    jobs = [(scenario, seed) for scenario in made for seed in SEEDS]
    swept = sweep(
        spark,
        jobs,
        locate_store(str(args.work / "store")),
        done=lambda there, of: print(f"{there} of {of} runs"),
    )
    for failure in swept.failures:
        print(f"failed: {failure.name}, seed {failure.seed}\n{failure.error}")
    with whole_file(args.out) as temporary:
        temporary.write_text(page(gather(swept.results), args.machine), encoding="utf-8")


if __name__ == "__main__":
    main()
