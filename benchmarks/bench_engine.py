"""How fast are events? Averaging gossip on a bare heap, on SimPy and on our simulator.

Once a cycle every node sends its value to a random peer; the peer moves halfway towards
it and answers with the step it took, and the asker takes the opposite step. That makes
three events for each node and cycle: a timer, a request and a reply. Steps rather than
values are sent back so that the sum is conserved whatever happens in between.

Every variant draws the same numbers and runs events in the same order, so the values
must agree to the last bit at the end; the benchmark checks that before it prints. The
seconds cover the whole job, with the making of the nodes and their generators. They are
processor time, which other programs on the machine disturb less than wall time.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush
from random import Random
from typing import Any

import simpy
from rich.console import Console
from rich.table import Table

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.params import Params
from orbweaver.core.seeds import below
from orbweaver.sim.engine import Engine
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

LATENCY_MS = 1
"""Latency of a message in ms, as in the default scenario."""


@dataclasses.dataclass(frozen=True)
class Job:
    nodes: int
    cycles: int
    period_ms: int

    @property
    def events(self) -> int:
        return 3 * self.nodes * self.cycles

    @property
    def end_ms(self) -> int:
        return self.cycles * self.period_ms + 2 * LATENCY_MS


@dataclasses.dataclass(frozen=True)
class Finish:
    events: int
    values: list[float]


def another(rng: Random, me: int, nodes: int) -> int:
    """Return a random peer that is not `me`."""
    peer = int(rng.random() * (nodes - 1))
    return peer + (peer >= me)


# -- on a bare heap


def on_heapq(job: Job) -> Finish:
    nodes, period = job.nodes, job.period_ms
    rngs = [Random(node) for node in range(nodes)]
    values = [float(node) for node in range(nodes)]
    left = [job.cycles] * nodes
    heap: list[tuple[int, int, Callable[[Any, Any], None], Any, Any]] = []
    now = seq = events = 0

    def schedule(delay: int, action: Callable[[Any, Any], None], a: Any, b: Any) -> None:
        nonlocal seq
        seq += 1
        heappush(heap, (now + delay, seq, action, a, b))

    def timer(node: int, _: None) -> None:
        left[node] -= 1
        if left[node]:
            schedule(period, timer, node, None)
        peer = another(rngs[node], node, nodes)
        schedule(LATENCY_MS, request, peer, (node, values[node]))

    def request(node: int, message: tuple[int, float]) -> None:
        sender, value = message
        step = (value - values[node]) / 2
        values[node] += step
        schedule(LATENCY_MS, reply, sender, step)

    def reply(node: int, step: float) -> None:
        values[node] -= step

    for node in range(nodes):
        schedule(1 + below(rngs[node], period), timer, node, None)
    while heap:
        now, _, action, a, b = heappop(heap)
        action(a, b)
        events += 1
    return Finish(events, values)


# -- on SimPy, with callbacks rather than processes, which would cost more


def on_simpy(job: Job) -> Finish:
    nodes, period = job.nodes, job.period_ms
    rngs = [Random(node) for node in range(nodes)]
    values = [float(node) for node in range(nodes)]
    left = [job.cycles] * nodes
    env = simpy.Environment()
    events = 0

    def schedule(delay: int, action: Callable[[Any], None], value: Any) -> None:
        env.timeout(delay, value).callbacks.append(action)

    def timer(event: simpy.Event) -> None:
        nonlocal events
        events += 1
        node = event.value
        left[node] -= 1
        if left[node]:
            schedule(period, timer, node)
        peer = another(rngs[node], node, nodes)
        schedule(LATENCY_MS, request, (peer, node, values[node]))

    def request(event: simpy.Event) -> None:
        nonlocal events
        events += 1
        node, sender, value = event.value
        step = (value - values[node]) / 2
        values[node] += step
        schedule(LATENCY_MS, reply, (sender, step))

    def reply(event: simpy.Event) -> None:
        nonlocal events
        events += 1
        node, step = event.value
        values[node] -= step

    for node in range(nodes):
        schedule(1 + below(rngs[node], period), timer, node)
    env.run()
    return Finish(events, values)


# -- on our engine alone


def on_engine(job: Job) -> Finish:
    nodes, period = job.nodes, job.period_ms
    rngs = [Random(node) for node in range(nodes)]
    values = [float(node) for node in range(nodes)]
    left = [job.cycles] * nodes
    engine = Engine()
    schedule = engine.schedule

    def timer(node: int, _: None) -> None:
        left[node] -= 1
        if left[node]:
            schedule(period, timer, node, None)
        peer = another(rngs[node], node, nodes)
        schedule(LATENCY_MS, request, peer, (node, values[node]))

    def request(node: int, message: tuple[int, float]) -> None:
        sender, value = message
        step = (value - values[node]) / 2
        values[node] += step
        schedule(LATENCY_MS, reply, sender, step)

    def reply(node: int, step: float) -> None:
        values[node] -= step

    for node in range(nodes):
        schedule(1 + below(rngs[node], period), timer, node, None)
    engine.run(job.end_ms, job.events + 1)
    return Finish(engine.events, values)


# -- on the simulator, through the contract


class Request(Message, frozen=True, gc=False, tag="request"):
    value: float


class Reply(Message, frozen=True, gc=False, tag="reply"):
    step: float


class AveragingParams(Params, frozen=True):
    nodes: int
    cycles: int
    period_ms: int


class Averaging(Overlay):
    name = "averaging"
    summary = "every node comes to hold the mean of all values"
    Params = AveragingParams
    messages = (Request, Reply)

    def __init__(self, context: Context, params: AveragingParams) -> None:
        super().__init__(context, params)
        # Seeded anew, to draw what the other variants draw.
        context.rng.seed(context.me)
        self.value = float(context.me)
        self._left = params.cycles

    @classmethod
    def claims(cls, params: AveragingParams) -> Claims:
        return Claims(noiseless=True, topic_connected=False, total_delivery=False)

    def start(self, contacts: Sequence[NodeId]) -> None:
        phase = 1 + below(self.context.rng, self.params.period_ms)
        self.context.outbox.set_timer("cycle", phase)

    def wake(self, timer: Timer) -> None:
        context, params = self.context, self.params
        self._left -= 1
        if self._left:
            context.outbox.set_timer("cycle", params.period_ms)
        peer = another(context.rng, context.me, params.nodes)
        context.outbox.send(NodeId(peer), Request(self.value))

    def receive(self, sender: NodeId, message: Message) -> None:
        if isinstance(message, Request):
            step = (message.value - self.value) / 2
            self.value += step
            self.context.outbox.send(sender, Reply(step))
        elif isinstance(message, Reply):
            self.value -= message.step

    def stop(self) -> None: ...
    def subscribe(self, topic: Topic) -> None: ...
    def unsubscribe(self, topic: Topic) -> None: ...
    def lost(self, peer: NodeId) -> None: ...
    def links(self) -> Collection[NodeId]:
        return ()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        raise NotImplementedError("averaging carries no events")


def on_simulator(job: Job, measure_bytes: bool) -> Finish:
    scenario = Scenario(
        overlay=Averaging.name,
        params=dataclasses.asdict(job),
        workload=WorkloadSpec(nodes=job.nodes, topics=1, subscriptions_per_node="1"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(
            warmup_ms=0,
            duration_ms=job.end_ms,
            contacts=0,
            records="counters",
            measure_bytes=measure_bytes,
        ),
    )
    simulation = Simulation(scenario, 0, Averaging)
    outcome = simulation.run()
    return Finish(outcome.events, [node.overlay.value for node in simulation.world.nodes])


VARIANTS: dict[str, Callable[[Job], Finish]] = {
    "heapq": on_heapq,
    "SimPy": on_simpy,
    "our engine": on_engine,
    "our simulator": lambda job: on_simulator(job, measure_bytes=False),
    "our simulator + bytes": lambda job: on_simulator(job, measure_bytes=True),
}


def check(job: Job, finish: Finish, reference: Finish) -> None:
    """Check that the variant did the job exactly as the reference did."""
    start = [float(node) for node in range(job.nodes)]
    assert finish.events == job.events
    assert finish.values == reference.values
    assert abs(statistics.fmean(finish.values) - statistics.fmean(start)) < 1e-6 * job.nodes
    assert statistics.pvariance(finish.values) < statistics.pvariance(start)


def measure(job: Job, rounds: int) -> dict[str, float]:
    """Return the best of several rounds for each variant. The variants take turns, so that a slow
    moment of the machine does not hit only one of them."""
    best: dict[str, float] = {}
    reference: Finish | None = None
    for _ in range(rounds):
        for name, variant in VARIANTS.items():
            gc.collect()
            started = time.process_time()
            finish = variant(job)
            seconds = time.process_time() - started
            reference = reference or finish
            check(job, finish, reference)
            best[name] = min(seconds, best.get(name, seconds))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--cycles", type=int, default=40)
    parser.add_argument("--period-ms", type=int, default=1000, help="length of a cycle")
    parser.add_argument("--rounds", type=int, default=3, help="the best of them counts")
    args = parser.parse_args()
    job = Job(args.nodes, args.cycles, args.period_ms)
    best = measure(job, args.rounds)
    table = Table(title=f"Averaging gossip, {job.nodes:,} nodes, {job.cycles} cycles")
    table.add_column("job")
    for column in ("events", "seconds", "events/s", "x heapq", "x SimPy"):
        table.add_column(column, justify="right")
    for name, seconds in best.items():
        table.add_row(
            name,
            f"{job.events:,}",
            f"{seconds:.2f}",
            f"{job.events / seconds:,.0f}",
            f"{best['heapq'] / seconds:.2f}",
            f"{best['SimPy'] / seconds:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
