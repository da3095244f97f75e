"""What every overlay of undirected links among interested nodes has in common.

A mesh knows other nodes through a membership service, keeps its links alive with
heartbeats, and disseminates over the links whose two ends share a topic. Which links
there are is the business of the subclass, which reports each change to `_relink`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, Literal, cast

from msgspec import Meta

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Carrier, Event, Message
from orbweaver.core.overlay import Context, InterestView, Timer
from orbweaver.core.params import Params
from orbweaver.core.seeds import below
from orbweaver.core.topics import NOTHING, Interest
from orbweaver.gossip.cyclon import Cyclon, Shuffle, ShuffleReply
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.dispatch import DispatchingOverlay, Handler
from orbweaver.gossip.dissemination import Dissemination, Push
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.views import PartialView


class MeshParams(Params, frozen=True):
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
    heartbeat_ms: Annotated[
        int, Meta(ge=1, description="period of the heartbeats", title="not given; ours")
    ] = 1000
    failure_ms: Annotated[
        int,
        Meta(ge=1, description="silence after which a neighbour is suspected", title="ours"),
    ] = 3500


def _of_dissemination(handler: Handler) -> Handler:
    return lambda mesh, sender, message: handler(mesh.dissemination, sender, message)


class Mesh(DispatchingOverlay):
    params: MeshParams
    part_messages: ClassVar[tuple[type[Message], ...]] = Dissemination.messages + Cyclon.messages

    handlers: ClassVar[dict[type[Message], Handler]] = {
        **{kind: _of_dissemination(handler) for kind, handler in Dissemination.handlers.items()},
        Shuffle: lambda mesh, *m: mesh.cyclon and mesh.cyclon.on_shuffle(*m),
        ShuffleReply: lambda mesh, *m: mesh.cyclon and mesh.cyclon.on_shuffle_reply(*m),
    }

    def __init__(self, context: Context, params: MeshParams) -> None:
        super().__init__(context, params)
        self.interest: Interest = NOTHING
        """Subscriptions and the topics published on: the paper's *self_interest*."""
        self.version = 0
        self._subscribed: dict[Topic, None] = {}
        self._published: dict[Topic, None] = {}
        self._peers: dict[NodeId, Interest] = {}
        self._running = False
        self.heartbeats = Heartbeats(params.failure_ms)
        self.dissemination = Dissemination(context, self._peers)
        self.cyclon: Cyclon | None = None
        self.view: InterestView = self._make_view()

    # -- the contract

    def start(self, contacts: Sequence[NodeId]) -> None:
        # Once for all subscriptions before the start, which are the most of them.
        self._interest_changed()
        self._running = True
        self.version = self.context.outbox.now()
        self.dissemination.start()
        if self.cyclon is not None:
            self.cyclon.start(contacts)
        if isinstance(self.view, PartialView):
            self.view.draw(self.context.rng, self.context.me)
        phase = 1 + below(self.context.rng, self.params.heartbeat_ms)
        self.context.outbox.set_timer(Heartbeats.TIMER, phase)

    def meet(self, contacts: Sequence[NodeId]) -> None:
        if self.cyclon is not None:
            self.cyclon.meet(contacts)

    def stop(self) -> None:
        self._running = False

    def subscribe(self, topic: Topic) -> None:
        self._subscribed[check_topic(topic)] = None
        self.dissemination.subscribe(topic)
        if self._running:
            self._interest_changed()

    def unsubscribe(self, topic: Topic) -> None:
        self._subscribed.pop(topic, None)
        self._published.pop(topic, None)
        self.dissemination.unsubscribe(topic)
        self._interest_changed()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        if topic not in self._published:
            self._published[check_topic(topic)] = None
            if topic not in self._subscribed:
                self._interest_changed()
        return self.dissemination.publish(topic, payload)

    def receive_all(self, sender: NodeId, messages: Sequence[Carrier]) -> None:
        self.dissemination.on_pushes(sender, cast("Sequence[Push]", messages))

    def wake(self, timer: Timer) -> None:
        if timer == Heartbeats.TIMER:
            self._beat()
        elif timer == Cyclon.TIMER:
            cast(Cyclon, self.cyclon).wake()
        else:
            self.dissemination.wake(cast(str, timer))

    def lost(self, peer: NodeId) -> None:
        if self.cyclon is not None:
            self.cyclon.forget(peer)
        self._drop(peer)

    def links(self) -> Collection[NodeId]:
        return self._peers.keys()

    # -- for subclasses

    @abstractmethod
    def _heartbeat(self) -> Message:
        """The message that every neighbour gets once a period."""

    @abstractmethod
    def _drop(self, peer: NodeId) -> None:
        """Forget a neighbour that left or is suspected."""

    def _interest_changed(self) -> None:
        self.interest = self.context.topics.interest([*self._subscribed, *self._published])
        self.version += 1

    def _relink(self, peer: NodeId, interest: Interest | None) -> None:
        """The link to `peer` is there, with this interest at the far end; or, with None,
        is not."""
        known = self._peers.get(peer)
        if interest is None:
            if known is not None:
                del self._peers[peer]
                self.heartbeats.forget(peer)
                self.dissemination.peer_down(peer)
                self.context.outbox.link_down(peer)
            return
        self._peers[peer] = interest
        if known is None:
            self.heartbeats.heard(peer, self.context.outbox.now())
            self.context.outbox.link_up(peer)
        if known is None or known != interest:
            self.dissemination.peer_up(peer, interest)

    # -- inside

    def _beat(self) -> None:
        outbox = self.context.outbox
        outbox.set_timer(Heartbeats.TIMER, self.params.heartbeat_ms)
        for peer in self.heartbeats.suspects(self._peers, outbox.now()):
            self.lost(peer)
        if self._peers:
            beat = self._heartbeat()
            outbox.send_all(self._peers, beat)

    def _describe_self(self) -> Descriptor:
        return Descriptor(self.context.me, self.interest, self.version)

    def _make_view(self) -> InterestView:
        params = self.params
        if params.membership == "gossip":
            self.cyclon = Cyclon(
                self.context,
                self._describe_self,
                params.view_size,
                params.shuffle_size,
                params.shuffle_ms,
            )
            return self.cyclon
        directory = self.context.directory
        if directory is None:
            raise UsageError(
                f"membership '{params.membership}' asks an oracle, which only a simulation has; "
                "set membership=gossip"
            )
        if params.membership == "full":
            return directory
        return PartialView(self.context.topics, directory, params.view_share)
