"""What docs/network.md shows of Python runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from orbweaver.cli.joining import assemble

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
SAYS = [
    r"had it at once.*\nb'kick-off' from [0-9a-f]{16} over 1 link",
    "^0 first\n1 second\n2 the end",
]


@pytest.mark.parametrize(
    ("code", "says"), list(zip(EXAMPLES, SAYS, strict=True)), ids=["hello", "reader"]
)
def test_example(code: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert re.search(says, done.stdout), done.stdout


def test_the_deployed_settings_are_settings() -> None:
    """Also those that are there as remarks."""
    assert assemble(ROOT / "deploy" / "node.toml", {}, None).tls == "/etc/orbweaver/tls"


def test_remarks_in_the_deployed_settings(tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "node.toml").read_text(encoding="utf-8")
    whole = tmp_path / "node.toml"
    whole.write_text(re.sub(r"(?m)^#(?=\S)", "", text), encoding="utf-8")
    settings = assemble(whole, {}, None)
    assert settings.advertise
    assert settings.publishers
