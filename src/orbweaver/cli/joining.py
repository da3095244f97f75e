"""What the commands that run a node have in common: their options, and how these become the
settings of the node. What is said later counts: the command's own defaults, the file, the
options, `--set`."""

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
        metavar="FILE", help="Settings in TOML; `orbweaver node --print-config` shows all."
    ),
]
OverlayName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The same for all nodes. [default: spidercast]",
        autocompletion=lambda: list(OVERLAYS),
    ),
]
Join = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST:PORT", help="A node to join; several are safer than one."),
]
LocalJoin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A node to join; several are safer than one. [default: the node of this machine, "
        f"{LOCAL}]",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Where others reach this node. [default: a free port; of this machine only if all "
        "it joins are there]",
    ),
]
Tls = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder from `orbweaver keys issue`. Without: plain."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Any setting, or parameter of the overlay; repeatable."
    ),
]
Uvloop = Annotated[bool, typer.Option(help="Use uvloop if it is installed.")]


def assemble(
    config: Path | None,
    given: Mapping[str, Any],
    set: list[str] | None,
    defaults: Mapping[str, Any] = {},
) -> Settings:
    """Settings out of everything; of `given`, what is None was not said."""
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
    """Run a node for one command. It joins the node of this machine if no other was named, and
    takes part in no topics of its own, whichever a file names for the node that stays."""
    named = settings.join
    settings = msgspec.structs.replace(settings, join=named or (LOCAL,), subscribe=())
    async with NetworkNode(find(settings.overlay), settings) as node:
        if not named and (why := node.unanswered().get(LOCAL)):
            raise UsageError(
                f"no node of this machine answers at {LOCAL} ({why}): start one with "
                "`orbweaver node`, or name another with --join HOST:PORT"
            )
        yield node


def _listen_for(join: Sequence[str]) -> str:
    """Any free port. A node that joins others on this machine listens there only."""
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
        raise UsageError(f"--set {name}: not a list or table as in TOML: {error}") from None


def _put(plain: dict[str, Any], name: str, value: Any) -> None:
    """A setting of the node; or, if there is none of that name, of its overlay."""
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
        raise UsageError(f"--set: neither a node nor {overlay.name} has '{name}': {hint}")
