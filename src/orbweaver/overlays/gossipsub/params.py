"""The parameters of GossipSub have the names of its specifications."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from orbweaver.gossip.links import LinkParams


class GossipSubParams(LinkParams, frozen=True):
    heartbeat_ms: Annotated[
        int, Meta(ge=1, description="heartbeat interval", title="v1.0: 1 s")
    ] = 1000
    d: Annotated[
        int, Meta(ge=1, description="peers wanted in the mesh of a topic", title="v1.0: 6")
    ] = 6
    d_low: Annotated[
        int, Meta(ge=1, description="with fewer in the mesh, peers are grafted", title="v1.0: 4")
    ] = 4
    d_high: Annotated[
        int, Meta(ge=1, description="with more in the mesh, peers are pruned", title="v1.0: 12")
    ] = 12
    d_lazy: Annotated[
        int,
        Meta(ge=0, description="fewest peers that are told of recent events", title="v1.0: 6"),
    ] = 6
    gossip_factor: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of the peers outside the mesh that are told of recent events, if "
            "that is more than d_lazy",
            title="v1.1: 0.25",
        ),
    ] = 0.25
    mcache_len: Annotated[
        int, Meta(ge=1, description="heartbeats for which events are kept", title="v1.0: 5")
    ] = 5
    mcache_gossip: Annotated[
        int, Meta(ge=1, description="heartbeats in which an event is announced", title="v1.0: 3")
    ] = 3
    fanout_ttl_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="how long peers are kept for a topic that this node publishes on without "
            "subscribing to it",
            title="v1.0: 60 s",
        ),
    ] = 60_000
    prune_backoff_ms: Annotated[
        int,
        Meta(ge=0, description="time after a PRUNE without a GRAFT", title="v1.1: 1 min"),
    ] = 60_000
    unsubscribe_backoff_ms: Annotated[
        int,
        Meta(ge=0, description="the same where a subscription has ended", title="v1.1: 10 s"),
    ] = 10_000
    flood_publish: Annotated[
        bool,
        Meta(
            description="send events of this node to all connected subscribers, not to the mesh "
            "alone",
            title="v1.1: true",
        ),
    ] = True
    idontwant_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="payloads from this size on are followed by IDONTWANT; 0 sends none",
            title="v1.2 leaves the size open; off, as in v1.1",
        ),
    ] = 0
