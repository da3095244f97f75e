"""`orbweaver swarm` runs a network of processes on this machine, under load."""

from __future__ import annotations

import asyncio
import json as json_text
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.live import Live
from rich.text import Text

from orbweaver.cli.joining import OverlayName, Set, Uvloop, assemble
from orbweaver.cli.loops import carry_on, run
from orbweaver.cli.options import Json
from orbweaver.cli.reading import trouble
from orbweaver.cli.swarm_view import moving, result
from orbweaver.cli.terminal import err, out, print_json
from orbweaver.core.errors import UsageError
from orbweaver.net.opening import open_params
from orbweaver.overlays.catalog import find
from orbweaver.swarm.conductor import Swarm
from orbweaver.swarm.messages import MemberPlan
from orbweaver.swarm.totals import Summary
from orbweaver.workload.subscriptions import make_model, synthesise

NODES_MAX = 500
"""Most processes of a swarm."""
POPULARITY = "zipf:0.5"
SHOW_S = 0.5
"""Seconds between two updates of the table on the terminal."""
COMMAND = (sys.executable, "-m", "orbweaver.cli.member")


def swarm(
    nodes: Annotated[
        int, typer.Argument(metavar="N", min=1, max=NODES_MAX, help="Number of processes.")
    ],
    overlay: OverlayName = None,
    topics: Annotated[int, typer.Option(min=1, help="Number of topics.")] = 20,
    subscriptions: Annotated[
        int, typer.Option(min=1, help="Topics that each node subscribes to and publishes on.")
    ] = 5,
    rate: Annotated[
        float, typer.Option(min=0, help="Events per second, of all nodes together.")
    ] = 10.0,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds to publish for. [default: until Ctrl-C]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of subscriptions and publications.")] = 0,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep the logs and the summary in this folder."),
    ] = None,
    set: Set = None,
    uvloop: Uvloop = True,
    json: Json = False,
) -> None:
    """Run a network of processes on this machine, publish, and check that everything arrives.

    Each process is a node with random subscriptions; popular topics have more subscribers than
    others (Zipf with exponent 0.5). Ctrl-C ends the publications; the command then waits for the
    last events and prints deliveries, latencies, links and memory. The exit code is 1 if an event
    is missing, a node was lost, or an event was delivered twice.

    Examples:

        orbweaver swarm 10

        orbweaver swarm 50 --overlay vitis --rate 100 --seconds 30 --set table_size=10
    """
    settings = assemble(None, {"overlay": overlay}, set, {"admin": "127.0.0.1:0"})
    drawn = synthesise(
        make_model(topics, POPULARITY, subscriptions, subscriptions), nodes, "swarm", seed
    )
    plain = msgspec.to_builtins(settings)
    plans = [
        MemberPlan(plain, wanted, rate / nodes, seed * NODES_MAX + i, uvloop)
        for i, wanted in enumerate(drawn.of_node)
    ]
    folder = _folder(out_folder)
    try:
        summary = run(_swarm(plans, folder, seconds), fast=False)
        if summary is None:
            raise typer.Exit(130)
        if out_folder is not None:
            text = json_text.dumps(summary.as_plain(), indent=2)
            (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    finally:
        if out_folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    if json:
        print_json(summary.as_plain())
    else:
        out.print(result(summary))
        chosen = find(settings.overlay)
        if summary.missing and not chosen.claims(open_params(chosen, settings)).total_delivery:
            out.print(f"{chosen.name} does not promise that everything arrives")
    if summary.missing or summary.lost or summary.repeated:
        raise typer.Exit(1)


async def _swarm(plans: list[MemberPlan], folder: Path, seconds: float | None) -> Summary:
    async with Swarm(COMMAND, plans, folder) as swarm:
        showing = asyncio.create_task(_show(swarm))
        try:
            await _phases(swarm, seconds)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
        found = trouble(swarm.totals.counters())
        overlay = plans[0].settings["overlay"]
        return swarm.totals.summary(overlay, swarm.seconds, found, swarm.children.lost())


async def _phases(swarm: Swarm, seconds: float | None) -> None:
    await swarm.start(at_once=2 * (os.cpu_count() or 1))
    watch = f"orbweaver top --swarm {swarm.admin_file}"
    err.print(Text(f"{len(swarm.plans)} nodes up; watch them: {watch}"), soft_wrap=True)
    await swarm.weave()
    try:
        await swarm.publish(seconds)
    except asyncio.CancelledError:  # Ctrl-C; the next one ends at once
        carry_on()
    await swarm.finish()


async def _show(swarm: Swarm) -> None:
    """Update the table from the event loop. `Live` would use a thread, while reports come in."""
    if not err.is_terminal:
        return
    with Live(console=err, transient=True, auto_refresh=False) as live:
        while True:
            live.update(moving(swarm), refresh=True)
            await asyncio.sleep(SHOW_S)


def _folder(chosen: Path | None) -> Path:
    if chosen is None:
        return Path(tempfile.mkdtemp(prefix="orbweaver-swarm-"))
    try:
        chosen.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {chosen}: {error.strerror}") from None
    return chosen
