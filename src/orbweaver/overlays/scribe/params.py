"""The parameters of Scribe and Pastry, in one struct, each with its source."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from orbweaver.core.params import Params


class ScribeParams(Params, frozen=True):
    leaf_set: Annotated[
        int,
        Meta(
            ge=2,
            le=128,
            multiple_of=2,
            description="L: nodes next to this one by identifier, half of them on either side",
            title="FreePastry: 24",
        ),
    ] = 24
    proximity: Annotated[
        bool,
        Meta(
            description="of the nodes that fit a place in the routing table, keep the one with "
            "the shortest round trip; otherwise the first",
            title="Pastry 2.5: yes",
        ),
    ] = True
    root: Annotated[
        Literal["hash", "publisher"],
        Meta(
            description="the root of a topic: the node closest to the hash of its name, or the "
            "publisher where one is named",
            title="Scribe, group creation: hash; Rappel 6.4 compares with publisher",
        ),
    ] = "hash"
    join_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="time after which a node that has not joined tries again",
            title="ours",
        ),
    ] = 1000
    heartbeat_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period of the heartbeats of links",
            title="MSPastry (Castro, Costa, Rowstron 2004): 30 s",
        ),
    ] = 30_000
    probe_ms: Annotated[
        int,
        Meta(ge=1, description="time for the answer to a probe", title="MSPastry: 3 s"),
    ] = 3000
    table_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period in which a node asks for another node's rows of the routing table",
            title="MSPastry: 20 min",
        ),
    ] = 1_200_000
    relay_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period in which children renew their place in trees",
            title="Scribe, membership management, no value",
        ),
    ] = 30_000
    beat_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period in which parents tell their children of the last events",
            title="ours; Scribe has heartbeats of parents, no value",
        ),
    ] = 5000
    cache_size: Annotated[
        int,
        Meta(
            ge=1, description="events of each topic kept for those that missed them", title="ours"
        ),
    ] = 100
    keep_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="how long events are kept at least, and told of to new tree neighbours",
            title="ours",
        ),
    ] = 120_000
