"""A real cluster, if a small one: a master and two workers, each a process on loopback.

Run as a script, this file is the driver: it needs a process of its own, since a process has
one Spark session, and the other tests have it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas
import pyspark
import pytest
from pyspark.sql import SparkSession

from orbweaver.pipeline import sweep as stage
from orbweaver.pipeline import upkeep
from orbweaver.pipeline.java import java_home
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.store import RunStore, locate_store
from orbweaver.study.run import Job
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

LOOPBACK = "127.0.0.1"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Six JVMs start on what may be two cores: none lives long enough to repay optimising."""

SEEDS = (1, 2)
SCENARIOS = [
    Scenario(
        overlay="spidercast",
        name=f"{topics} topics",
        workload=WorkloadSpec(nodes=60, topics=topics, subscriptions_per_node="5"),
        publish=PublishSpec(per_topic=1),
        run=RunSpec(warmup_ms=5_000, drain_ms=1_000),
    )
    for topics in (10, 15, 20, 25)
]
SCHEMA = "digest string, code string, folder string"


def simulate(spark: SparkSession) -> list[dict[str, Any]]:
    """One task for each scenario and seed: what came out, and where it ran."""

    # Inside, so that it is sent by value: the workers have no tests to import.
    def run(batches: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        from pathlib import Path

        import msgspec
        import pandas

        import orbweaver
        from orbweaver.study.run import run_scenario
        from orbweaver.workload.scenario import Scenario

        for batch in batches:
            yield pandas.DataFrame(
                {
                    "digest": run_scenario(
                        msgspec.json.decode(row.scenario, type=Scenario), row.seed
                    ).result.digest,
                    "code": orbweaver.__file__,
                    "folder": str(Path.cwd()),
                }
                for row in batch.itertuples()
            )

    jobs = [(msgspec.json.encode(s).decode(), seed) for s in SCENARIOS for seed in SEEDS]
    tasks = spark.createDataFrame(jobs, "scenario string, seed long").repartition(len(jobs))
    return [row.asDict() for row in tasks.mapInPandas(run, SCHEMA).collect()]


def sweep_and_lose_one(spark: SparkSession, folder: Path) -> list[str]:
    """Sweep the same runs, one of which ends the executor that it is on, the first time."""
    struck, run_job = str(folder / "struck"), stage.run_job

    # Sent by value, as everything in this file is when it is run as a script.
    def strike(job: Job, store: RunStore) -> dict[str, str]:
        import os
        import signal
        import time
        from pathlib import Path

        if job[1] == SEEDS[-1]:
            try:
                os.close(os.open(struck, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return run_job(job, store)
            # The executor's Java has a daemon, which has this process.
            java = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
            os.kill(int(java), signal.SIGKILL)
            time.sleep(60)
        return run_job(job, store)

    stage.run_job = strike
    jobs = [(scenario, seed) for scenario in SCENARIOS for seed in SEEDS]
    swept = stage.sweep(spark, jobs, locate_store(str(folder / "store")), wave=len(jobs))
    assert swept.failures == []
    return [result.digest for result in swept.results]


class Cluster:
    """The daemons of a standalone cluster, started with what pip installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.home = Path(pyspark.__file__).parent
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
        self.environment = kept | {
            "JAVA_HOME": str(java_home()),
            # Everything that listens does so here: web pages and executors too.
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }

    def daemon(self, name: str, *arguments: str) -> Path:
        log = self.folder / f"{name}.log"
        place = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(self.home / "bin" / "spark-class"), *arguments[:1], *place, *arguments[1:]],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        return log

    def await_line(self, log: Path, pattern: str) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[0]
            assert all(process.poll() is None for process in self.processes), log.read_text()
            time.sleep(0.1)
        raise AssertionError(f"no {pattern} in {log.read_text(errors='replace')}")

    def start(self) -> str:
        deploy = "org.apache.spark.deploy"
        log = self.daemon("master", f"{deploy}.master.Master")
        url = self.await_line(log, rf"spark://{re.escape(LOOPBACK)}:\d+")
        logs = [
            self.daemon(
                name,
                f"{deploy}.worker.Worker",
                *("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name), url),
            )
            for name in ("worker1", "worker2")
        ]
        for log in logs:
            self.await_line(log, "Successfully registered with master")
        return url

    def stop(self) -> None:
        # Whole groups: an executor is a child of its worker.
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for process in self.processes:
                try:
                    os.killpg(process.pid, sent)
                except ProcessLookupError:
                    continue
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    continue


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def bare_python(folder: Path) -> Path:
    """A Python with our dependencies, but without us: a library folder on PYTHONPATH gives
    what lies in it, and not what an editable install makes it point to."""
    libraries = sysconfig.get_path("purelib")
    path = folder / "python"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{libraries}" exec "{sys.executable}" -S "$@"\n'
    )
    path.chmod(0o755)
    return path


class Driven(NamedTuple):
    """What the driver printed, and where it kept the runs of its sweep."""

    simulated: list[dict[str, str]]
    swept: list[str]
    folder: Path


@pytest.fixture(scope="module")
def driven(master: str, tmp_path_factory: pytest.TempPathFactory) -> Driven:
    folder = tmp_path_factory.mktemp("driver")
    done = subprocess.run(
        [sys.executable, __file__, master, str(bare_python(folder)), str(folder)],
        env=os.environ | {"SPARK_LOCAL_IP": LOOPBACK},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    lost = r"spark: ERROR TaskSchedulerImpl: Lost executor \d on \S+: [^\n]+\n"
    assert re.fullmatch(lost, done.stderr), done.stderr
    return Driven(*json.loads(done.stdout), folder)


def test_a_cluster_computes_what_one_machine_does(driven: Driven, spark: SparkSession) -> None:
    there, here = driven.simulated, simulate(spark)
    assert sorted(row["digest"] for row in there) == sorted(row["digest"] for row in here)
    assert len({row["digest"] for row in there}) == len(SCENARIOS) * len(SEEDS)
    # Both workers had a share, and what ran was sent to them.
    assert {Path(row["folder"]).parts[-3] for row in there} == {"worker1", "worker2"}
    for row in there:
        assert re.search(r"/orbweaver-[^/]+\.zip/orbweaver/__init__\.pyc?$", row["code"]), row
    assert not any(".zip" in row["code"] for row in here)


def test_a_sweep_outlives_an_executor(driven: Driven) -> None:
    """What was lost with it is run again, and every run is stored once."""
    assert (driven.folder / "struck").exists(), "an executor was killed"
    assert sorted(driven.swept) == sorted(row["digest"] for row in driven.simulated)
    store = locate_store(str(driven.folder / "store"))
    kept = [one.result.digest for one in store.results().each()]
    assert sorted(kept) == sorted(driven.swept)
    assert upkeep.damaged(store, thorough=True) == {}
    assert upkeep.incomplete(store) == set()


if __name__ == "__main__":
    session = spark_session(
        sys.argv[1],
        python=sys.argv[2],
        settings={
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": SHORT_LIVED,
            "spark.driver.extraJavaOptions": SHORT_LIVED,
            # Wait for both workers, or the first might do it all.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
            "spark.cores.max": "2",
        },
    )
    print(json.dumps([simulate(session), sweep_and_lose_one(session, Path(sys.argv[3]))]))
    session.stop()
