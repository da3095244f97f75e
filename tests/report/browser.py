"""What a browser makes of a page, by headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
LIMIT_S = 300
"""Seconds for a page; a busy machine takes some."""


def measured(page: Path, script: str, width: int, folder: Path) -> Any:
    """Return the value of a JavaScript expression in a page, in a window of a width in pixels."""
    assert CHROMIUM is not None
    asking = (
        '<script>addEventListener("load", () => { document.title = "measured" + '
        f"JSON.stringify({script}); }})</script></body>"
    )
    copy = folder / "asked.html"
    text = page.read_text(encoding="utf-8")
    copy.write_text(text.replace("</body>", asking), encoding="utf-8")
    profile = folder / "profile"
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},2000"]
    done = subprocess.run(
        [*command, "--dump-dom", copy.as_uri()],
        capture_output=True, text=True, timeout=LIMIT_S, check=True,
    )  # fmt: skip
    found = re.search("<title>measured(.*?)</title>", done.stdout)
    assert found, done.stdout[:300] + done.stderr[-300:]
    return json.loads(unescape(found[1]))
