"""The parameters of Rappel, in one struct, each with its source."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from orbweaver.core.params import Params


class RappelParams(Params, frozen=True):
    friends: Annotated[
        int, Meta(ge=1, description="alpha: most friends", title="Rappel 3.1.1: 6")
    ] = 6
    children: Annotated[
        int, Meta(ge=1, description="beta: most children in a tree", title="Rappel 4.1: 5")
    ] = 5
    ping_ms: Annotated[
        int, Meta(ge=1, description="period of pings to friends and parents", title="3.3: 30 s")
    ] = 30_000
    timeout_ms: Annotated[
        int, Meta(ge=3, description="silence after a ping that means failure", title="3.3: 15 s")
    ] = 15_000
    audit_ms: Annotated[
        int, Meta(ge=1, description="period of audits of candidates", title="Rappel 3.4: 30 s")
    ] = 30_000
    rapid_audit_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period of audits during the staggered join",
            title="5.2: continually; the authors' simulator: 1 s",
        ),
    ] = 1000
    repeats: Annotated[
        int,
        Meta(
            ge=0,
            description="audits repeated at once after denials while the friends set is not full",
            title="3.4 does not bound them; ours",
        ),
    ] = 3
    delta: Annotated[
        float,
        Meta(ge=0, description="least relative gain of utility for a swap", title="3.4: 1 %"),
    ] = 0.01
    proximity: Annotated[
        bool,
        Meta(description="near friends are worth more; else interest alone", title="6.3: yes"),
    ] = True
    rejoin_ms: Annotated[
        int, Meta(ge=1, description="period of rejoins at an ancestor", title="4.3: 10 min")
    ] = 600_000
    join_ms: Annotated[
        int, Meta(ge=1, description="time for the answer to a join request", title="ours")
    ] = 3000
    cache: Annotated[
        int, Meta(ge=1, description="updates of each feed kept for pulls", title="4.1: 10")
    ] = 10
    pull_gaps: Annotated[
        bool,
        Meta(
            description="pull at once what the numbers of a push say was missed; else with the "
            "next ping",
            title="4.1 proposes it with signed updates: yes",
        ),
    ] = True
    stagger_ms: Annotated[
        int, Meta(ge=1, description="time between staggered joins", title="Rappel 5.2: 20 s")
    ] = 20_000
    staggered: Annotated[
        int, Meta(ge=0, description="most staggered joins", title="Rappel 5.2: 12")
    ] = 12
    dimensions: Annotated[
        int, Meta(ge=1, le=16, description="of the coordinates", title="the authors' simulator: 5")
    ] = 5
    height: Annotated[
        bool, Meta(description="coordinates have a height", title="the authors' simulator: no")
    ] = False
    samples: Annotated[
        int,
        Meta(
            ge=0,
            description="round trips to nodes online measured before the node goes online",
            title="the authors' simulator: 25",
        ),
    ] = 25
    probe_ms: Annotated[
        int, Meta(ge=1, description="period of these measurements", title="ours")
    ] = 50
    warmup_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="longest time for them: that of a network which starts all at once",
            title="6.1.4: some seconds; ours",
        ),
    ] = 15_000
    gossip_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="period of peer sampling, for feeds without a known publisher",
            title="ours",
        ),
    ] = 5000
    view_size: Annotated[
        int, Meta(ge=1, description="nodes in the peer-sampling view", title="ours")
    ] = 20

    @property
    def fans(self) -> int:
        """Most fans (section 3.1.2)."""
        return 2 * self.friends

    @property
    def candidates(self) -> int:
        """Most candidates (section 3.3): 120 with 6 friends."""
        return 3 * self.friends**2 + 2 * self.friends
