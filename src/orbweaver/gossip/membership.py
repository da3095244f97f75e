"""Membership tells a node which other nodes there are, and what they are interested in.

The node's interest view is an oracle that knows every node, a random share of what the oracle
knows, or a view that Cyclon gossips. All of them answer the same questions (`InterestView`), so
an overlay need not know which one it has. Oracles exist in simulations only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.overlay import Context, Handler, InterestView
from orbweaver.core.params import Params
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import Shuffle, ShuffleReply
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


class MembershipService:
    """A node's interest view, and what keeps it up to date: shuffles if it is gossiped, one draw
    at the start if it is a share of what an oracle knows, and nothing if it is the oracle.

    The owner has it as `membership`, and takes `messages` and `HANDLERS` into its own.
    """

    TIMER = Cyclon.TIMER
    messages = Cyclon.messages

    def __init__(self, context: Context, params: MembershipParams, interest: OwnInterest) -> None:
        self._context = context
        self.view = interest_view(context, params, interest)
        self.cyclon = self.view if isinstance(self.view, Cyclon) else None
        """The view if it is gossiped."""

    def start(self, contacts: Sequence[NodeId]) -> None:
        if self.cyclon is not None:
            self.cyclon.start(contacts)
        if isinstance(self.view, PartialView):
            self.view.draw(self._context.rng, self._context.me)

    @property
    def settled(self) -> bool:
        """Whether the view is full, or has all but stopped growing."""
        return self.cyclon is None or self.cyclon.settled

    def meet(self, contacts: Sequence[NodeId]) -> None:
        if self.cyclon is not None:
            self.cyclon.meet(contacts)

    def wake(self) -> None:
        """Run one cycle. Called when `TIMER` is due, which only a gossiped view sets."""
        if self.cyclon is not None:
            self.cyclon.wake()

    def forget(self, peer: NodeId) -> None:
        if self.cyclon is not None:
            self.cyclon.forget(peer)

    def on_shuffle(self, sender: NodeId, message: Shuffle[Any]) -> None:
        if self.cyclon is not None:
            self.cyclon.on_shuffle(sender, message)

    def on_shuffle_reply(self, sender: NodeId, message: ShuffleReply[Any]) -> None:
        if self.cyclon is not None:
            self.cyclon.on_shuffle_reply(sender, message)

    HANDLERS: ClassVar[dict[type[Message], Handler]] = {
        Shuffle: lambda node, sender, message: node.membership.on_shuffle(sender, message),
        ShuffleReply: lambda node, sender, message: node.membership.on_shuffle_reply(
            sender, message
        ),
    }
    """Entries for the table `ON` of the owner."""
