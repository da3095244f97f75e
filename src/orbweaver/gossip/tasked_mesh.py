"""A mesh whose links are kept by neighbour maintenance tasks, as in SpiderCast.

The two tasks (in the paper: greedy and random) each have their own neighbours; a link is
there while either task has it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.overlay import Context, Timer
from orbweaver.core.topics import Interest
from orbweaver.gossip.maintenance import (
    Aim,
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    Leave,
    NeighborMaintenance,
    Redirect,
    TaskState,
)
from orbweaver.gossip.mesh import Mesh, MeshParams
from orbweaver.gossip.missed import Missed


class TaskedMeshParams(MeshParams, frozen=True):
    connect_timeout_ms: Annotated[
        int,
        Meta(ge=1, description="pause of the maintenance loop", title="Fig. 2 l. 13, no value"),
    ] = 100
    quarantine_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="time in which a peer that was asked is not asked again",
            title="Sec. 2.3.1, no value",
        ),
    ] = 5000
    margin: Annotated[
        int, Meta(ge=0, description="links accepted beyond L^max", title="Sec. 2.3: 5")
    ] = 5
    shed_at: Annotated[
        Literal["reached", "exceeded", "never"],
        Meta(
            description="ask a neighbour to disconnect when its degree has reached or has "
            "exceeded its target",
            title="Sec. 2.3.1 text / Fig. 3 l. 9",
        ),
    ] = "reached"


class Heartbeat(Message, frozen=True, gc=False, tag="heartbeat"):
    """Sec. 2.3: heartbeats carry degree and target of each task. The interest comes along
    for a while after it has changed (Sec. 2.4)."""

    purpose: ClassVar[Purpose] = "keepalive"
    tasks: tuple[TaskState, ...]
    interest: Interest | None


class TaskedMesh(Mesh):
    params: TaskedMeshParams
    messages = Mesh.part_messages + NeighborMaintenance.messages + (Heartbeat,)

    def __init__(self, context: Context, params: TaskedMeshParams) -> None:
        super().__init__(context, params)
        self.tasks = [
            NeighborMaintenance(
                number,
                aim,
                context,
                lambda: self.interest,
                self._task_changed,
                connect_timeout_ms=params.connect_timeout_ms,
                quarantine_ms=params.quarantine_ms,
                margin=params.margin,
                shed_at=params.shed_at,
            )
            for number, aim in enumerate(self._aims())
        ]
        self._tell_interest_until = 0
        self._missed = Missed(self.cyclon) if self.cyclon is not None else None

    @abstractmethod
    def _aims(self) -> list[Aim]:
        """What the tasks strive for, one for each."""

    def start(self, contacts: Sequence[NodeId]) -> None:
        super().start(contacts)
        if self.cyclon is None:
            self._start_tasks()

    def stop(self) -> None:
        super().stop()
        for peer in list(self.links()):
            self.context.outbox.send(peer, Leave(None))
        for task in self.tasks:
            task.leave()

    def wake(self, timer: Timer) -> None:
        if isinstance(timer, tuple):
            self.tasks[timer[1]].maintain_neighbors()
            return
        super().wake(timer)
        if self.cyclon is not None and self.cyclon.settled and not self.tasks[0].started:
            self._start_tasks()

    def lost(self, peer: NodeId) -> None:
        tasks = tuple(task.number for task in self.tasks if peer in task.neighbors)
        if tasks and self._missed is not None:
            self._missed.lost(peer, self.context.outbox.now(), tasks)
        super().lost(peer)

    def _beat(self) -> None:
        super()._beat()
        if self._missed is not None:
            for peer, tasks in self._missed.found():
                for number in tasks:
                    if peer not in self.tasks[number].neighbors:
                        self.tasks[number].ask(peer)

    def _start_tasks(self) -> None:
        """Choosing from a view that has hardly begun to fill would make links that cover
        little and stay for good, so with gossip the tasks wait until it has."""
        for task in self.tasks:
            task.start()

    def on_heartbeat(self, sender: NodeId, message: Heartbeat) -> None:
        if sender in self._peers:
            self.heartbeats.heard(sender, self.context.outbox.now())
            for task, state in zip(self.tasks, message.tasks, strict=False):
                if sender in task.neighbors:
                    task.on_heartbeat(sender, state, message.interest)
        elif not any(task.was_asked(sender) for task in self.tasks):
            # The far end holds a link that we do not: an answer was lost on the way.
            self.context.outbox.send(sender, Leave(None))

    # Fig. 4, lines 19-20
    def on_leave(self, sender: NodeId, message: Leave) -> None:
        for task in self.tasks:
            if message.task is None or message.task == task.number:
                task.remove_connection(sender)

    def _drop(self, peer: NodeId) -> None:
        # Fig. 4, lines 29-30
        for task in self.tasks:
            task.remove_connection(peer)

    def _interest_changed(self) -> None:
        super()._interest_changed()
        if self._running:
            self._tell_interest_until = self.context.outbox.now() + self.params.failure_ms
            for task in self.tasks:
                task.wake_up()

    def _heartbeat(self) -> Heartbeat:
        fresh = self.context.outbox.now() <= self._tell_interest_until
        states = tuple(task.state() for task in self.tasks)
        return Heartbeat(states, self.interest if fresh else None)

    def _task_changed(self, peer: NodeId) -> None:
        for task in self.tasks:
            neighbor = task.neighbors.get(peer)
            if neighbor is not None:
                self._relink(peer, neighbor.interest)
                return
        self._relink(peer, None)


def _to_task(handler: Callable[[NeighborMaintenance, NodeId, Any], None]) -> Any:
    def handle(mesh: TaskedMesh, sender: NodeId, message: Any) -> None:
        if 0 <= message.task < len(mesh.tasks):
            handler(mesh.tasks[message.task], sender, message)

    return handle


TaskedMesh.handlers = {
    **Mesh.handlers,
    Connect: _to_task(NeighborMaintenance.on_connect),
    ConnectOk: _to_task(NeighborMaintenance.on_connect_ok),
    Redirect: _to_task(NeighborMaintenance.on_redirect),
    Disconnect: _to_task(NeighborMaintenance.on_disconnect),
    # Fig. 4, lines 27-28
    DisconnectOk: _to_task(lambda task, sender, _: task.remove_connection(sender)),
    Leave: TaskedMesh.on_leave,
    Heartbeat: TaskedMesh.on_heartbeat,
}
