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
    # Time that passes only while the page has nothing to do, so that a busy machine is no matter.
    "--virtual-time-budget=60000",
)  # fmt: skip
LIMIT_S = 300
"""Seconds for a page; a busy machine takes some."""


def measured(page: Path, script: str, width: int, folder: Path) -> Any:
    """Return the value of a JavaScript expression in a page, in a window of a width in pixels, once
    its pictures are drawn."""
    assert CHROMIUM is not None
    asking = (
        "<script>addEventListener('load', async () => { await Promise.allSettled([window.drawn]); "
        f"document.title = 'measured' + JSON.stringify({script}); }})</script></body>"
    )
    copy = folder / "asked.html"
    before, _, after = page.read_text(encoding="utf-8").rpartition("</body>")
    copy.write_text(before + asking + after, encoding="utf-8")
    profile = folder / "profile"
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},2000"]
    done = subprocess.run(
        [*command, "--dump-dom", copy.as_uri()],
        capture_output=True, text=True, timeout=LIMIT_S, check=True,
    )  # fmt: skip
    found = re.search("<title>measured(.*?)</title>", done.stdout)
    assert found, done.stdout[:300] + done.stderr[-300:]
    return json.loads(unescape(found[1]))
