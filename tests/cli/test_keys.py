"""`orbweaver keys`, as a user runs it: an authority, nodes, and a look at them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orbweaver.net.admin.status import id_text
from orbweaver.net.keys.authority import equip, make_authority
from orbweaver.net.keys.certificates import client_context, server_context
from orbweaver.net.keys.identity import Identity
from tests.net.keys.tls_folders import meet, node_in

COMMAND = str(Path(sys.executable).with_name("orbweaver"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "keys", *arguments], capture_output=True, text=True)


def result(*arguments: str) -> list[dict[str, Any]]:
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])["files"]
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nodes_of_one_authority_talk_to_each_other(here: Path) -> None:
    key, authority = result("init", "ca", "--name", "exchange")
    assert (key["kind"], authority["kind"]) == ("key", "authority")
    assert (authority["name"], authority["days_left"]) == ("exchange", 3649)
    assert Path("ca/ca.key").stat().st_mode & 0o777 == 0o600
    own, certificate = result("issue", "ca", "--name", "london", "--host", "10.0.0.1")
    assert certificate["id"] == own["id"] == id_text(node_in(here / "london"))
    assert (certificate["name"], certificate["issuer"]) == ("london", "exchange")
    assert (certificate["hosts"], certificate["days_left"]) == (["10.0.0.1"], 364)
    result("issue", "ca", "--name", "paris", "--out", "nodes/paris", "--days", "2")
    assert {path.name for path in Path("nodes/paris").iterdir()} == {
        "node.key", "node.pem", "ca.pem",
    }  # fmt: skip
    server, client = server_context(here / "london"), client_context(here / "nodes/paris")
    met = asyncio.run(meet(server, client))
    assert met == (node_in(here / "nodes/paris"), node_in(here / "london"), None)


@pytest.mark.parametrize("authority", ["ca", ".", "../ca/"])
def test_a_node_gets_its_folder_beside_the_authority(
    here: Path, authority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_authority(here / "ca", "cluster")
    before = sorted((here / "ca").iterdir())
    if authority != "ca":
        monkeypatch.chdir(here / "ca")
    result("issue", authority, "--name", "london")
    assert sorted((here / "ca").iterdir()) == before
    assert {path.name for path in (here / "london").iterdir()} == {
        "node.key", "node.pem", "ca.pem",
    }  # fmt: skip


def test_issued_again_it_is_the_same_node_for_longer(here: Path) -> None:
    make_authority(here / "ca", "cluster")
    first = result("issue", "ca", "--name", "n", "--days", "2")[1]
    again = result("issue", "ca", "--name", "n", "--days", "20")[1]
    assert again["id"] == first["id"]
    assert (first["days_left"], again["days_left"]) == (1, 19)


def test_a_key_need_not_travel(here: Path) -> None:
    make_authority(here / "ca", "cluster")
    Identity.generate().save(here / "node.key")
    (key,) = result("show", "node.key")
    (certificate,) = result("issue", "ca", "--name", "far", "--public-key", key["public_key"])
    assert (certificate["id"], certificate["public_key"]) == (key["id"], key["public_key"])
    assert not Path("far/node.key").exists()
    Path("node.key").rename("far/node.key")
    server_context(here / "far")


def test_what_people_see_has_all_of_it_and_no_secret() -> None:
    run("init", "ca", "--name", "a [red]b")
    issued = run("issue", "ca", "--name", "n", "--host", "x.example")
    shown = run("show", "n")
    key, certificate = (row for row in result("show", "n") if row["kind"] != "authority")
    assert key["public_key"] in issued.stdout
    for text in (key["id"], certificate["until"], "a [red]b", "good", "x.example", "n/node.pem"):
        assert text in shown.stdout
    secret = Path("n/node.key").read_text().splitlines()[1]
    assert secret[-40:] not in issued.stdout + shown.stdout


def test_a_certificate_that_has_ended_is_shown_as_such(here: Path) -> None:
    make_authority(here / "ca", "cluster")
    now = datetime.now(UTC)
    for name, days in (("ended", -40), ("later", 3)):
        equip(here / "ca", here / name, name, 30, start=now + timedelta(days=days))
    assert result("show", "ended/node.pem")[0]["state"] == "ended"
    assert result("show", "ended/node.pem")[0]["days_left"] == 0
    assert result("show", "later/node.pem")[0]["state"] == "not yet"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("init ca", "has an authority already"),
        ("init file", "cannot make the folder"),
        ("init new --name=", "should be printable, and have 1 to 64 bytes"),
        ("issue ca", "Missing option '--name'"),
        ("issue nowhere --name n", "orbweaver keys init nowhere"),
        ("issue ca --name a/b", "with --out DIR"),
        ("issue ca --name n --out ca", "inside the authority's folder ca"),
        ("issue ca --name n --out ca/nodes/n", "ca/nodes/n is inside the authority's folder ca"),
        ("issue ca --name ca", "choose a folder outside"),
        ("issue ca --name n --days 0", "1 to 3650 days"),
        ("issue ca --name n --days many", "Invalid value for '--days'"),
        ("issue ca --name n --public-key xyz", "not hexadecimal"),
        ("issue ca --name n --public-key 00ff", "32 bytes, not 2"),
        ("issue ca --name n --host ?", "should be a host name"),
        ("issue ca --name n --out open", "chmod 600 open/node.key"),
        ("show nowhere", "cannot read nowhere"),
        ("show empty", "no files *.key or *.pem"),
        ("show file", "holds no valid certificate"),
        ("show open", "chmod 600 open/node.key"),
    ],
)
def test_a_mistake_is_one_line(here: Path, arguments: str, complaint: str) -> None:
    make_authority(here / "ca", "cluster")
    Path("file").touch()
    Path("empty").mkdir()
    Path("open").mkdir()
    Identity.generate().save(here / "open/node.key")
    Path("open/node.key").chmod(0o644)
    before = sorted(here.rglob("*"))
    done = run(*arguments.split())
    assert complaint in done.stderr
    assert done.stderr.startswith("orbweaver: ")
    assert (len(done.stderr.splitlines()), done.returncode, done.stdout) == (1, 2, "")
    assert sorted(here.rglob("*")) == before


def test_help_is_there_without_what_it_is_about() -> None:
    """The command line of a lean install starts fast, whatever it is asked."""
    assert "init" in run("--help").stdout
    code = "import sys, orbweaver.cli.keys; print({'nacl', 'cryptography'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
