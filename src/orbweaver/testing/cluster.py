"""Control a handful of nodes by hand, on any host."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import Params, build
from orbweaver.core.seeds import derive, generator
from orbweaver.core.topics import TopicTable
from orbweaver.records import Recorder
from orbweaver.sim.faults import Faults
from orbweaver.sim.world import World
from orbweaver.testing.net_cluster import NetCluster
from orbweaver.testing.pump import PUBLISHERS, Pump
from orbweaver.workload.scenario import FaultSpec

SIZE = 64
"""Most nodes of a cluster."""


class Cluster(Protocol):
    """A cluster is what a case may act on and look at."""

    overlay: type[Overlay]
    params: Params
    deliveries: list[tuple[NodeId, Event]]
    noise: list[tuple[NodeId, Event]]
    """Copies that reached a node which was not interested in their topic."""

    def join(self, node: int, topics: Collection[Topic]) -> None: ...
    def leave(self, node: int) -> None: ...
    def crash(self, node: int) -> None: ...
    def subscribe(self, node: int, topic: Topic) -> None: ...
    def unsubscribe(self, node: int, topic: Topic) -> None: ...
    def publish(self, node: int, topic: Topic, payload: bytes = b"") -> Event: ...
    def lose(self, share: float) -> None:
        """Lose this share of all messages from now on."""
        ...

    def hand(self, node: int, sender: int, message: Message) -> None:
        """Give a node a message as if a peer had sent it."""
        ...

    def run(self, seconds: float) -> None: ...
    def up(self) -> dict[int, Collection[Topic]]:
        """Return the nodes that are up, with the topics that they subscribe to or publish on."""
        ...

    def links(self, node: int) -> list[NodeId]: ...
    def status(self, node: int) -> dict[str, int]:
        """Return what the overlay of a node that is up tells of itself."""
        ...

    def close(self) -> None:
        """End the case."""
        ...


class SimCluster:
    """Runs a cluster in the simulator."""

    def __init__(self, overlay: type[Overlay], params: Params, seed: int) -> None:
        self.overlay = overlay
        self.params = params
        self.recorder = _Watcher()
        self.deliveries = self.recorder.got
        self.noise = self.recorder.noise
        self._chance = generator("cluster", seed)
        self._faults = Faults(FaultSpec(), SIZE, self._chance)
        self._world = World(
            SIZE,
            overlay,
            params,
            topics=TopicTable(),
            latency=lambda sender, to: 1 + (7 * sender + 3 * to) % 10,
            recorder=self.recorder,
            node_seed=lambda node, life: derive("cluster", seed, node, life),
            contacts=3,
            contact_chance=self._chance,
            faults=self._faults,
            publisher_of=PUBLISHERS.get,
        )

    def join(self, node: int, topics: Collection[Topic]) -> None:
        self._world.nodes[node].wanted = dict.fromkeys(topics)
        self._world.join(self._world.nodes[node])

    def leave(self, node: int) -> None:
        self._world.leave(self._world.nodes[node])

    def crash(self, node: int) -> None:
        self._world.crash(self._world.nodes[node])

    def subscribe(self, node: int, topic: Topic) -> None:
        self._world.subscribe(self._world.nodes[node], topic)

    def unsubscribe(self, node: int, topic: Topic) -> None:
        self._world.unsubscribe(self._world.nodes[node], topic)

    def publish(self, node: int, topic: Topic, payload: bytes = b"") -> Event:
        event = self._world.publish(self._world.nodes[node], topic, payload)
        assert event is not None, f"node {node} is down"
        return event

    def lose(self, share: float) -> None:
        self._faults.set(FaultSpec(loss=share))

    def hand(self, node: int, sender: int, message: Message) -> None:
        self._world.nodes[node].receive(NodeId(sender), message)

    def run(self, seconds: float) -> None:
        engine = self._world.engine
        finished = engine.run(engine.now + round(seconds * 1000), engine.events + 10_000_000)
        assert finished, "ten million events in one step of a small cluster: a loop"

    def up(self) -> dict[int, Collection[Topic]]:
        return {n.me: list(n.interest) for n in self._world.nodes if n.overlay is not None}

    def links(self, node: int) -> list[NodeId]:
        overlay = self._world.nodes[node].overlay
        return sorted(overlay.links()) if overlay is not None else []

    def status(self, node: int) -> dict[str, int]:
        overlay = self._world.nodes[node].overlay
        assert overlay is not None, f"node {node} is down"
        return overlay.status()

    def close(self) -> None:
        pass


class _Watcher(Recorder):
    """Records what the simulator does, and keeps what the cases look at."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[tuple[NodeId, Event]] = []
        self.noise: list[tuple[NodeId, Event]] = []

    def delivered(self, now: int, node: NodeId, event: Event, hops: int) -> None:
        super().delivered(now, node, event, hops)
        self.got.append((node, event))

    def carried(self, now: int, node: NodeId, message: Carrier, interested: bool) -> None:
        super().carried(now, node, message, interested)
        if not interested:
            self.noise.append((node, message.event))


HOSTS: dict[str, Callable[[type[Overlay], Params, int], Cluster]] = {
    "pump": Pump,
    "simulator": SimCluster,
    "network": NetCluster,
}


def make_cluster(
    overlay: type[Overlay], host: str, settings: dict[str, object], seed: int
) -> Cluster:
    params = build(overlay.Params, settings, f"overlay '{overlay.name}'")
    return HOSTS[host](overlay, params, seed)
