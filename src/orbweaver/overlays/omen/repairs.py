"""Which repairs a node carries out, and when: Algorithms 5 and 6 at one node.

`churn` has the queues of events, `coordinator` the repairs under way. Here they meet the ring,
which says whose churn events a node may have to handle, and the local views that this takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.overlays.omen.acquaintances import Acquaintances
from orbweaver.overlays.omen.churn import ChurnEvent, ChurnHandling
from orbweaver.overlays.omen.coordinator import Coordinator, Given
from orbweaver.overlays.omen.messages import Handled, Join, ViewTold
from orbweaver.overlays.omen.params import OMenParams
from orbweaver.overlays.omen.ring import IdentifierCircle
from orbweaver.overlays.omen.views import LocalView, LocalViews


class Repairs:
    def __init__(
        self,
        context: Context,
        params: OMenParams,
        circle: IdentifierCircle,
        views: LocalViews,
        pool: Acquaintances,
    ) -> None:
        self._me = context.me
        self._outbox = context.outbox
        self._resilience = params.resilience
        self._circle = circle
        self._views = views
        self._pool = pool
        self.churn = ChurnHandling(params.standby_ms)
        self.coordinator = Coordinator(context, params, views)

    # -- churn events

    def note_leave(self, peer: NodeId) -> None:
        """Take up the departure of a node, if this node may have to handle it."""
        view = self._views.of.get(peer)
        if view is not None:
            event = ChurnEvent(peer, view.incarnation, "leave")
            coordinator = self._circle.coordinator_of(peer)
            self.churn.handle_churn_event(event, coordinator, self._me, self._outbox.now())
            view.number = 0  # if it lives, it has to say so

    def take_over(self, peer: NodeId) -> None:
        """Take up what a coordinator that has left was to handle."""
        self.churn.take_over(peer, self._outbox.now())

    def note_join(self, peer: NodeId, message: Join) -> None:
        """Take up the request of a node to be linked up, if it is in the range of this node."""
        if self._circle.in_pred_range(peer, self._resilience):
            lacks, now = message.topics.mask, self._outbox.now()
            if self.churn.handle_join(peer, message.number, lacks, self._me, now):
                self.keep_views()

    def keep_views(self) -> None:
        """Keep the local views of predecessors, and of nodes whose events wait here."""
        self._views.keep(self._circle.predecessors[: self._resilience], self.churn.pending())
        joining = self.churn.joining
        for node in [node for node in joining if node not in self._views.of]:
            del joining[node]

    # -- Alg. 5; each yields the messages to send

    def process_exe_queue(self) -> Iterator[Given]:
        self.keep_views()
        while event := self.churn.next_event(
            self._outbox.now(), self._in_range(), self._views.ready()
        ):
            if event.kind == "join":
                missing = self.churn.joining.pop(event.node, 0)
                self.coordinator.begin_join(event, missing, self._pool.gone())
            else:
                self.coordinator.begin(event, self._views.of, self._pool.gone())
            yield from self.go_on()

    def process_standby(self) -> Iterator[Given]:
        self.churn.process_standby(self._outbox.now(), self._in_range())
        yield from self.process_exe_queue()

    def gc_churn_event(self, sender: NodeId, message: Handled) -> None:
        """Forget an event that another node has handled. Only a node that may be the coordinator
        can say so, and not of a node that it is itself."""
        if sender in self._circle.nodes and sender != message.node:
            self.churn.gc_churn_event(ChurnEvent(message.node, message.incarnation, message.kind))

    # -- repairs; each yields the messages to send

    def give_up(self, number: int, view: LocalView) -> Iterator[Given]:
        """Repair what this node held together in topics that it gives up. It leaves those topics,
        and knows best what that cuts."""
        event = ChurnEvent(self._me, number, "leave")
        self.coordinator.begin(event, {self._me: view}, self._pool.gone())
        yield from self.go_on()

    def on_view_told(self, message: ViewTold) -> Iterator[Given]:
        self.coordinator.on_view_told(message, self._pool.gone())
        yield from self.go_on()

    def go_on(self) -> Iterator[Given]:
        """Go on with the repairs under way. Successors are told of those that are done (Alg. 6,
        notifySuccRange). Of a join they know nothing: only one node was asked for it."""
        yield from self.coordinator.step(self._pool.gone())
        for event in self.coordinator.finished():
            self.churn.gc_churn_event(event)
            if event.kind == "leave":
                for successor in self._circle.successors[: self._resilience]:
                    yield successor, Handled(*event)

    def _in_range(self) -> list[NodeId]:
        pending = self.churn.pending()
        return [node for node in pending if self._circle.in_pred_range(node, self._resilience)]
