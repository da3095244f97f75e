"""`orbweaver.Node` is a network node that chooses its overlay by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import make_settings, read_settings
from orbweaver.overlays.catalog import find


class NodeSettings(TypedDict, total=False):
    """The keyword arguments of `Node` are the settings of `orbweaver.net.settings.Settings`, which
    documents each with its default. A single address may be given in place of a list of addresses,
    and a `Path` in place of its text."""

    overlay: str
    params: Mapping[str, Any]
    listen: str
    advertise: str
    join: str | Sequence[str]
    subscribe: str | Sequence[str]
    cluster: str
    key: str | Path
    tls: str | Path
    sign: bool
    publishers: Mapping[str, Sequence[str]]
    publishers_certified: bool
    replay_s: float
    udp: bool
    admin: str
    state: str | Path
    records: str | Path
    records_copies: bool
    window_events: int
    window_s: float
    window_bytes: int
    catch_up_s: float
    queue_messages: int
    queue_bytes: int
    socket_bytes: int
    when_full: Literal["wait", "drop"]
    payload_bytes_max: int
    frame_bytes_max: int
    connections_max: int
    upkeep_per_s: float
    peers_max: int
    topics_max: int
    topics_of_peer: int
    connect_s: float
    handshake_s: float
    ping_s: float
    dead_s: float
    idle_s: float
    stall_s: float
    rejoin_s: float


class Node(NetworkNode):
    """A `Node` takes part in a network from within a program.

    async with orbweaver.Node(overlay="vitis", join="127.0.0.1:7700") as node:
        news = await node.subscribe("news/sport")

    `config` is a TOML file with the same settings; arguments override it.
    """

    def __init__(
        self, *, config: str | Path | None = None, **settings: Unpack[NodeSettings]
    ) -> None:
        given = read_settings(Path(config)) if config is not None else {}
        made = make_settings({**given, **settings})
        super().__init__(find(made.overlay), made)
