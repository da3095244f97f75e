"""The settings of a node are declared once, with unit, default and meaning."""

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
"""Default port of a node."""


EVENT_BYTES = 1024
"""Most bytes that an event takes in a frame besides its payload."""


class Settings(Params, frozen=True):
    overlay: Annotated[str, Meta(description="the overlay, by name")] = "spidercast"
    params: Annotated[dict[str, Any], Meta(description="parameters of the overlay, by name")] = {}
    listen: Annotated[
        str, Meta(description="address and port to listen at; port 0 takes a free port")
    ] = "127.0.0.1:0"
    advertise: Annotated[
        str,
        Meta(
            description="address at which other nodes reach this one, if it is not the one it "
            "listens at"
        ),
    ] = ""
    join: Annotated[
        tuple[str, ...], Meta(description="addresses of nodes to join; several are safer than one")
    ] = ()
    subscribe: Annotated[
        tuple[str, ...],
        Meta(description="topics to take part in: pass their events on, and keep a window of them"),
    ] = ()
    cluster: Annotated[
        str,
        Meta(max_length=64, description="name of the cluster; nodes of other clusters are refused"),
    ] = "orbweaver"

    key: Annotated[
        str,
        Meta(description="key file; made if it does not exist. Empty: a new key at each start"),
    ] = ""
    tls: Annotated[
        str,
        Meta(
            description="folder with node.key, node.pem, ca.pem and perhaps a list of revoked keys "
            "(see `orbweaver keys`). "
            "Empty: plain, for one machine or a network that is trusted"
        ),
    ] = ""
    sign: Annotated[bool, Meta(description="sign events, and refuse events without signature")] = (
        True
    )
    publishers: Annotated[
        dict[str, list[str]],
        Meta(
            description="which nodes may publish: topic, or topic/# for all topics below it -> "
            "public keys; overlays take the first one as the topic's publisher"
        ),
    ] = {}
    publishers_certified: Annotated[
        bool,
        Meta(
            description="with tls, accept only events of publishers that the authority has "
            "certified. False: an open cluster, in which members pass on events of others"
        ),
    ] = True
    replay_s: Annotated[
        float,
        Meta(
            gt=0,
            description="largest difference between an event's signing time and the clock; others "
            "are refused",
        ),
    ] = 900.0

    udp: Annotated[bool, Meta(description="send small gossip by UDP; never with TLS")] = True
    admin: Annotated[
        str, Meta(description="address for metrics and status over HTTP. Empty: none")
    ] = ""
    state: Annotated[
        str,
        Meta(
            description="folder for what survives a restart: the key, the window, peers, "
            "subscriptions. Empty: nothing survives"
        ),
    ] = ""
    records: Annotated[
        str, Meta(description="folder for records of what happens at the node. Empty: none")
    ] = ""
    records_copies: Annotated[
        bool,
        Meta(description="record each copy of an event on its way too, for `orbweaver trace`"),
    ] = False

    window_events: Annotated[
        int, Meta(ge=0, description="events of each topic kept for nodes that missed them")
    ] = 100_000
    window_s: Annotated[float, Meta(gt=0, description="how long events are kept")] = 300.0
    window_bytes: Annotated[
        int, Meta(ge=0, description="memory for all kept events, approximately")
    ] = 64 << 20
    catch_up_s: Annotated[
        float, Meta(gt=0, description="period of asking a neighbour for what was missed")
    ] = 5.0

    queue_messages: Annotated[
        int,
        Meta(
            ge=1,
            description="most events waiting for one peer; of other messages at most 1000 wait",
        ),
    ] = 1 << 16
    queue_bytes: Annotated[
        int, Meta(ge=1, description="most bytes of payload waiting for one peer")
    ] = 32 << 20
    socket_bytes: Annotated[
        int,
        Meta(
            ge=4096,
            description="kernel buffer for each connection and direction; raise it for fast links "
            "over long distances",
        ),
    ] = 256 << 10
    when_full: Annotated[
        Literal["wait", "drop"],
        Meta(
            description="when a queue is full: let publish wait, or drop the oldest event. Events "
            "of other publishers are dropped in either case, the oldest first; neighbours ask for "
            "them again"
        ),
    ] = "wait"
    payload_bytes_max: Annotated[int, Meta(ge=1, description="largest payload")] = 256 << 10
    frame_bytes_max: Annotated[
        int,
        Meta(
            ge=1 << 20,
            description="largest frame that is read; frames for catching up take up to 1 MiB",
        ),
    ] = 4 << 20

    connections_max: Annotated[int, Meta(ge=1, description="most connections at once")] = 256
    upkeep_per_s: Annotated[
        float,
        Meta(
            gt=0,
            description="messages that do not spread events, per second and peer; a message that "
            "is large or takes long counts as several",
        ),
    ] = 1000.0
    peers_max: Annotated[int, Meta(ge=16, description="most contact cards remembered")] = 4096
    topics_max: Annotated[int, Meta(ge=16, description="most topics known by name")] = 1 << 16
    topics_of_peer: Annotated[
        int, Meta(ge=1, description="most new topics that one peer may name")
    ] = 8192

    connect_s: Annotated[float, Meta(gt=0, description="time to open a connection")] = 3.0
    handshake_s: Annotated[float, Meta(gt=0, description="time for the handshake")] = 5.0
    ping_s: Annotated[float, Meta(gt=0, description="silence after which a peer is pinged")] = 5.0
    dead_s: Annotated[
        float, Meta(gt=0, description="silence after which a peer counts as dead")
    ] = 15.0
    idle_s: Annotated[
        float, Meta(gt=0, description="idle time after which a connection that is no link closes")
    ] = 30.0
    stall_s: Annotated[
        float, Meta(gt=0, description="time after which a peer that does not read is cut off")
    ] = 10.0
    rejoin_s: Annotated[
        float, Meta(gt=0, description="period of looking for nodes that are out of sight")
    ] = 10.0


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings in a TOML file, as plain values."""
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
            f"window_s={made.window_s:g} keeps events for longer than any node accepts them "
            f"(replay_s={made.replay_s:g}); lower window_s, or raise replay_s at all nodes"
        )
    if made.payload_bytes_max + EVENT_BYTES > made.frame_bytes_max:
        raise UsageError(
            f"an event of payload_bytes_max={made.payload_bytes_max} does not fit into a frame: "
            f"raise frame_bytes_max={made.frame_bytes_max} at all nodes"
        )
    return made


def _plain(name: str, value: Any) -> Any:
    """Turn the only entry of a list, given without the list, into a list, and a path into text."""
    if name in ("join", "subscribe") and isinstance(value, str):
        return (value,)
    return str(value) if isinstance(value, Path) else value


def split_address(text: str, port: int | None = None) -> tuple[str, int]:
    """Split "host:port" or "[v6]:port". The port may be left out if `port` gives a default."""
    host, colon, digits = text.rpartition(":")
    if (not colon or host.endswith(":") or "]" in digits) and port is not None:
        host, digits = text, str(port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or host.isdecimal() or not digits.isdecimal() or int(digits) > 65535:
        raise UsageError(f"'{text}' is not an address such as 127.0.0.1:{port or PORT}")
    return host, int(digits)
