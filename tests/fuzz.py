"""Random search: run the Hypothesis tests with new seeds until the time is over or one fails.

Run by `make fuzz`. What it finds becomes an `@example` of the test that failed.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from random import SystemRandom

SEED_MAX = 2**32


def round_of(seed: int) -> list[str]:
    """Return the command that runs all Hypothesis tests once with this seed."""
    return [
        sys.executable, "-m", "pytest", "-q", "-x", "-n", "2",
        "-m", "hypothesis and not slow", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}",
    ]  # fmt: skip


def search(seconds: float, first: int) -> int:
    """Run rounds until the time is over. Return the exit code of the first that failed, or 0."""
    end = time.monotonic() + seconds
    seed, rounds = first, 0
    while (left := end - time.monotonic()) > 0:
        print(f"round {rounds + 1}, seed {seed}, {left:.0f} s left", flush=True)
        with subprocess.Popen(round_of(seed)) as tests:
            try:
                code = tests.wait(left)
            except subprocess.TimeoutExpired:
                tests.send_signal(signal.SIGINT)
                break
        if code:
            print(f"repeat it with: make fuzz SEED={seed}")
            return code
        rounds, seed = rounds + 1, (seed + 1) % SEED_MAX
    print(f"{rounds} whole rounds, nothing found")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long to search")
    parser.add_argument("--seed", type=int, help="the seed of the first round; random if not given")
    options = parser.parse_args()
    seed = SystemRandom().randrange(SEED_MAX) if options.seed is None else options.seed
    sys.exit(search(options.seconds, seed))
