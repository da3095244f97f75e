"""The maintenance tasks of one node keep its links together (Sec. 2.3).

Each task has neighbours of its own. A link exists while any task has it. A message names the task
that it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import Links
from orbweaver.gossip.membership import MembershipService
from orbweaver.overlays.spidercast.maintenance import Aim, MaintenanceParams, NeighborMaintenance
from orbweaver.overlays.spidercast.messages import Heartbeat, Leave
from orbweaver.overlays.spidercast.missed import Missed


class Tasks:
    def __init__(
        self,
        context: Context,
        params: MaintenanceParams,
        aims: Sequence[Aim],
        interest: OwnInterest,
        links: Links,
        membership: MembershipService,
    ) -> None:
        """`aims` are what the tasks strive for, one for each. If the view is gossiped, lost
        neighbours are asked again when the view shows that they still run."""
        self.all = [
            NeighborMaintenance(number, aim, context, params, interest, self._changed)
            for number, aim in enumerate(aims)
        ]
        self._outbox = context.outbox
        self._failure_ms = params.failure_ms
        self._interest = interest
        self._links = links
        self._membership = membership
        self._missed = Missed(membership.cyclon) if membership.cyclon is not None else None
        self._tell_interest_until = 0

    def start_when_settled(self) -> None:
        """Start the tasks, with gossip once the view has filled: choosing from a view that has
        hardly begun to fill would make links that cover little, and those stay."""
        if not self.all[0].started and self._membership.settled:
            for task in self.all:
                task.start()

    def leave(self) -> None:
        for peer in list(self._links.neighbors):
            self._outbox.send(peer, Leave(None))
        for task in self.all:
            task.leave()

    def interest_changed(self) -> None:
        self._tell_interest_until = self._outbox.now() + self._failure_ms
        for task in self.all:
            task.wake_up()

    def lost(self, peer: NodeId) -> None:
        """Drop a neighbour that is suspected (Fig. 4, lines 29-30)."""
        had = tuple([task.number for task in self.all if peer in task.neighbors])
        if had and self._missed is not None:
            self._missed.lost(peer, self._outbox.now(), had)
        for task in self.all:
            task.remove_connection(peer)

    def beat(self) -> None:
        """Send the heartbeats, and ask for the links of neighbours that turned up again."""
        if self._links.neighbors:
            fresh = self._outbox.now() <= self._tell_interest_until
            states = tuple([task.state() for task in self.all])
            beat = Heartbeat(states, self._interest.topics if fresh else None)
            self._outbox.send_all(self._links.neighbors, beat)
        for peer, had in self._missed.found() if self._missed is not None else ():
            for number in had:
                if peer not in self.all[number].neighbors:
                    self.all[number].ask(peer)

    def on_heartbeat(self, sender: NodeId, message: Heartbeat) -> None:
        if sender in self._links.neighbors:
            self._links.heard(sender)
            for task, state in zip(self.all, message.tasks, strict=False):
                if sender in task.neighbors:
                    task.on_heartbeat(sender, state, message.interest)
        elif not any(task.was_asked(sender) for task in self.all):
            # The far end holds a link that this end does not: an answer was lost on the way.
            self._outbox.send(sender, Leave(None))

    # Fig. 4, lines 19-20
    def on_leave(self, sender: NodeId, message: Leave) -> None:
        for task in self.all:
            if message.task is None or message.task == task.number:
                task.remove_connection(sender)

    def _changed(self, peer: NodeId) -> None:
        for task in self.all:
            neighbor = task.neighbors.get(peer)
            if neighbor is not None:
                self._links.set(peer, neighbor.interest)
                return
        self._links.remove(peer)


def to_task(handler: Callable[[NeighborMaintenance, NodeId, Any], None]) -> Any:
    """Return a handler for an overlay that passes a message to the task it names."""

    def on_message(overlay: Any, sender: NodeId, message: Any) -> None:
        tasks = overlay.tasks.all
        if 0 <= message.task < len(tasks):
            handler(tasks[message.task], sender, message)

    return on_message
