"""What can be set of a node: declared once, with unit, default and meaning."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import check_single_topic
from orbweaver.core.params import Params, build

PORT = 7700


EVENT_BYTES = 1024
"""What an event takes in a frame besides its payload, at most."""


class Settings(Params, frozen=True):
    overlay: Annotated[str, Meta(description="the overlay, by name")] = "spidercast"
    params: Annotated[dict[str, Any], Meta(description="parameters of the overlay, by name")] = {}
    listen: Annotated[
        str, Meta(description="address and port to listen at; port 0 is any that is free")
    ] = "127.0.0.1:0"
    advertise: Annotated[
        str,
        Meta(description="address at which others reach this node, if not the one it listens at"),
    ] = ""
    join: Annotated[
        tuple[str, ...], Meta(description="addresses of nodes to join; several are safer than one")
    ] = ()
    subscribe: Annotated[
        tuple[str, ...],
        Meta(description="topics to take part in: pass their events on, and keep a window of them"),
    ] = ()
    cluster: Annotated[
        str, Meta(max_length=64, description="nodes of another cluster are not let in")
    ] = "orbweaver"

    key: Annotated[
        str, Meta(description="key file; made if it is not there. Empty: a new key at each start")
    ] = ""
    tls: Annotated[
        str,
        Meta(
            description="folder with node.key, node.pem and ca.pem (see `orbweaver keys`). "
            "Empty: plain, for one machine or a network that is trusted"
        ),
    ] = ""
    sign: Annotated[bool, Meta(description="sign events, and refuse those that are not signed")] = (
        True
    )
    publishers: Annotated[
        dict[str, list[str]],
        Meta(description="who may publish: topic, or topic/# for all below it -> node ids"),
    ] = {}
    replay_s: Annotated[
        float, Meta(gt=0, description="events signed longer ago, or further ahead, are refused")
    ] = 900.0

    udp: Annotated[bool, Meta(description="small gossip by datagrams; never where TLS is on")] = (
        True
    )
    admin: Annotated[
        str, Meta(description="address for metrics and status over HTTP. Empty: none")
    ] = ""
    state: Annotated[
        str,
        Meta(
            description="folder for what survives a restart: the key, the window, peers, "
            "subscriptions. Empty: nothing does"
        ),
    ] = ""
    records: Annotated[
        str, Meta(description="folder to write records of what happens into. Empty: none")
    ] = ""

    window_events: Annotated[
        int, Meta(ge=0, description="events of each topic kept for those who missed them")
    ] = 10_000
    window_s: Annotated[float, Meta(gt=0, description="how long they are kept")] = 300.0
    window_bytes: Annotated[int, Meta(ge=0, description="memory for them in all, about")] = 64 << 20
    catch_up_s: Annotated[
        float, Meta(gt=0, description="period of asking a neighbour for what was missed")
    ] = 5.0

    queue_messages: Annotated[
        int, Meta(ge=1, description="events waiting for one peer; of upkeep, 1000 at most")
    ] = 8192
    queue_bytes: Annotated[int, Meta(ge=1, description="payload waiting for one peer")] = 32 << 20
    socket_bytes: Annotated[
        int,
        Meta(
            ge=4096,
            description="buffer of the kernel for each connection and direction; more for fast "
            "links over long distances",
        ),
    ] = 256 << 10
    when_full: Annotated[
        Literal["wait", "drop"],
        Meta(
            description="a full queue: let publish wait, or drop the oldest event. Events "
            "of others are dropped in either case, the oldest first; neighbours ask for them again"
        ),
    ] = "wait"
    payload_bytes_max: Annotated[int, Meta(ge=1, description="largest payload")] = 256 << 10
    frame_bytes_max: Annotated[
        int,
        Meta(
            ge=1 << 20,
            description="largest frame read; those that catch up take most of 1 MiB",
        ),
    ] = 4 << 20

    connections_max: Annotated[int, Meta(ge=1, description="connections at once")] = 256
    upkeep_per_s: Annotated[
        float, Meta(gt=0, description="messages a second that weave the overlay, from one peer")
    ] = 1000.0
    traffic_per_s: Annotated[
        float, Meta(gt=0, description="messages a second that spread events, from one peer")
    ] = 500_000.0
    peers_max: Annotated[int, Meta(ge=16, description="contact cards remembered")] = 4096
    topics_max: Annotated[int, Meta(ge=16, description="topics known by name")] = 1 << 16
    topics_of_peer: Annotated[int, Meta(ge=1, description="new topics that one peer may name")] = (
        8192
    )

    connect_s: Annotated[float, Meta(gt=0, description="time to open a connection")] = 3.0
    handshake_s: Annotated[float, Meta(gt=0, description="time for the handshake")] = 5.0
    ping_s: Annotated[float, Meta(gt=0, description="silence after which a peer is asked")] = 5.0
    dead_s: Annotated[float, Meta(gt=0, description="silence after which it is given up")] = 15.0
    idle_s: Annotated[
        float, Meta(gt=0, description="a connection that is no link closes after this")
    ] = 30.0
    stall_s: Annotated[
        float, Meta(gt=0, description="a peer that does not read for so long is cut off")
    ] = 10.0
    rejoin_s: Annotated[
        float, Meta(gt=0, description="period of looking for nodes out of sight")
    ] = 10.0


def read_settings(path: Path) -> dict[str, Any]:
    """What a TOML file sets."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None


def make_settings(settings: Mapping[str, Any]) -> Settings:
    """Build the settings of a node from plain values, as a program or a file gives them."""
    made = build(Settings, {k: _plain(k, v) for k, v in settings.items()}, "a node")
    for topic in made.subscribe:
        check_single_topic(topic)
    if made.sign and made.window_s > made.replay_s:
        raise UsageError(
            f"window_s={made.window_s:g} keeps events for longer than anybody would take them "
            f"(replay_s={made.replay_s:g}); lower window_s, or raise replay_s at all nodes"
        )
    if made.payload_bytes_max + EVENT_BYTES > made.frame_bytes_max:
        raise UsageError(
            f"an event of payload_bytes_max={made.payload_bytes_max} does not fit into a frame: "
            f"raise frame_bytes_max={made.frame_bytes_max} at all nodes"
        )
    return made


def _plain(name: str, value: Any) -> Any:
    """A list may be given as its only entry, and a file as a path."""
    if name in ("join", "subscribe") and isinstance(value, str):
        return (value,)
    return str(value) if isinstance(value, Path) else value


def split_address(text: str, port: int | None = None) -> tuple[str, int]:
    """ "host:port" or "[v6]:port"; the port may be left out where there is a default."""
    host, colon, digits = text.rpartition(":")
    if (not colon or host.endswith(":") or "]" in digits) and port is not None:
        host, digits = text, str(port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or host.isdecimal() or not digits.isdecimal() or int(digits) > 65535:
        raise UsageError(f"'{text}' is not an address such as 127.0.0.1:{port or PORT}")
    return host, int(digits)
