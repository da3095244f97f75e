"""`orbweaver node` runs a node until it is told to stop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import msgspec
import structlog
import typer
from rich.text import Text

from orbweaver.cli.joining import (
    LOCAL,
    Config,
    Join,
    OverlayName,
    Set,
    Tls,
    Uvloop,
    assemble,
    is_loopback,
)
from orbweaver.cli.logs import configure_logs
from orbweaver.cli.loops import run
from orbweaver.cli.node_config import as_toml
from orbweaver.cli.terminal import err, out
from orbweaver.core.errors import UsageError
from orbweaver.net.admin.status import ADMIN_HOST
from orbweaver.net.node import NetworkNode
from orbweaver.net.peers.cards import join_address
from orbweaver.net.settings import PORT, Settings, split_address
from orbweaver.overlays.catalog import find

BESIDE = "beside"
"""Stands for the port after the node's, so that nodes on one machine have different admin pages."""
DEFAULTS = {"listen": LOCAL, "admin": f"{ADMIN_HOST}:{PORT + 1}"}
"""Defaults of the command that differ from the defaults of `Settings`."""


def node(
    config: Config = None,
    overlay: OverlayName = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help=f"Where other nodes reach this one; port 0 takes a free port. [default: "
            f"{DEFAULTS['listen']}]",
        ),
    ] = None,
    join: Join = None,
    subscribe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC",
            help="A topic to subscribe to: the node passes its events on and keeps a window of "
            "them; repeatable.",
        ),
    ] = None,
    set: Set = None,
    tls: Tls = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep here what survives a restart. Without it nothing does."
        ),
    ] = None,
    admin: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where to serve metrics and status over HTTP, or `none`. [default: 127.0.0.1 and "
            f"the port after that of --listen, so {PORT + 1}]",
        ),
    ] = None,
    log_format: Annotated[
        str, typer.Option(help="Format of the log on stderr: console or json.")
    ] = "console",
    log_level: Annotated[
        str, typer.Option(help="Log from this level on: debug, info, warning or error.")
    ] = "info",
    uvloop: Uvloop = True,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print a TOML file with all settings and exit.")
    ] = False,
) -> None:
    """Run a node until Ctrl-C or SIGTERM.

    Prints the node's id, its address and how to join it. The node takes part in the overlay,
    passes events on, and keeps a window of recent events for late joiners. At the signal it says
    goodbye to its neighbours; a second signal ends it at once. Every setting can also stand in a
    TOML file (--config).

    Examples:

        orbweaver node

        orbweaver node --listen 127.0.0.1:7710 --join 127.0.0.1:7700 --subscribe news/sport

        orbweaver node --listen 0.0.0.0:7700 --tls /etc/orbweaver --state /var/lib/orbweaver

        orbweaver node --print-config > node.toml
    """
    if print_config:
        print(as_toml(DEFAULTS), end="")
        return
    said = {"overlay": overlay, "listen": listen, "join": join, "tls": tls, "state": state}
    said |= {"admin": "" if admin == "none" else admin, "subscribe": subscribe}
    settings = assemble(config, said, set, {"listen": DEFAULTS["listen"], "admin": BESIDE})
    settings = _place_admin(settings)
    _configure_logs(log_format, log_level)
    run(_run(settings, talk=log_format == "console"), uvloop)


async def _run(settings: Settings, talk: bool) -> None:
    try:
        async with NetworkNode(find(settings.overlay), settings) as node:
            if talk:
                _introduce(node)
            try:
                await asyncio.Event().wait()
            finally:
                if talk:
                    err.print("leaving")
    except UsageError as error:
        raise _with_hint(error) from None


def _introduce(node: NetworkNode) -> None:
    settings = node.settings
    out.print(
        Text.assemble(
            "node ", (node.id, "bold"), f" at {node.address}, overlay {settings.overlay}"
        ),
        soft_wrap=True,
    )
    if node.admin_address:
        out.print(f"status: orbweaver status --admin {node.admin_address}", soft_wrap=True)
    out.print(
        f"join it: orbweaver sub TOPIC --join {node.address}{_same(settings)}", soft_wrap=True
    )
    out.file.flush()
    if not settings.tls:
        where = "plain: nothing is encrypted, and any peer that reaches the port may take part"
        if is_loopback(split_address(settings.listen)[0]):
            where += " (only from this machine)"
        err.print(Text(f"{where}; for TLS see `orbweaver keys`", "yellow"), soft_wrap=True)
    for address, why in node.unanswered().items():
        err.print(Text(f"{address} does not let us in: {why}; still trying", "yellow"))


def _same(settings: Settings) -> str:
    """Return the further options with which another node fits this one."""
    plain = Settings()
    overlay = f" --overlay {settings.overlay}" if settings.overlay != plain.overlay else ""
    tls = " --tls DIR" if settings.tls else ""
    cluster = f" --set cluster={settings.cluster}" if settings.cluster != plain.cluster else ""
    return overlay + tls + cluster


def _place_admin(settings: Settings) -> Settings:
    if settings.admin != BESIDE:
        return settings
    _, port = split_address(settings.listen)
    address = join_address(ADMIN_HOST, (port + 1) % 65536 if port else 0)
    return msgspec.structs.replace(settings, admin=address)


def _configure_logs(format: str, level: str) -> None:
    if format not in ("console", "json"):
        raise UsageError(f"--log-format is console or json, not '{format}'")
    configure_logs("json" if format == "json" else "console", level)
    if format == "console":
        processors = structlog.get_config()["processors"]
        structlog.configure(processors=[_leave_out, *processors])


def _leave_out(logger: Any, method: str, event: Any) -> Any:
    """Drop the log events that `_introduce` prints in its own words."""
    if str(event.get("event")).startswith(
        ("plain: ", "node runs", "no address lets this node in yet")
    ):
        raise structlog.DropEvent
    return event


def _with_hint(error: UsageError) -> UsageError:
    text = str(error)
    if "cannot listen" in text and "in use" in text:
        option = "--admin" if "admin page" in text else "--listen"
        return UsageError(f"{text}; does a node run already? Choose another with {option}")
    return error
