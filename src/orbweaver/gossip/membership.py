"""Where a node's interest view comes from.

An oracle that knows every node, a random share of what it knows, or gossip (Cyclon): all of
them answer the same questions (`InterestView`), so that an overlay need not know which one it
has. Oracles exist in simulations only.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from orbweaver.core.errors import UsageError
from orbweaver.core.overlay import Context, InterestView
from orbweaver.core.params import Params
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.views import PartialView


class MembershipParams(Params, frozen=True):
    membership: Annotated[
        Literal["full", "partial", "gossip"],
        Meta(
            description="where the interest view comes from: an oracle that knows every node, "
            "an oracle that gives a random share of them (only a simulation has oracles), or "
            "Cyclon peer sampling",
            title="Sec. 3 (full), 3.7 (partial), 2.2 (gossip)",
        ),
    ] = "gossip"
    view_share: Annotated[
        float,
        Meta(gt=0, le=1, description="share of the nodes in a partial view", title="Sec. 3.7: 5 %"),
    ] = 0.05
    view_size: Annotated[
        int, Meta(ge=1, description="entries in a gossiped view", title="5 % of 4000, Sec. 3.7")
    ] = 200
    shuffle_size: Annotated[
        int, Meta(ge=1, description="entries exchanged in one shuffle", title="ours")
    ] = 30
    shuffle_ms: Annotated[int, Meta(ge=1, description="period of the shuffle", title="ours")] = 1000


def interest_view(
    context: Context, params: MembershipParams, interest: OwnInterest
) -> InterestView:
    """Return the view that `params.membership` asks for."""
    if params.membership == "gossip":
        return Cyclon(context, interest, params.view_size, params.shuffle_size, params.shuffle_ms)
    if context.directory is None:
        raise UsageError(
            f"membership '{params.membership}' asks an oracle, which only a simulation has; "
            "set membership=gossip"
        )
    if params.membership == "full":
        return context.directory
    return PartialView(context.topics, context.directory, params.view_share)
