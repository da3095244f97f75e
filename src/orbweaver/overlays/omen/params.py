"""The parameters of OMen."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from orbweaver.gossip.links import LinkParams
from orbweaver.overlays.omen.backups import Choice

Components = Literal["probe", "hop", "inside", "oracle"]


class OMenParams(LinkParams, frozen=True):
    resilience: Annotated[
        int,
        Meta(
            ge=1,
            le=32,
            description="L: concurrent churn events after which topics are connected again",
            title="Sec. 3.3 gives no value; 1 in Sec. 6.3",
        ),
    ] = 3
    coverage: Annotated[
        int,
        Meta(ge=0, le=32, description="lambda: coverage of a backup set", title="Sec. 4.2: 5"),
    ] = 5
    rho: Annotated[
        float,
        Meta(ge=1, description="rho of the LowODA rule", title="not given; degrees fall up to 3"),
    ] = 3.0
    backups: Annotated[
        Literal["primal-dual", "greedy"],
        Meta(description="how backup sets are built", title="Sec. 6.3: primal-dual"),
    ] = "primal-dual"
    subscriber: Annotated[
        Choice,
        Meta(
            description="primal-dual: which subscriber of an uncovered topic becomes a backup",
            title="Sec. 4.2 prints 'most'; 'random' gives the balance of Fig. 3",
        ),
    ] = "random"
    components: Annotated[
        Components,
        Meta(
            description="what counts as connected in a repair: what a probe of the overlay "
            "finds, edges inside the shadow set only, edges with at least one end in it (hop), "
            "or what is (oracle, simulations only)",
            title="Alg. 1 prints 'inside'; the others are ours",
        ),
    ] = "probe"
    omen_g: Annotated[
        Literal["no", "candidates", "shadow"],
        Meta(
            description="OMen-G: choose backups among all nodes, or take all nodes that share a "
            "topic as the shadow set; simulations only",
            title="Sec. 6.3 / 6.6",
        ),
    ] = "no"
    contacts_are_links: Annotated[
        bool,
        Meta(
            description="link to all contacts at the first start; they are then a plan's links",
            title="Sec. 6.5 starts from LowODA's links",
        ),
    ] = False
    cycle_ms: Annotated[
        int, Meta(ge=1, description="T_wait: period of the exchanges", title="Alg. 3, no value")
    ] = 1000
    buffer_size: Annotated[
        int,
        Meta(ge=1, le=1000, description="random entries in an exchange", title="ours"),
    ] = 20
    age_max_ms: Annotated[
        int, Meta(ge=1, description="age at which an entry is dropped", title="ours")
    ] = 20_000
    ready_rounds: Annotated[
        int,
        Meta(
            ge=1,
            description="a backup set that gains nothing for so many cycles is ready",
            title="not given; ours",
        ),
    ] = 3
    standby_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="time after which a standby takes an event over",
            title="Alg. 5 l. 7, no value",
        ),
    ] = 6000
    quiet_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="after a probe, a repair goes on once nothing new was reported for so long",
            title="ours",
        ),
    ] = 300
    repair_ms: Annotated[
        int,
        Meta(ge=1, description="longest wait for reports of a shadow set", title="ours"),
    ] = 2000
    shed_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="how often a node that has links to spare offers to end one; 0: never",
            title="beyond the paper; ours",
        ),
    ] = 0
