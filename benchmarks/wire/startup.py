"""Measures how long a node takes to start, and how much memory it keeps at rest."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.table import Table

from wire.process import Worker

IDLE_S = 5.0
CODE = """
import sys, time
begun = time.perf_counter()
import asyncio, orbweaver
async def main():
    async with orbweaver.Node({settings}) as node:
        print('{{"import_and_start_s":', time.perf_counter() - begun, '}}', flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        heavy = [name for name in ("pyspark", "numpy", "pandas") if name in sys.modules]
        print('{{"heavy": "' + " ".join(heavy) + '"}}', flush=True)
asyncio.run(main())
"""


def table(times: int, say: Callable[[str], None]) -> Table:
    made = Table(title=f"One node by itself; {times} times")
    for column in ("", "spawn to ready s", "import and start s", "resident MB", "heavy modules"):
        made.add_column(column, justify="right" if column else "left")
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in (("plain", ""), ("TLS", _tls(Path(folder)))):
            say(f"starting: {name}")
            code = CODE.format(settings=settings)
            found = [_start(code, wait_s=IDLE_S if i == 0 else 0.0) for i in range(times)]
            whole, own = ([row[i] for row in found] for i in (0, 1))
            made.add_row(
                name,
                f"{median(whole):.2f} (best {min(whole):.2f})",
                f"{median(own):.2f} (best {min(own):.2f})",
                f"{found[0][2]:.1f}",
                found[0][3] or "none",
            )
    made.caption = f"resident: after {IDLE_S:g} s; from spawn: with the interpreter's own start"
    return made


def _start(code: str, wait_s: float) -> tuple[float, float, float, str]:
    begun = time.perf_counter()
    worker = Worker("-c", code)
    try:
        own: float = worker.hear()["import_and_start_s"]
        whole = time.perf_counter() - begun
        time.sleep(wait_s)
        memory = resident_mb(worker.process.pid)
        worker.order(do="report")
        return whole, own, memory, worker.hear()["heavy"]
    finally:
        worker.stop()


def resident_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _tls(folder: Path) -> str:
    from orbweaver.net.keys.authority import equip, make_authority

    make_authority(folder / "authority", "bench")
    equip(folder / "authority", folder / "node", "node")
    return f"tls={str(folder / 'node')!r}"
