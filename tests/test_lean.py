"""The lean install: nothing of the lab is needed, or even loaded, to run overlays."""

import subprocess
import sys

import pytest

HEAVY = ["numpy", "numba", "pyspark", "pandas", "altair", "vl_convert", "pyarrow"]
NOT_IN_A_NODE = [*HEAVY, "textual", "cryptography", "orbweaver.sim", "orbweaver.workload", "pytest"]
NOT_IN_A_NODE += ["orbweaver.overlays.vitis", "orbweaver.overlays.magnet"]
"""The node of the test runs another overlay."""
A_NODE_RUNS = """
import asyncio, sys, orbweaver

async def run():
    async with orbweaver.Node() as one, orbweaver.Node(join=[one.address]) as two:
        news = await two.subscribe("news")
        await one.publish("news", b"it works")
        print((await news.next(20)).payload)

asyncio.run(run())
"""


@pytest.mark.parametrize(
    "modules",
    [
        ["orbweaver", "orbweaver.overlays.catalog", "orbweaver.sim.simulation"],
        ["orbweaver.metrics.summary", "orbweaver.records.writers", "orbweaver.workload.scenario"],
        ["orbweaver.embed", "orbweaver.cli.node", "orbweaver.cli.pub", "orbweaver.cli.member"],
    ],
    ids=["overlays and simulator", "records and metrics", "a node"],
)
def test_the_lab_is_not_imported(modules: list[str]) -> None:
    code = f"import sys, {', '.join(modules)}; print([m for m in {HEAVY} if m in sys.modules])"
    if "orbweaver.overlays.catalog" in modules:
        code = f"from orbweaver.overlays.catalog import OVERLAYS; list(OVERLAYS.values()); {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nor_by_a_node_that_runs() -> None:
    """In plain mode; with TLS, a node needs `cryptography`."""
    code = f"{A_NODE_RUNS}\nprint([m for m in {NOT_IN_A_NODE} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["b'it works'", "[]"]
