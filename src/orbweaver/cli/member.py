"""Runs one process of `orbweaver swarm`: `python -m orbweaver.cli.member`, its plan on stdin."""

from __future__ import annotations

import sys

from orbweaver.cli.logs import configure_logs
from orbweaver.cli.loops import run
from orbweaver.core.errors import UsageError
from orbweaver.overlays.catalog import find
from orbweaver.swarm.member import live
from orbweaver.swarm.messages import decode_plan


def main() -> None:
    plan = decode_plan(sys.stdin.buffer.readline())
    configure_logs(level="warning")
    try:
        run(live(find(plan.settings["overlay"]), plan), plan.fast)
    except UsageError as error:
        sys.exit(f"orbweaver: {error}")


if __name__ == "__main__":
    main()
