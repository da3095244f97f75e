"""Runs one process of a measurement: `python -m wire.worker SYSTEM ROLE SPEC`."""

from __future__ import annotations

import importlib
import json
import sys


def main() -> None:
    system, role, spec = sys.argv[1:]
    module = importlib.import_module(f"wire.systems.{system}")
    getattr(module, role)(json.loads(spec))


if __name__ == "__main__":
    main()
