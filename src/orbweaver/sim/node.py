"""A simulated node is the outbox of one overlay object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Message
from orbweaver.core.overlay import Overlay, Timer, check_kept

if TYPE_CHECKING:
    from orbweaver.sim.world import World


class SimNode:
    """Implement `Outbox` for one node. A `SimNode` outlives its overlay object, which is made
    anew for each life of the node."""

    __slots__ = ("_bytes", "_count", "_engine", "_serial", "_timers", "_world", "bytes_sent",
                 "interest", "kept", "life", "me", "overlay", "receive_here", "received", "sent",
                 "wanted")  # fmt: skip

    def __init__(self, world: World, me: NodeId) -> None:
        self._world = world
        self._engine = world.engine
        self._count = world.recorder.count
        self._bytes = world.recorder.bytes
        self._timers: dict[Timer, int] = {}
        self._serial = 0
        self.me = me
        self.overlay: Overlay | None = None
        self.life = 0
        self.kept = b""
        """What its overlay keeps for the node's next life."""
        self.wanted: dict[Topic, None] = {}
        """The topics to which the node subscribes, now or when it comes back."""
        self.interest: dict[Topic, None] = {}
        """The topics in `wanted`, and the topics published on in this life."""
        self.sent = self.received = self.bytes_sent = 0
        """Messages of all lives, and the encoded size of those sent if it is measured."""
        self.receive_here: Callable[[Any, Any], None] = self.receive
        """Bound once, since every message to this node schedules it."""

    # -- the outbox

    def now(self) -> int:
        return self._engine.now

    def send(self, to: NodeId, message: Message) -> None:
        world = self._world
        kind = type(message)
        self._count[kind] += 1
        self.sent += 1
        if message.carries and world.recorder.copies:
            world.recorder.copy(self._engine.now, self.me, to, cast(Carrier, message), "sent")
        if world.encode is not None:
            size = len(world.encode(message))
            self._bytes[kind] += size
            self.bytes_sent += size
        delay = world.latency(self.me, to)
        if world.faults is None:
            self._engine.schedule(delay, world.nodes[to].receive_here, self.me, message)
        else:
            world.suffer(self.me, to, message, delay)

    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        # Like `send` to each peer, but work that does not depend on the peer is done once:
        # heartbeats are half of all messages.
        world, me, schedule = self._world, self.me, self._engine.schedule
        nodes, latency, faults = world.nodes, world.latency, world.faults
        recorded = message.carries and world.recorder.copies
        sent = 0
        for peer in peers:
            if recorded:
                copy = cast(Carrier, message)
                world.recorder.copy(self._engine.now, me, peer, copy, "sent")
            if faults is None:
                schedule(latency(me, peer), nodes[peer].receive_here, me, message)
            else:
                world.suffer(me, peer, message, latency(me, peer))
            sent += 1
        kind = type(message)
        self._count[kind] += sent
        self.sent += sent
        if world.encode is not None:
            size = sent * len(world.encode(message))
            self._bytes[kind] += size
            self.bytes_sent += size

    def set_timer(self, timer: Timer, delay_ms: int) -> None:
        self._serial += 1
        self._timers[timer] = self._serial
        self._engine.schedule(delay_ms, self._fire, timer, self._serial)

    def cancel_timer(self, timer: Timer) -> None:
        self._timers.pop(timer, None)

    def deliver(self, message: Carrier) -> None:
        self._world.recorder.delivered(self._engine.now, self.me, message.event, message.hops)

    def link_up(self, peer: NodeId) -> None:
        self._world.recorder.link(self._engine.now, self.me, peer, "up")

    def link_down(self, peer: NodeId) -> None:
        self._world.recorder.link(self._engine.now, self.me, peer, "down")

    def round_trip_ms(self, peer: NodeId) -> float:
        exact_ms = self._world.exact_ms
        return exact_ms(self.me, peer) + exact_ms(peer, self.me)

    def keep(self, blob: bytes) -> None:
        check_kept(blob)
        self.kept = blob

    # -- events of the engine

    def receive(self, sender: NodeId, message: Message) -> None:
        overlay = self.overlay
        if overlay is None:
            self._world.lost(sender, self.me, message, "down")
            return
        self.received += 1
        if message.carries:
            carrier = cast(Carrier, message)
            interested = carrier.event.topic in self.interest
            recorder, now = self._world.recorder, self._engine.now
            recorder.carried(now, self.me, carrier, interested)
            if recorder.copies:
                recorder.copy(now, self.me, sender, carrier, "received")
        elif message.announces:
            topic = cast(Any, message).topic
            self._world.recorder.noticed(self.me, topic in self.interest)
        overlay.receive(sender, message)

    def _fire(self, timer: Timer, serial: int) -> None:
        if self._timers.get(timer) == serial and self.overlay is not None:
            del self._timers[timer]
            self.overlay.wake(timer)

    # -- lives

    def begin(self, overlay: Overlay) -> None:
        self.overlay = overlay
        self.interest = dict(self.wanted)

    def end(self) -> None:
        """End the node's present life. Its timers never fire later, since serials never repeat."""
        self.overlay = None
        self._timers.clear()
