"""`import orbweaver`: what it offers, and that it can be found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import orbweaver
from orbweaver.net.settings import Settings


def test_everything_offered_is_shown_before_it_is_loaded() -> None:
    code = (
        "import sys, orbweaver; shown = dir(orbweaver); "
        "print('orbweaver.net' in sys.modules, *shown)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, *shown = done.stdout.split()
    assert loaded == "False"
    assert shown == sorted(orbweaver.__all__)
    assert {"Node", "Subscription", "Delivery", "Receipt", "UsageError"} <= set(shown)


def test_everything_shown_is_there() -> None:
    for name in dir(orbweaver):
        assert getattr(orbweaver, name) is not None


def widened(name: str, hint: Any) -> Any:
    """What a program may give for a setting of this type."""
    if name in ("key", "tls", "state", "records"):
        return str | Path
    if hint == tuple[str, ...]:
        return str | Sequence[str]
    return {
        dict[str, Any]: Mapping[str, Any],
        dict[str, list[str]]: Mapping[str, Sequence[str]],
    }.get(hint, hint)


def test_node_has_every_setting_as_a_typed_argument() -> None:
    expected = {name: widened(name, hint) for name, hint in get_type_hints(Settings).items()}
    assert get_type_hints(orbweaver.NodeSettings) == expected
    assert list(get_type_hints(orbweaver.NodeSettings)) == list(expected)


def test_mypy_reads_the_arguments_of_a_node(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, orbweaver\n"
        "orbweaver.Node(join='a:1', state=pathlib.Path('x'), sign=False, params={'kg': 1})\n"
        "orbweaver.Node(join=['a:1'], when_full='drop', config='node.toml')\n"
        "orbweaver.Node(jion='a:1')\n"
        "orbweaver.Node(sign='no')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(program), "--cache-dir"]
    done = subprocess.run(
        [*command, str(tmp_path / "cache"), "--follow-imports=silent"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    wrong = [line.split(":")[1] for line in done.stdout.splitlines() if ": error: " in line]
    assert wrong == ["4", "5"], done.stdout + done.stderr


def test_an_address_may_be_given_without_a_list_and_a_folder_as_a_path(tmp_path: Path) -> None:
    node = orbweaver.Node(join="127.0.0.1:7700", subscribe="news", state=tmp_path)
    assert node.settings.join == ("127.0.0.1:7700",)
    assert node.settings.subscribe == ("news",)
    assert node.settings.state == str(tmp_path)
