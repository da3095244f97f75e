"""Compares simulated and deployed nodes.

One scenario of forty nodes is played in the simulator, with several seeds, and by real nodes on
sockets of this machine, in real time, several times. The page says for each overlay and figure
whether they agree (see `orbweaver.testing.agreement`). It is also played a third way: by the same
nodes and sockets on a clock that stands still while the machine works. The study takes about five
minutes for each overlay, on a machine with nothing else to do: 40 nodes in one process leave a core
no time for anything else.

    python studies/agreement.py --out docs/results/agreement.md

With `--latency`, the delays come from a matrix of round trips in milliseconds, as in claim R11 of
Rappel. `--scenario scenarios/agreement/few.toml` takes fewer nodes and gives them more time.
`--paced` leaves out real time, for a machine with other things to do.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import structlog

from orbweaver.metrics.averages import mean
from orbweaver.overlays.catalog import find
from orbweaver.records.files import check_file, whole_file
from orbweaver.testing.agreement.deployed import Deployed
from orbweaver.testing.agreement.figures import (
    FIGURES,
    SPREAD,
    Comparison,
    Values,
    compare,
    figures,
)
from orbweaver.testing.agreement.play import Play, make_play, simulated
from orbweaver.testing.paced_loop import PacedLoop
from orbweaver.workload.scenario import LatencySpec, Scenario
from orbweaver.workload.scenario_files import load_scenario

SCENARIO = Path(__file__).parents[1] / "scenarios" / "agreement" / "forty.toml"
SEEDS = range(1, 11)
RUNS = 3
TABLE = {"table_size": 8}
"""Parameters: the papers' table of 15 would link nearly all of 40 nodes with all."""
RINGS = {"ring_size": 1, "fingers": 3, "control_fingers": 1}
"""The same for Magnet: eight links of its own on two rings."""
OVERLAYS: dict[str, dict[str, Any]] = {
    "spidercast": {},
    "vitis": TABLE,
    "rvr": TABLE,
    "opt": TABLE,
    "ring-per-topic": {},
    "magnet": RINGS,
    "magnet-strawman": RINGS,
    "omen": {},
    "rappel": {},
}
PACED = (
    " *Paced* are the same nodes and sockets on a clock that stands still while the machine works: "
    "what differs there too is not the machine's fault."
)
NOTES: dict[str, str] = {}
"""Reasons for what does not agree: overlay and figure -> why."""


class Live(msgspec.Struct, frozen=True):
    values: Values
    late_ms: float
    pulled: int
    """Number of deliveries brought by catching up and not by the overlay."""


class Found(msgspec.Struct, frozen=True):
    overlay: str
    simulated: list[Values]
    deployed: list[Live]
    """Runs in real time; empty with `--paced`."""
    paced: list[Live]

    def compared(self) -> list[Comparison]:
        return compare(self.simulated, [live.values for live in self.deployed or self.paced])

    def compared_paced(self) -> list[Comparison]:
        return compare(self.simulated, [live.values for live in self.paced])


def deployed(play: Play) -> Live:
    """Play the scenario with real nodes, in real time."""
    with tempfile.TemporaryDirectory(prefix="orbweaver-") as folder:
        run = Deployed(play, Path(folder))
        asyncio.run(run.run())
        return _measure(play, run)


def paced(play: Play) -> Live:
    loop = PacedLoop()
    with tempfile.TemporaryDirectory(prefix="orbweaver-") as folder:
        run = Deployed(play, Path(folder), clock_ms=lambda: round(1000 * loop.time()))
        try:
            loop.run_until_complete(run.run())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
        return _measure(play, run)


def _measure(play: Play, run: Deployed) -> Live:
    records, found = run.records()
    trouble = found.crashes + found.damaged + found.missing + found.unknown_events
    assert trouble == 0, found
    return Live(figures(records, play), run.late_ms, found.pulled)


def study(scenario: Scenario, overlay: str, runs: int, real_time: bool) -> Found:
    play = make_play(scenario, find(overlay), OVERLAYS[overlay])
    simulations = [figures(simulated(play, s), play) for s in SEEDS]
    found = Found(overlay, simulations, [], [paced(play) for _ in range(runs)])
    print(f"{overlay}: paced {found.paced}", flush=True)
    for _ in range(runs if real_time else 0):
        found.deployed.append(deployed(play))
        print(f"{overlay}: {found.deployed[-1]}", flush=True)
    return found


# -- the page


def page(found: Sequence[Found], machine: str, source: Path, scenario: Scenario) -> str:
    every = [one for overlay in found for one in overlay.compared()]
    still = [one for overlay in found for one in overlay.compared_paced()]
    agree, agree_still = (sum(one.agree for one in each) for each in (every, still))
    runs = len(found[0].paced)
    real_time = bool(found[0].deployed)
    clock = "in real time" if real_time else "on a clock that stands still while the machine works"
    also = f"; {agree_still} do with the same nodes and sockets on a still clock"
    parts = [
        "# Simulated and deployed nodes, side by side",
        f"{agree} of {len(every)} figures agree{also if real_time else ''}. The same scenario "
        f"([{source.name}](../../scenarios/agreement/{source.name})) was played in the simulator, "
        f"with {len(SEEDS)} seeds, and by {scenario.workload.nodes} real nodes, {runs} times: "
        f"sockets of one machine, {clock}, all nodes in one process. Interests, publications "
        f"({scenario.publish.events}, by the same nodes at the same times), delays one way between "
        "each two nodes and places on the ring are the same in both; membership is gossiped in "
        "both, and nodes join one after the other and subscribe when they are up. Both hosts write "
        "the same records, and the same functions measure them.",
        _delays(scenario),
        machine,
        _command(source, scenario) + ("" if real_time else " --paced"),
        "## What counts as agreement",
        "The mean over the deployed runs may differ from the mean over the simulator's seeds by "
        f"so much, or by {SPREAD:g} standard deviations over these seeds, if that is more (the "
        "medians of claim R11 by no more than the claim says). The bands are those that the study "
        "was first committed with; the medians were added later, with the band of the claim and "
        "before they were first measured.",
        _table(
            ["figure", "band", "why"],
            [[f.name, _band(f.share, f.least), f.why] for f in FIGURES],
        ),
        "The overlay is looked at at the end; messages are counted from the end of the warm-up "
        "on. Control messages are all that overlays send but events. Pings, addresses, "
        "signatures and catching up are the network host's own and not among them.",
        "## Results",
        "± is the standard deviation over the seeds; in brackets, the lowest and the highest of "
        "the runs." + (PACED if real_time else ""),
        _table(
            ["overlay", "figure", "simulated", "deployed", "difference", "band", "verdict",
             *(["paced"] if real_time else [])],
            [row for overlay in found for row in _rows(overlay)],
        ),
        *_notes(found),
        *(_machine(found) if real_time else []),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _machine(found: Sequence[Found]) -> list[str]:
    return [
        "## The machine",
        "How late messages came out of their delay, in the mean of each run. They meet about as "
        "much again on their way out of a socket, and an event crosses several links, so this "
        "is what the machine adds to the latency: with more than some 2 ms it uses up the band "
        "by itself. Caught up are deliveries that came out of a neighbour's window rather than "
        "through the overlay.",
        _table(
            ["overlay", "late, ms", "caught up"],
            [
                [o.overlay, ", ".join(f"{live.late_ms:.1f}" for live in o.deployed),
                 str(sum(live.pulled for live in o.deployed))]
                for o in found
            ],
        ),
    ]  # fmt: skip


def _command(source: Path, scenario: Scenario) -> str:
    command = "    python studies/agreement.py"
    if source != SCENARIO:
        command += f" --scenario scenarios/agreement/{source.name}"
    if scenario.latency.model == "matrix":
        command += f" --latency {Path(scenario.latency.file).name}"
    return command


def _delays(scenario: Scenario) -> str:
    if scenario.latency.model != "matrix":
        return ""
    return (
        f"The delays are halves of the round trips in {Path(scenario.latency.file).name}, between "
        "as many of its sites as there are nodes, drawn at random. A node measures the round trip "
        "of its sockets plus these delays."
    )


def _rows(found: Found) -> list[list[str]]:
    rows = []
    for one, other in zip(found.compared(), found.compared_paced(), strict=True):
        digits = one.figure.digits
        still = f"{100 * other.difference / mean(other.simulated):+.1f} %"
        still += "" if other.agree else ", not in the band"
        rows.append(
            [
                found.overlay,
                one.figure.name,
                f"{mean(one.simulated):.{digits}f} ±{one.spread:.{digits}f}",
                f"{mean(one.deployed):.{digits}f} "
                f"({min(one.deployed):.{digits}f} to {max(one.deployed):.{digits}f})",
                f"{100 * one.difference / mean(one.simulated):+.1f} %",
                f"{100 * one.band / mean(one.simulated):.1f} %",
                "agree" if one.agree else "**do not agree**",
                *([still] if found.deployed else []),
            ]
        )
    return rows


def _notes(found: Sequence[Found]) -> list[str]:
    told = [
        f"- **{overlay.overlay}, {one.figure.name}.** "
        + NOTES.get(f"{overlay.overlay}, {one.figure.name}", "Not explained yet.")
        for overlay in found
        for one in overlay.compared()
        if not one.agree
    ]
    return ["## What does not agree, and why", "\n".join(told)] if told else []


def _band(share: float, least: float) -> str:
    return f"{100 * share:g} %" if share else f"{100 * least:g} points of 100"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("agreement.md"))
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("out/agreement.json"),
        help="where results are kept; the page shows all results that are there",
    )
    parser.add_argument("--again", action="store_true", help="only the page")
    parser.add_argument("--overlays", nargs="+", default=list(OVERLAYS), choices=OVERLAYS)
    parser.add_argument("--runs", type=int, default=RUNS, help="deployed runs of each overlay")
    parser.add_argument(
        "--paced", action="store_true", help="no runs in real time, since the machine is busy"
    )
    parser.add_argument("--scenario", type=Path, default=SCENARIO, help="what is played")
    parser.add_argument(
        "--latency", type=Path, help="a square matrix of round trips in ms to take the delays from"
    )
    parser.add_argument("--machine", default="", help="a line that says when and where")
    args = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    check_file(args.out)
    scenario = load_scenario(args.scenario)
    if args.latency is not None:
        spec = LatencySpec(model="matrix", file=str(args.latency))
        scenario = msgspec.structs.replace(scenario, latency=spec)
    if not args.again:
        args.work.parent.mkdir(parents=True, exist_ok=True)
        for overlay in args.overlays:
            done = _read(args.work) | {overlay: study(scenario, overlay, args.runs, not args.paced)}
            args.work.write_bytes(msgspec.json.encode(done))
    done = _read(args.work)
    if not done:
        parser.error(f"there is nothing in {args.work} yet")
    found = [done[overlay] for overlay in OVERLAYS if overlay in done]
    if args.paced:
        found = [msgspec.structs.replace(one, deployed=[]) for one in found]
    elif missing := [one.overlay for one in found if not one.deployed]:
        parser.error(f"{missing[0]} has no runs in real time; give --paced for a page without")
    with whole_file(args.out) as temporary:
        temporary.write_text(page(found, args.machine, args.scenario, scenario), encoding="utf-8")


def _read(path: Path) -> dict[str, Found]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Found]) if path.exists() else {}


if __name__ == "__main__":
    main()
