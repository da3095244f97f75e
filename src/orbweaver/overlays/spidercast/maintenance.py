"""A task maintains one set of neighbours (SpiderCast, Figures 1, 2 and 4).

An `Aim` says what the set is *for*: greedy coverage, random coverage, or a number of similar or of
random links in the overlays that the paper compares SpiderCast with. The paper runs
"SpiderCast's code" for all of them (Sec. 3.9.1), and so do we.

Readings where text and pseudo-code of the paper differ, or where both are silent:

* A neighbour is a candidate for disconnection when its degree *exceeds* its target
  (Fig. 3, line 9) or already when it has *reached* it (Sec. 2.3.1 tells coverage by
  target <= degree). A node that is covered sets its target to its degree, so that under
  the first reading almost no node ever sheds a link. `shed_at` chooses the reading.
* A neighbour that did not agree to disconnect is asked again only once its degree has
  grown; otherwise the same request would follow each refusal for ever.
* A task that has nothing to do sleeps until a neighbour's record changes; the paper's
  loop polls, with the same effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import below, pick
from orbweaver.core.topics import Interest
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import LinkParams
from orbweaver.overlays.spidercast.messages import (
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    Leave,
    Redirect,
    TaskState,
)

REDIRECTS_MAX = 64
"""Candidates from REDIRECTs that a task keeps at a time. Each CONNECT brings at most one, and
these candidates are asked first, so only peers that were not asked can send more."""


class MaintenanceParams(LinkParams, frozen=True):
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


class Neighbor:
    """What a node keeps of each neighbour (Fig. 1)."""

    __slots__ = ("degree", "interest", "target")

    def __init__(self, degree: int, target: int, interest: Interest) -> None:
        self.degree = degree
        self.target = target
        self.interest = interest


class Audit(Protocol):
    """How far a set of neighbours is from what the task wants."""

    @property
    def under(self) -> int:
        """The result of CALCKUNCOVERED: 0 when nothing is missing."""
        ...

    def under_without(self, neighbor: Neighbor) -> int: ...


class Aim(Protocol):
    """What a task wants of its neighbours."""

    def limit(self) -> int:
        """Return L^max, the most neighbours to strive for; 0 switches the task off."""
        ...

    def audit(self, neighbors: Collection[Neighbor]) -> Audit: ...
    def next_node(self, neighbors: Collection[Neighbor], exclude: set[NodeId]) -> NodeId | None:
        """Return the node to ask next: NEXTCOVERAGENODE (Fig. 5)."""
        ...


class NeighborMaintenance:
    def __init__(
        self,
        number: int,
        aim: Aim,
        context: Context,
        params: MaintenanceParams,
        interest: OwnInterest,
        changed: Callable[[NodeId], None],
    ) -> None:
        """`changed` is called with each peer that becomes or ceases to be a neighbour of this
        task, or whose interest has changed. It is a callback since a link counts from the
        CONNECT on, before the answer is sent."""
        self.number = number
        self.aim = aim
        self.timer = ("maintain", number)
        self.neighbors: dict[NodeId, Neighbor] = {}
        self.target = 0
        """L, the adaptive target number of neighbours."""
        self.covered = False
        """Nothing was missing when the task last ran."""
        self.started = False
        self._connect_cand_from_redirect: dict[NodeId, None] = {}
        self._quarantine: dict[NodeId, int] = {}
        self._asked_at_degree: dict[NodeId, int] = {}
        """Neighbours asked to disconnect, and the degree they had then."""
        self._idle = False
        self._context = context
        self._params = params
        self._interest = interest
        self._changed = changed

    def start(self) -> None:
        """Begin the loop at a random phase, so that nodes do not act in step."""
        self.started = True
        phase = 1 + below(self._context.rng, self._params.connect_timeout_ms)
        self._context.outbox.set_timer(self.timer, phase)

    # Fig. 2, lines 1-13
    def maintain_neighbors(self) -> None:
        limit = self.aim.limit()
        if limit == 0:
            self._idle = True
            return
        audit = self.aim.audit(self.neighbors.values())
        self.covered = audit.under == 0
        gap = 0
        acted = True
        if audit.under > 0:
            self.target = limit
            gap = limit - len(self.neighbors)
            if gap > 0:
                self.connect()
        if audit.under == 0 or gap < 0:
            acted = self.disconnect(audit, limit)
        self._idle = not acted
        if acted:
            self._context.outbox.set_timer(self.timer, self._params.connect_timeout_ms)

    # Fig. 2, lines 14-20
    def connect(self) -> None:
        now = self._context.outbox.now()
        for asked in [peer for peer, end in self._quarantine.items() if end <= now]:
            del self._quarantine[asked]
        node = self._redirected()
        if node is None:
            exclude = {self._context.me, *self.neighbors, *self._quarantine}
            node = self.aim.next_node(self.neighbors.values(), exclude)
        if node is not None:
            self.ask(node)

    def ask(self, node: NodeId) -> None:
        """Send a CONNECT, and put the peer into quarantine."""
        self._quarantine[node] = self._context.outbox.now() + self._params.quarantine_ms
        self._context.outbox.send(
            node,
            Connect(self.number, len(self.neighbors), self.target, self._interest.topics),
        )

    def _redirected(self) -> NodeId | None:
        """Return the oldest candidate from a REDIRECT that is not a neighbour by now."""
        while self._connect_cand_from_redirect:
            node = next(iter(self._connect_cand_from_redirect))
            del self._connect_cand_from_redirect[node]
            if node not in self.neighbors:
                return node
        return None

    # Fig. 2, lines 21-31
    def disconnect(self, audit: Audit, limit: int) -> bool:
        """Ask a neighbour to disconnect. Return whether there was one to ask."""
        self.target = min(limit, len(self.neighbors))
        over = len(self.neighbors) - self.target
        candidate = self._disconnect_candidate(audit)
        if candidate is None:
            return False
        if over > 0 or audit.under_without(self.neighbors[candidate]) == 0:
            self._asked_at_degree[candidate] = self.neighbors[candidate].degree
            self._context.outbox.send(candidate, Disconnect(self.number))
            return True
        return False

    # Fig. 3, lines 8-22
    def _disconnect_candidate(self, audit: Audit) -> NodeId | None:
        if self._params.shed_at == "never":
            return None
        slack = 1 if self._params.shed_at == "exceeded" else 0
        least: int | None = None
        candidates: list[NodeId] = []
        for peer, neighbor in self.neighbors.items():
            if neighbor.degree < neighbor.target + slack:
                continue
            if neighbor.degree <= self._asked_at_degree.get(peer, -1):
                continue
            under = audit.under_without(neighbor)
            if least is None or under < least:
                least = under
                candidates.clear()
            if under == least:
                candidates.append(peer)
        return pick(self._context.rng, candidates) if candidates else None

    # Fig. 4, lines 1-9
    def on_connect(self, sender: NodeId, message: Connect) -> None:
        outbox = self._context.outbox
        limit = self.aim.limit()
        if sender in self.neighbors or len(self.neighbors) < limit + self._params.margin:
            self._add(sender, message.degree, message.target, message.interest)
            # Answer first, then raise L: the asker sees that it has put us over our target.
            outbox.send(
                sender,
                ConnectOk(self.number, len(self.neighbors), self.target, self._interest.topics),
            )
            self._raise_target(limit)
            return
        wanted = message.interest.mask
        best = -1
        ties: list[NodeId] = []
        for peer, neighbor in self.neighbors.items():
            if peer == sender or neighbor.degree >= neighbor.target + self._params.margin:
                continue
            shared = (neighbor.interest.mask & wanted).bit_count()
            if shared > best:
                best = shared
                ties.clear()
            if shared == best:
                ties.append(peer)
        if ties:
            peer = pick(self._context.rng, ties)
            outbox.send(sender, Redirect(self.number, peer, self.neighbors[peer].interest))
        else:
            outbox.send(sender, Redirect(self.number, None, None))

    # Fig. 4, lines 10-11
    def on_redirect(self, sender: NodeId, message: Redirect) -> None:
        peer = message.peer
        room = len(self._connect_cand_from_redirect) < REDIRECTS_MAX
        if room and peer is not None and peer != self._context.me and peer not in self.neighbors:
            self._connect_cand_from_redirect[peer] = None

    # Fig. 4, lines 12-18
    def on_connect_ok(self, sender: NodeId, message: ConnectOk) -> None:
        limit = self.aim.limit()
        if sender in self.neighbors or len(self.neighbors) < limit + self._params.margin:
            self._add(sender, message.degree, message.target, message.interest)
            self._raise_target(limit)
        else:
            self._context.outbox.send(sender, Leave(self.number))

    # Fig. 4, lines 21-26
    def on_disconnect(self, sender: NodeId, message: Disconnect) -> None:
        neighbor = self.neighbors.get(sender)
        if neighbor is None:
            self._context.outbox.send(sender, DisconnectOk(self.number))
            return
        under = self.aim.audit(self.neighbors.values()).under_without(neighbor)
        if len(self.neighbors) > self.target or under == 0:
            self.remove_connection(sender)
            self._context.outbox.send(sender, DisconnectOk(self.number))
            if under == 0:
                self.target = len(self.neighbors)

    # Fig. 4, lines 34-38
    def remove_connection(self, peer: NodeId) -> None:
        """Drop a link. Used for DISCONNECT-OK, LEAVE and suspicions too (lines 19-20, 27-30)."""
        if self.neighbors.pop(peer, None) is None:
            return
        self._asked_at_degree.pop(peer, None)
        self._changed(peer)
        if self.aim.limit() == 0:
            return
        under = self.aim.audit(self.neighbors.values()).under
        if len(self.neighbors) < self.target or under > 0:
            self.wake_up()

    def leave(self) -> None:
        for peer in list(self.neighbors):
            del self.neighbors[peer]
            self._changed(peer)
        self._context.outbox.cancel_timer(self.timer)

    def on_heartbeat(self, sender: NodeId, state: TaskState, interest: Interest | None) -> None:
        """Take note of a neighbour's degree, target and interest."""
        neighbor = self.neighbors.get(sender)
        if neighbor is None:
            return
        if neighbor.degree != state.degree or neighbor.target != state.target:
            neighbor.degree = state.degree
            neighbor.target = state.target
            self._reconsider()
        if interest is not None and interest != neighbor.interest:
            neighbor.interest = interest
            self._changed(sender)
            self._reconsider()

    def was_asked(self, peer: NodeId) -> bool:
        """Return whether a CONNECT to this peer may still be under way."""
        return self._quarantine.get(peer, -1) > self._context.outbox.now()

    def wake_up(self) -> None:
        if self.started:
            self._idle = False
            self._context.outbox.set_timer(self.timer, 0)

    def state(self) -> TaskState:
        return TaskState(len(self.neighbors), self.target)

    def _add(self, peer: NodeId, degree: int, target: int, interest: Interest) -> None:
        self.neighbors[peer] = Neighbor(degree, target, interest)
        self._changed(peer)
        self._reconsider()

    # Fig. 4, lines 4-5 and 15-16
    def _raise_target(self, limit: int) -> None:
        if self.target < limit and len(self.neighbors) < self.target + self._params.margin:
            self.target += 1

    def _reconsider(self) -> None:
        if self._idle:
            self._idle = False
            self._context.outbox.set_timer(self.timer, self._params.connect_timeout_ms)
