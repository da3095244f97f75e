"""The pipeline over Spark Connect: a server on loopback, and a client that has no JVM.

Run as a script, this file is the client: a process has one kind of session, and the other tests
have a classic one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from orbweaver.pipeline.ingest.job import prepare
from orbweaver.pipeline.ingest.run import ingest
from orbweaver.pipeline.java import java_home
from orbweaver.pipeline.memory import SHORT_LIVED
from orbweaver.pipeline.sample.methods import build_settings
from orbweaver.pipeline.sample.run import sample
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.store import locate_store
from orbweaver.pipeline.sweep import sweep
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec
from tests.pipeline.ingest_runs import rows

LOOPBACK = "127.0.0.1"
SCENARIO = Scenario(
    overlay="spidercast",
    workload=WorkloadSpec(nodes=20, topics=4, subscriptions_per_node="2"),
    publish=PublishSpec(per_topic=1),
    run=RunSpec(warmup_ms=1000, drain_ms=200),
)
SEEDS = (0, 1, 2)
EDGES = "user item\n" + "".join(f"{i} {i * 7 % 50}\n" for i in range(50)) + "bad\n"


def drive(url: str, folder: Path) -> dict[str, Any]:
    """Use the stages over Connect and return what they say."""
    spark = spark_session(url)
    swept = sweep(spark, [(SCENARIO, seed) for seed in SEEDS], locate_store(str(folder / "store")))
    (folder / "edges.txt").write_text(EDGES)
    given = {"direction": "follower-first"}
    job = prepare("directed-edges", [str(folder / "edges.txt")], folder / "tables", given)
    read = ingest(spark, job)
    settings = build_settings("bfs", 0, {"nodes": 20, "seeds": 2})
    taken = sample(spark, folder / "tables", folder / "sample", settings)
    return {
        "client": type(spark).__module__,
        "swept": [result.digest for result in swept.results],
        "ingested": read.tables,
        "sampled": taken.nodes,
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for name in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(name, reason="Connect needs more: pip install 'pyspark[connect]'")
    log = tmp_path_factory.mktemp("connect") / "log"
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.defaultJavaOptions": SHORT_LIVED,
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]"),
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    surroundings = {
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=kept | surroundings,
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        while not (found := re.search(r"SparkConnectService' on port (\d+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield f"sc://{LOOPBACK}:{found[1]}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_stages_work_without_a_jvm(server: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.test_connect", server, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["client"].startswith("pyspark.sql.connect")
    assert found["swept"] == [run_scenario(SCENARIO, seed).result.digest for seed in SEEDS]
    assert found["ingested"] == {"subscriptions": 48, "rejected": 1}, "two users follow themselves"
    assert rows(tmp_path / "tables" / "rejected") == [("edges.txt", "bad", "too few fields")]
    assert found["sampled"] == 20


if __name__ == "__main__":
    print(json.dumps(drive(sys.argv[1], Path(sys.argv[2]))))
