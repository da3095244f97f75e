"""Interest locality (section 1, Fig. 1): how many of a user's feeds its best friends cover.

No network is simulated: the friends of a user are chosen greedily among all users, which nobody in
a real network could do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from orbweaver.core.params import Params, build
from orbweaver.core.seeds import generator, sample
from orbweaver.metrics.averages import mean
from orbweaver.study.procedures import Findings, Procedure
from orbweaver.workload.scenario import Scenario, Workload


class LocalityParams(Params, frozen=True):
    friends: Annotated[int, Meta(ge=1, description="best friends of a user", title="Sec. 1: 6")] = 6
    feeds_min: Annotated[
        int,
        Meta(ge=1, description="users of fewer feeds are left out", title="Fig. 1: 5"),
    ] = 5
    users: Annotated[int, Meta(ge=1, description="users drawn at random", title="Sec. 1: 1000")] = (
        1000
    )


def carry_out(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    params = build(LocalityParams, scenario.params, NAME)
    enough = [f for f in workload.subscriptions.of_node if len(f) >= params.feeds_min]
    of_feed: dict[str, list[int]] = {}
    for user, feeds in enumerate(enough):
        for feed in feeds:
            of_feed.setdefault(feed, []).append(user)
    drawn = sample(generator(NAME, seed), range(len(enough)), params.users)
    shares = [best_cover(user, enough[user], of_feed, params.friends) for user in drawn]
    return Findings(
        {
            "users": len(shares),
            "users_in_trace": len(enough),
            "covered": mean([float(share == 1) for share in shares]),
            "coverage_mean": mean(shares),
        }
    )


def best_cover(
    user: int, feeds: Sequence[str], of_feed: dict[str, list[int]], friends: int
) -> float:
    """Return the share of a user's feeds that its greedily chosen friends cover. Each friend is
    the user that covers most of what is still uncovered, the first of several."""
    shared: dict[int, int] = {}
    for i, feed in enumerate(feeds):
        for other in of_feed[feed]:
            if other != user:
                shared[other] = shared.get(other, 0) | 1 << i
    left = (1 << len(feeds)) - 1
    for _ in range(friends):
        best = max(((mask & left).bit_count() for mask in shared.values()), default=0)
        if not best:
            break
        left &= ~next(mask for mask in shared.values() if (mask & left).bit_count() == best)
    return 1 - left.bit_count() / len(feeds)


NAME = "interest-locality"
LOCALITY = Procedure(NAME, LocalityParams, carry_out)
