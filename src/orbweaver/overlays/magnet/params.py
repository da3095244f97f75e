"""The parameters of Magnet."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from orbweaver.core.params import Params


class MagnetParams(Params, frozen=True):
    # -- rings and fingers
    ring_size: Annotated[
        int,
        Meta(
            ge=1,
            le=32,
            description="L: successors and predecessors on each ring",
            title="ours; Chord: O(log N)",
        ),
    ] = 3
    fingers: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            description="long-range links on the skewed ring that a node chooses",
            title="Magnet 2.2: at least 1; 7 make the 19 links of 4.2, counted both ways",
        ),
    ] = 7
    control_fingers: Annotated[
        int,
        Meta(ge=0, le=256, description="long-range links on the control ring", title="ours"),
    ] = 5
    medians: Annotated[
        Literal["walks", "exact"],
        Meta(
            description="where the medians of the skewed ring come from: random walks, or an "
            "oracle that knows all places (only a simulation has one)",
            title="Magnet 2.2: walks",
        ),
    ] = "walks"
    walks: Annotated[
        int, Meta(ge=1, le=64, description="random walks for each median", title="Magnet 2.2: 5")
    ] = 5
    walk_hops: Annotated[
        int, Meta(ge=1, le=32, description="steps of a random walk", title="ours")
    ] = 5
    finger_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period in which one finger is drawn anew",
            title="Magnet 2.2: periodically",
        ),
    ] = 300_000
    biased: Annotated[
        bool,
        Meta(
            description="of two candidates for a finger, take the one with more similar interests",
            title="Magnet 2.2 has it; it never helped in our model",
        ),
    ] = False
    # -- upkeep
    cycle_ms: Annotated[int, Meta(ge=1, description="period of gossip", title="ours")] = 1000
    ping_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period of the heartbeats between neighbours, and so between "
            "child and parent",
            title="Magnet 3.3, no value",
        ),
    ] = 2000
    pings_missed: Annotated[
        int,
        Meta(
            ge=1,
            description="heartbeats that may be missed before a neighbour is lost",
            title="Magnet 3.3, no value",
        ),
    ] = 3
    view_size: Annotated[
        int, Meta(ge=1, description="entries of the peer sampling view", title="Newscast: 20")
    ] = 20
    # -- membership
    samples: Annotated[
        int,
        Meta(
            ge=2,
            le=256,
            description="k: interests in the sample of a topic",
            title="Magnet 4.2: 10",
        ),
    ] = 10
    round_ms: Annotated[
        int, Meta(ge=1, description="period of the sampling rounds", title="Magnet 3.4, no value")
    ] = 4000
    relay_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="how often the edges of control trees are asked for again",
            title="ours",
        ),
    ] = 20_000
    hashed: Annotated[
        bool,
        Meta(
            description="samples carry hashes of topics in place of their names",
            title="Magnet 3.4, an option for large interests",
        ),
    ] = False
    # -- identifiers
    rates: Annotated[
        str,
        Meta(
            description="rates of publication by which similarity is weighted: uniform, estimated "
            "from the events seen, or zipf:A by the number of the topic",
            title="Magnet 2.1: uniform (Jaccard)",
        ),
    ] = "uniform"
    growth_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="when many nodes start at once, time in which the number of those "
            "that have acquired their identifier doubles",
            title="ours; see docs",
        ),
    ] = 2500
    rejoin_changes: Annotated[
        int,
        Meta(
            ge=1,
            description="changes of interest after which a node may move",
            title="Magnet 3.2, no value",
        ),
    ] = 5
    rejoin_ms: Annotated[
        int, Meta(ge=0, description="least time between two moves", title="Magnet 3.2, no value")
    ] = 60_000
    # -- trees and events
    beat_ms: Annotated[
        int, Meta(ge=1, description="period of the beats down the trees", title="ours")
    ] = 3000
    join_ms: Annotated[
        int, Meta(ge=1, description="time after which joinTree is tried again", title="ours")
    ] = 2000
    stray_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="time after which a node whose path is no greedy path any more "
            "joins again, while its parent still serves it",
            title="ours",
        ),
    ] = 8000
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
            description="how long events are kept at least, and told of to those that "
            "may have missed them",
            title="ours",
        ),
    ] = 30_000
