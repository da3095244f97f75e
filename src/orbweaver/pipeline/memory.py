"""Says what a sweep wants of the Spark session that is made for it: Java with little to do, and
memory beside Java for the simulations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orbweaver.study.run import Job

WORKER_MB = 256
"""Megabytes of a Python worker with everything imported and no run in it."""
NODE_KB = 256
"""Kilobytes of a simulated node. SpiderCast has 40 and Vitis 140 at most; Magnet had 250 with 1000
nodes (docs/benchmarks.md)."""
LEAST_MB = 384
"""Spark's own least overhead in megabytes, for Java's use outside of its heap."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a Java that only hands out tasks: in a sweep of short runs, optimising its code costs
more than it saves."""


def sweep_settings(
    master: str | None, jobs: Sequence[Job], memory_gb: float, given: Mapping[str, str]
) -> dict[str, str]:
    """Return Spark settings for these runs. `given` are those of the user; `memory_gb` is the limit
    of one run."""
    master = master or "local[*]"
    if master.startswith("local"):
        return {"spark.driver.extraJavaOptions": SHORT_LIVED}
    if master.startswith(("yarn", "k8s://")):
        cores = int(given.get("spark.executor.cores", "1"))
        return {"spark.executor.memoryOverhead": f"{overhead_mb(jobs, memory_gb, cores)}m"}
    return {}


def overhead_mb(jobs: Sequence[Job], memory_gb: float, cores: int) -> int:
    """Return the megabytes beside Java's that an executor needs to simulate the largest of the jobs
    on each of its cores. YARN and Kubernetes end an executor that takes more than it asked for."""
    nodes = max((scenario.workload.nodes for scenario, _ in jobs), default=0)
    run_mb = min(WORKER_MB + nodes * NODE_KB / 1024, memory_gb * 1024)
    return LEAST_MB + math.ceil(cores * run_mb)
