"""Options of the commands that run a node: what counts, and how mistakes are told."""

from __future__ import annotations

import socket
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from orbweaver.cli import joining
from orbweaver.cli.joining import assemble
from orbweaver.cli.main import main
from orbweaver.cli.node import DEFAULTS
from orbweaver.cli.node_config import as_toml
from orbweaver.core.params import describe
from orbweaver.net.settings import Settings, make_settings
from orbweaver.overlays.catalog import OVERLAYS


def test_what_is_said_later_counts(tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text('cluster = "file"\nwindow_s = 1\nping_s = 2\ndead_s = 3\n')
    settings = assemble(
        config,
        {"ping_s": 20, "overlay": None},
        ["dead_s=30"],
        {"cluster": "default", "idle_s": 4},
    )
    assert (settings.cluster, settings.window_s, settings.idle_s) == ("file", 1, 4)
    assert (settings.ping_s, settings.dead_s, settings.overlay) == (20, 30, "spidercast")


def test_what_is_said_replaces_the_list_of_a_file(tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text('join = "127.0.0.1:1"\nsubscribe = ["a", "b"]\n')
    settings = assemble(config, {"join": None, "subscribe": None}, None)
    assert (settings.join, settings.subscribe) == (("127.0.0.1:1",), ("a", "b"))
    settings = assemble(config, {"subscribe": ["c"]}, ["join=127.0.0.1:2"])
    assert (settings.join, settings.subscribe) == (("127.0.0.1:2",), ("c",))


def test_set_knows_settings_and_parameters() -> None:
    text = ["overlay=vitis", "table_size=9", "sign=false", 'publishers={"a/#" = ["0f"]}']
    settings = assemble(None, {}, text)
    assert (settings.overlay, settings.params, settings.sign) == (
        "vitis", {"table_size": "9"}, False,
    )  # fmt: skip
    assert settings.publishers == {"a/#": ["0f"]}


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS)
def test_no_parameter_is_called_like_a_setting(overlay: type) -> None:
    """Or `--set` could not tell them apart."""
    settings = {info.name for info in describe(Settings)}
    assert not settings & {info.name for info in describe(overlay.Params)}


@pytest.mark.parametrize(
    ("join", "listen"),
    [
        ([], "127.0.0.1:0"),
        (["127.0.0.1:7700", "localhost:7710", "[::1]"], "127.0.0.1:0"),
        (["127.0.0.1:7700", "node-1"], "0.0.0.0:0"),
        (["[2001:db8::1]:7700"], "[::]:0"),
    ],
)
def test_where_a_passing_node_listens(join: list[str], listen: str) -> None:
    """Where those it joins can reach it."""
    assert assemble(None, {"join": join}, None).listen == listen


def test_the_printed_file_has_every_setting_and_its_default() -> None:
    lines = as_toml(DEFAULTS).splitlines()
    for info in describe(Settings):
        assert any(line.startswith(f"#{info.name} = ") for line in lines), info.name
    assert make_settings(tomllib.loads("\n".join(lines))) == Settings()
    set = [line[1:] if line[:2] not in ("# ", "") else line for line in lines]
    assert make_settings(tomllib.loads("\n".join(set))) == msgspec.structs.replace(
        Settings(), **DEFAULTS
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("node --overlay vits", "there is no overlay 'vits': did you mean 'vitis'?"),
        ("sub a --join 7720", "'7720' is not an address such as 127.0.0.1:7700"),
        ("node --listen nowhere", "'nowhere' is not an address such as 127.0.0.1:7700"),
        ("node --join a:b", "'a:b' is not an address"),
        ("node --join 127.0.0.1:65536", "'127.0.0.1:65536' is not an address"),
        ("node --config none.toml", "cannot read none.toml: No such file or directory"),
        ("node --config typo.toml", "typo.toml: a node has no parameter 'lisen': did you mean"),
        (
            "node --set kgg=1",
            "neither a node nor spidercast has a setting 'kgg': did you mean 'kg'?",
        ),
        ("node --set foo=1", "see `node --print-config` and `overlays spidercast`"),
        ("node --set kg=-1", "parameter 'kg' of overlay 'spidercast': expected `int` >= 0"),
        ("node --set kg", "--set takes NAME=VALUE, not 'kg'"),
        ("node --set join=[1", "--set join: [1 is not a list or table as in TOML"),
        ("node --set queue_messages=0", "parameter 'queue_messages' of a node: expected"),
        ("node --subscribe a//b", "topic 'a//b' has an empty level"),
        ("node --tls nowhere", "there is no key file nowhere/node.key"),
        ("node --state typo.toml/x", "cannot make the folder typo.toml/x: Not a directory"),
        ("node --log-format xml", "--log-format is console or json, not 'xml'"),
        ("node --log-level loud", "unknown log level 'loud'"),
        ("pub news x", "(connection refused): start one with `orbweaver node`, or name a node"),
        ("pub /news x --join 127.0.0.1:7700", "topic '/news' has an empty level"),
        ("sub news/#", "topic 'news/#' has the wildcard '#', which Orbweaver does not support"),
        ("pub a/+/b x", "topic 'a/+/b' has the wildcard '+'"),
        ("node --config wild.toml", "wild.toml: topic 'a/#' has the wildcard '#'"),
        ("node --subscribe *", "topic '*' has the wildcard '*'"),
        ("sub news", "no node of this machine answers at 127.0.0.1:"),
        ("sub --join 127.0.0.1:7700", "Missing argument 'TOPIC'"),
        ("sub news --count 0 --join 127.0.0.1:7700", "--count"),
        ("swarm 0", "'N'"),
        ("swarm 3 --topics 2", "a node cannot subscribe to 5 different topics out of 2"),
        ("swarm 3 --overlay vitis --set table_size=1", "parameter 'table_size' of overlay 'vitis'"),
        ("swarm 3 --out typo.toml", "--out typo.toml: File exists"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "typo.toml").write_text("lisen = 1\n")
    (tmp_path / "wild.toml").write_text('subscribe = "a/#"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["orbweaver", *arguments.split()])
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setattr(joining, "LOCAL", f"127.0.0.1:{nobody.getsockname()[1]}")
        with pytest.raises(SystemExit) as ended:
            main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert complaint in said.err
    assert said.err.startswith("orbweaver: ")
    assert said.err.count("\n") == 1
