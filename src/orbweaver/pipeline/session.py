"""Makes the Spark session; no other module does.

Without a master Spark is embedded: a JVM beside this process, on the cores of this machine. A
master URL, or the URL of a Spark Connect server, uses the cores of a cluster; then our own code is
sent along. Nothing else in the pipeline knows which.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from orbweaver import __version__
from orbweaver.core.errors import UsageError
from orbweaver.pipeline.java import java_home, quiet_log

CONNECT_PORT = 15002
"""Default port of a Spark Connect server."""

MASTERS = re.compile(r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|sc)://.+")

SESSION = {
    # Rows go to Python in columns; one by one they would cost more than most of our tasks.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Times in traces are UTC, and a result must not depend on where the machine stands.
    "spark.sql.session.timeZone": "UTC",
}
"""Settings that a session can make anywhere, a Connect server included."""

DRIVER = {
    # A web server that is open to the network, while a bar on the terminal shows the jobs.
    "spark.ui.enabled": "false",
    # Spark's own bar writes over ours (orbweaver.pipeline.progress) and into log files.
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of the driver, on any master."""

EMBEDDED = {
    # All of Spark runs in one process, so no other machine needs to reach it.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Spark's 200 are meant for a cluster; here most would be empty, and each costs a task.
    "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1))),
}
"""Settings for one machine; a cluster has its own."""

TOLD_TWICE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers with which PySpark logs an exception that it also raises, as one long line of JSON."""

_lock = threading.Lock()
_session: SparkSession | None = None
_master = ""


def spark_session(
    master: str | None = None,
    app: str = "orbweaver",
    settings: Mapping[str, str] | None = None,
    python: str | None = None,
    purpose: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return the session of this process, made at the first call.

    `master` None means the existing session, else `local[*]`. `settings` are Spark's and override
    ours. `python` is the interpreter on the workers of a cluster. `purpose` are settings that suit
    what the session is made for; a session that exists need not have them.
    """
    global _session, _master
    with _lock:
        running = _running()
        if running is not None and master in (None, running[1]):
            _check_same(running[0], settings or {})
            return running[0]
        master = master or _master or "local[*]"
        if not MASTERS.fullmatch(master):
            raise UsageError(
                f"'{master}' is no Spark master: use local[*], spark://HOST:PORT, yarn, "
                "k8s://HOST:PORT or sc://HOST:PORT"
            )
        # A JVM keeps what it was started with, so a stopped session frees no other master.
        first = running[1] if running is not None else _master
        if first and first != master:
            raise UsageError(
                f"this process already uses Spark on '{first}': run '{master}' in a new process"
            )
        if master.startswith("sc://"):
            _session = _connect(master, app, settings or {})
        else:
            wanted = {**(purpose or {}), **(settings or {})}
            _session = _launch(master, app, wanted, python)
        _master = master
        if not _is_local(master):
            ship_code(_session)
        return _session


def ship_code(spark: SparkSession) -> Path:
    """Send this `orbweaver` to the workers, ahead of any that they have. Return the zip."""
    path = pack_code(_scratch())
    if is_remote():
        spark.addArtifacts(str(path), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(path))
    return path


def pack_code(folder: Path) -> Path:
    """Pack the package as it is installed here into a zip that Python can import from."""
    found = sorted(_sources(files("orbweaver"), "orbweaver"))
    hasher = blake2b(digest_size=6)
    for name, data in found:
        hasher.update(name.encode() + b"\0" + data)
    # Spark knows a file by its name, and refuses one that changed: changed code, other name.
    path = folder / f"orbweaver-{__version__}-{hasher.hexdigest()}.zip"
    with ZipFile(path, "w") as archive:
        for name, data in found:
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return path


def _running() -> tuple[SparkSession, str] | None:
    """Return the running session: ours, or one made before us, as in a notebook."""
    if _session is not None and not _is_stopped(_session):
        return _session, _master
    found = SparkSession.getActiveSession()
    if found is None or found is _session:
        return None
    return found, found.conf.get("spark.master") or ""


def _check_same(session: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        present = session.conf.get(name, None)
        if present != value:
            raise UsageError(
                f"this process already uses Spark with {name}={present}: run with {value} in a new "
                "process"
            )


def _is_stopped(session: SparkSession) -> bool:
    # Only a Connect session says so itself.
    stopped: bool | None = getattr(session, "is_stopped", None)
    return session.sparkContext._jsc is None if stopped is None else stopped


def _is_local(master: str) -> bool:
    return master.partition("[")[0] == "local"


def _launch(master: str, app: str, settings: Mapping[str, str], python: str | None) -> SparkSession:
    # The default options, since those leave the extra ones to the user.
    ours = SESSION | DRIVER | {"spark.driver.defaultJavaOptions": quiet_log(_scratch())}
    # Spark reads these from the environment, when it starts and only then. A worker must be
    # this very Python, where the machine is ours to know; elsewhere the user may know better.
    surroundings = {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": python or sys.executable}
    if _is_local(master):
        ours |= EMBEDDED | {
            "spark.driver.memory": _driver_memory(),
            # Else a folder appears wherever one happens to stand, for tables we never make.
            "spark.sql.warehouse.dir": str(_scratch() / "warehouse"),
        }
        # Without it Spark looks the host's name up, which fails where there is no such entry.
        surroundings["SPARK_LOCAL_IP"] = "127.0.0.1"
    elif python is None:
        surroundings["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON") or sys.executable
    with _environment(surroundings):
        builder = SparkSession.builder.master(master).appName(app)
        return _create(builder, ours | dict(settings), master)


def _connect(url: str, app: str, settings: Mapping[str, str]) -> SparkSession:
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        raise UsageError("Spark Connect needs more: run 'pip install pyspark[connect]'") from error
    # Spark would try for ten minutes. Through a proxy, only Spark knows how to ask.
    if not getproxies():
        try:
            place = urlsplit(url)
            socket.create_connection((place.hostname, place.port or CONNECT_PORT), 10).close()
        except (OSError, ValueError) as error:
            raise UsageError(f"no Spark Connect server answers at {url}: {error}") from None
    return _create(SparkSession.builder.remote(url).appName(app), SESSION | dict(settings), url)


def _create(
    builder: SparkSession.Builder, settings: Mapping[str, str], master: str
) -> SparkSession:
    for name in TOLD_TWICE:
        PySparkLogger.getLogger(name).setLevel("CRITICAL")
    logging.getLogger().addFilter(_is_news)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _interrupts_later():
        try:
            return builder.getOrCreate()
        except Exception as error:
            raise UsageError(f"Spark cannot start on '{master}': {_reason(error)}") from error


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold back Ctrl-C while Java starts, since it would leave Java running. PySpark's own handler,
    which is set then, uses the very connection that was interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def remember(*_: object) -> None:
        nonlocal interrupted
        interrupted = True

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
    if interrupted:
        raise KeyboardInterrupt


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a log record is worth showing; py4j also logs exceptions that it raises."""
    return not record.getMessage().endswith("while sending command.")


def _reason(error: Exception) -> str:
    """Return the line of an error that a user can act on; the rest is a trace through Scala."""
    if isinstance(error, PySparkRuntimeError) and error.getCondition() == "JAVA_GATEWAY_EXITED":
        return "its Java ended before it was ready, and said why above"
    thrown = getattr(error, "java_exception", None)
    return str(error if thrown is None else thrown.toString()).partition("\n")[0]


def _driver_memory() -> str:
    """Return a quarter of the memory, as Java itself would take; Spark's default is 1 GB. More than
    half is for the Python workers, where the simulations are."""
    return f"{min(8192, max(1024, memory_bytes() // 4 >> 20))}m"


def memory_bytes(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int:
    """Return the memory of this machine, or less where a control group, such as a container's,
    allows less. A group may use no more than the groups that it is in."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for line in groups.read_text().splitlines() if groups.exists() else ():
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            root, name = mounted, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = mounted / "memory", "memory.limit_in_bytes"
        else:
            continue
        own = root / path.lstrip("/")
        for folder in (own, *own.parents):
            limit = folder / name
            text = limit.read_text().strip() if limit.exists() else ""
            limits += [int(text)] if text.isdigit() else []
            if folder == root:
                break
    return min(limits)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@cache
def _scratch() -> Path:
    """Return a folder of this process, removed at its end. The driver serves our zip from it."""
    folder = tempfile.mkdtemp(prefix="orbweaver-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files that can be imported from a zip: no caches and no compiled modules, since
    their sources are beside them."""
    for entry in folder.iterdir():
        name = f"{prefix}/{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _sources(entry, name)
        elif not entry.name.endswith((".so", ".pyd", ".pyc")):
            yield name, entry.read_bytes()
