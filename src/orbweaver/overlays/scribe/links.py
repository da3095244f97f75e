"""The links of one node: which nodes are in its state, whether they are alive, and what comes in
the place of those that failed (Pastry 2.3 and 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick, sample
from orbweaver.gossip.relays import Relays
from orbweaver.overlays.scribe.messages import (
    PastryAlive,
    PastryGone,
    PastryProbe,
    PastryProbeOk,
    PastryRows,
    RowRequest,
)
from orbweaver.overlays.scribe.params import ScribeParams
from orbweaver.overlays.scribe.pastry import PastryState

PROBES = 3
"""Probes without an answer after which a node has failed (MSPastry: a first one and 2 more)."""
PROBING_MAX = 1024
"""Most nodes that are probed at one time."""
FAILED_MAX = 256
"""Most failed nodes that are remembered, the latest ones."""
STEP_MS = 200
"""Milliseconds for which changes are gathered before trees follow them."""
CHECKS = 5
"""How often in each `heartbeat_ms` a node looks which neighbours have been silent too long."""


class PastryPeer:
    """A neighbour. At least one end of a link has the other in its leaf set or routing table."""

    __slots__ = ("chooses", "chosen", "heard_ms")

    def __init__(self, heard_ms: int) -> None:
        self.heard_ms = heard_ms
        self.chosen = False
        """The peer is in this node's state."""
        self.chooses = False
        """This node is in the peer's state."""


class PastryLinks:
    """The links of one node follow its state, and the trees follow its links. `PastryState`
    decides which nodes belong in the state, and the messages are sent here."""

    def __init__(
        self, context: Context, params: ScribeParams, state: PastryState, relays: Relays
    ) -> None:
        self._context = context
        self._outbox = context.outbox
        self._params = params
        self._state = state
        self._relays = relays
        self.peers: dict[NodeId, PastryPeer] = {}
        self._chosen = state.ids
        """The nodes in the state when links followed it last."""
        self._probing: dict[NodeId, tuple[int, int]] = {}
        """Node that has not answered yet -> how often it was probed, and when last."""
        self._failed: dict[NodeId, int] = {}
        """Failed node -> until when others' word that it is there is not believed."""
        self._compared: tuple[NodeId, ...] = ()
        """The leaf set when it was last compared with those of other nodes."""
        self._running = False
        self._stepping = False

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False
        self._outbox.send_all(list(self.peers), PastryGone(leaving=True))

    # -- links that follow the state

    def consider(self, node: NodeId) -> None:
        """Give a node that has spoken for itself its places in the state."""
        self._failed.pop(node, None)
        if self._state.put(node, self._outbox.round_trip_ms(node)):
            self.choose()

    def choose(self) -> None:
        """Make the links follow the state."""
        before, state = self._chosen, self._state.ids
        self._chosen = state
        for node in [node for node in state if node not in before]:
            peer = self.peers.get(node) or self._link(node)
            peer.chosen = True
            self._outbox.send(node, PastryAlive(chosen=True))
        for node in [node for node in before if node not in state]:
            left = self.peers.get(node)
            if left is not None:
                left.chosen = False
                self._outbox.send(node, PastryAlive(chosen=False))
                if not left.chooses:
                    self._unlink(node)
        self._relays.reroute()
        self.step_soon()

    def chosen_by(self, node: NodeId) -> None:
        """Note that this node is in the state of another one."""
        peer = self.peers.get(node) or self._link(node)
        peer.chooses = True

    def _link(self, node: NodeId) -> PastryPeer:
        peer = self.peers[node] = PastryPeer(self._outbox.now())
        self._outbox.link_up(node)
        return peer

    def _unlink(self, node: NodeId) -> None:
        del self.peers[node]
        self._outbox.link_down(node)
        self._relays.lost(node)
        self.step_soon()

    def on_alive(self, sender: NodeId, message: PastryAlive) -> None:
        peer = self.peers.get(sender)
        if message.chosen:
            self.chosen_by(sender)
        elif peer is not None:
            peer.chooses = False
        if sender not in self._state.ids:
            self.consider(sender)
        peer = self.peers.get(sender)
        if peer is None or not (peer.chosen or peer.chooses):
            if peer is not None:
                self._unlink(sender)
            self._outbox.send(sender, PastryGone(leaving=False))

    def on_gone(self, sender: NodeId) -> None:
        """Learn that the other end has no link to this node."""
        peer = self.peers.get(sender)
        if peer is not None and peer.chosen:
            peer.chooses = False
            self._outbox.send(sender, PastryAlive(chosen=True))
        elif peer is not None:
            self._unlink(sender)

    # -- trees and events follow a moment later

    def step_soon(self) -> None:
        if not self._stepping and self._running:
            self._stepping = True
            self._outbox.set_timer("step", STEP_MS)

    def stepping(self) -> None:
        """Take note that trees and events follow now."""
        self._stepping = False

    # -- probes

    def notice(self, nodes: Iterable[NodeId], only_near: bool = False) -> None:
        """Probe the nodes that others tell of, if there may be places for them."""
        now = self._outbox.now()
        for node in self._state.wanted(nodes, only_near):
            if self._failed.get(node, -1) <= now:
                self.probe(node)

    def probe(self, node: NodeId) -> None:
        if node not in self._probing and len(self._probing) < PROBING_MAX:
            if not self._probing:
                self._outbox.set_timer("probe", self._params.probe_ms)
            self._send_probe(node, 1)

    def _send_probe(self, node: NodeId, times: int) -> None:
        self._probing[node] = (times, self._outbox.now())
        self._outbox.send(node, PastryProbe(self._leaves_for(node)))

    def _leaves_for(self, node: NodeId) -> tuple[NodeId, ...]:
        return self._state.leaves if self._state.is_near(node) else ()

    def probe_again(self) -> Iterator[NodeId]:
        """Probe the nodes that have not answered again, and yield each one that has failed."""
        due = self._outbox.now() - self._params.probe_ms
        for node, (times, at) in list(self._probing.items()):
            if at > due:
                continue
            if times < PROBES:
                self._send_probe(node, times + 1)
            else:
                yield node
        if self._probing:
            self._outbox.set_timer("probe", self._params.probe_ms)

    def on_probe(self, sender: NodeId, message: PastryProbe) -> None:
        self.consider(sender)
        self._outbox.send(sender, PastryProbeOk(self._leaves_for(sender)))
        self.notice(message.leaves, only_near=True)

    def on_probe_ok(self, sender: NodeId, message: PastryProbeOk) -> None:
        # A host may need a moment to measure the round trip. The next probe finds it.
        times, _ = self._probing.get(sender, (PROBES, 0))
        measured = self._outbox.round_trip_ms(sender) is not None
        if measured or times >= PROBES or not self._state.wanted([sender]):
            self._probing.pop(sender, None)
        self.consider(sender)
        self.notice(message.leaves, only_near=True)

    # -- liveness and repair (Pastry 2.4)

    def beat_hearts(self) -> None:
        """Send heartbeats, and compare leaf sets with one neighbour."""
        for chosen in (True, False):
            nodes = [node for node, peer in self.peers.items() if peer.chosen == chosen]
            self._outbox.send_all(nodes, PastryAlive(chosen))
        self._compare_leaves(1)

    def check_silent(self) -> None:
        """Probe the neighbours that have sent no heartbeat in time."""
        params = self._params
        self._outbox.set_timer("check", max(1, params.heartbeat_ms // CHECKS))
        silent = self._outbox.now() - params.heartbeat_ms - params.probe_ms
        for node, peer in self.peers.items():
            if peer.heard_ms < silent:
                self.probe(node)

    def compare_changed(self, count: int) -> None:
        """Exchange leaf sets with some nodes of it if it has changed."""
        if self._compared != self._state.leaves:
            self._compare_leaves(count)

    def _compare_leaves(self, count: int) -> None:
        leaves = self._compared = self._state.leaves
        self._outbox.send_all(sample(self._context.rng, leaves, count), PastryProbe(leaves))

    def failed(self, node: NodeId) -> None:
        """Forget a node, and ask others for what comes in its place."""
        self._probing.pop(node, None)
        self._failed.pop(node, None)
        self._failed[node] = self._outbox.now() + 2 * self._params.heartbeat_ms
        if len(self._failed) > FAILED_MAX:
            del self._failed[next(iter(self._failed))]
        was_leaf = node in self._state.leaves
        row = self._state.drop(node)
        if node in self.peers:
            self._unlink(node)
        self.choose()
        if was_leaf:
            for leaf in self._state.edges():
                self._outbox.send(leaf, PastryProbe(self._state.leaves))
        if row is not None:
            self._ask_for_row(row)

    # -- upkeep of the routing table

    def refresh_table(self) -> None:
        """Ask a node of each row for its own row (Castro and others 2002): of the nodes in it,
        some may be closer."""
        self._outbox.set_timer("table", self._params.table_ms)
        for row in self._state.rows():
            self._ask_for_row(row)

    def _ask_for_row(self, row: int) -> None:
        nodes = self._state.row(row)
        if nodes:
            self._outbox.send(pick(self._context.rng, nodes), RowRequest(row))

    def on_row_request(self, sender: NodeId, message: RowRequest) -> None:
        nodes = tuple(self._state.row(message.row))
        self._outbox.send(sender, PastryRows(nodes, last=False))
