"""Options that the commands running a node share, and how they become the node's settings.
Later ones override earlier ones: the command's own defaults, the file, the options, `--set`."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from orbweaver.core.errors import UsageError, nearest
from orbweaver.core.params import describe
from orbweaver.net.node import NetworkNode
from orbweaver.net.opening import open_params
from orbweaver.net.settings import PORT, Settings, make_settings, read_settings, split_address
from orbweaver.overlays.catalog import OVERLAYS, find

LOCAL = f"127.0.0.1:{PORT}"
"""Where `orbweaver node` listens on this machine unless told otherwise."""

Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Settings in TOML; `orbweaver node --print-config` prints all."
    ),
]
OverlayName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The overlay, the same for all nodes; see `orbweaver overlays`. [default: spidercast]",
        autocompletion=lambda: list(OVERLAYS),
    ),
]
Join = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT", help="A node to join; repeatable, several are safer than one."
    ),
]
LocalJoin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A node to join; repeatable, several are safer than one. [default: the node of this "
        "machine, "
        f"{LOCAL}]",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Where other nodes reach this one. [default: a free port, open to this machine only "
        "if all nodes it joins are on it]",
    ),
]
Tls = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The node's folder from `orbweaver keys issue`. Without it nothing is encrypted.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting of the node or parameter of the overlay; repeatable.",
    ),
]
Uvloop = Annotated[bool, typer.Option(help="Use uvloop if it is installed.")]


def assemble(
    config: Path | None,
    given: Mapping[str, Any],
    set: list[str] | None,
    defaults: Mapping[str, Any] = {},
) -> Settings:
    """Build the settings from the file, the options and `--set`. An option that is None in `given`
    was not given."""
    plain = dict(defaults)
    if config is not None:
        found = read_settings(config)
        try:
            make_settings(found)
        except UsageError as error:
            raise UsageError(f"{config}: {error}") from None
        plain |= found
    plain |= {name: value for name, value in given.items() if value is not None}
    for name, value in map(_parse, set or []):
        _put(plain, name, value)
    settings = make_settings(plain)
    if "listen" not in plain:
        settings = msgspec.structs.replace(settings, listen=_listen_for(settings.join))
    open_params(find(settings.overlay), settings)
    for address in settings.join:
        split_address(address, PORT)
    split_address(settings.listen)
    return settings


@asynccontextmanager
async def passing_node(settings: Settings) -> AsyncIterator[NetworkNode]:
    """Run a node for one command. It joins the node of this machine unless --join named another,
    and leaves out the topics that the file names for the long-lived node."""
    named = settings.join
    settings = msgspec.structs.replace(settings, join=named or (LOCAL,), subscribe=())
    async with NetworkNode(find(settings.overlay), settings) as node:
        if not named and (why := node.unanswered().get(LOCAL)):
            raise UsageError(
                f"no node of this machine answers at {LOCAL} ({why}): start one with "
                "`orbweaver node`, or name a node elsewhere with --join HOST:PORT"
            )
        yield node


def _listen_for(join: Sequence[str]) -> str:
    """Return an address with a free port, local if all nodes to join are on this machine."""
    hosts = [split_address(address, PORT)[0] for address in join]
    if all(is_loopback(host) for host in hosts):
        return "127.0.0.1:0"
    return "[::]:0" if all(":" in host for host in hosts) else "0.0.0.0:0"


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parse(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise UsageError(f"--set takes NAME=VALUE, not '{text}'")
    if value[:1] not in ("[", "{"):
        return name, value
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"--set {name}: {value} is not a list or table as in TOML: {error}"
        ) from None


def _put(plain: dict[str, Any], name: str, value: Any) -> None:
    """Set a setting of the node or, if it has none of this name, a parameter of its overlay."""
    settings = {info.name for info in describe(Settings)}
    overlay = find(plain.get("overlay", Settings().overlay))
    params = {info.name for info in describe(overlay.Params)}
    if name in settings:
        plain[name] = value
    elif name in params:
        plain["params"] = {**plain.get("params", {}), name: value}
    else:
        hint = nearest(name, settings | params)
        if hint.startswith("known"):  # too many to be of use here
            hint = f"see `node --print-config` and `overlays {overlay.name}`"
        raise UsageError(
            f"--set {name}: neither a node nor {overlay.name} has a setting '{name}': {hint}"
        )
