"""Plumtree on nodes that share two processors, with a queue on each link and nothing ever lost.

Time goes in slices. In each, two nodes, or programs of others, have a processor each: a node fires
its timers, takes messages from its links in turn, and writes what it has to send. The publisher
publishes runs as long as its queues have room. A node whose queues are full reads little.
"""

from __future__ import annotations

from collections import Counter, deque

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Message
from orbweaver.core.seeds import below, generator, sample
from orbweaver.gossip.plumtree.messages import Graft
from tests.gossip.plumtree.plumtree_net import Net

PROCESSORS = 2
SLICE_MS = 5
MESSAGE_US, EVENT_US = 60.0, 1.0
"""What a message costs its receiver, and each event in it."""
SEND_US, SEND_EVENT_US = 30.0, 0.2
"""What a message costs its sender, and each event in it."""
ROOM = 13_000
"""Events on a link, in the queue of the node and in kernels, from which on a node reads little."""
REST_MS = 20
"""Pause after each message from a link while the node reads little."""
RUN = 256


class LoadedNet:
    def __init__(self, size: int, degree: int, seed: int, others: int = 0) -> None:
        """`others` is how many programs run beside the nodes."""
        self._rng = generator(seed, "loaded")
        links = {(below(self._rng, node), node) for node in range(1, size)}
        while 2 * len(links) < size * degree:
            a, b = sorted(sample(self._rng, list(range(size)), 2))
            links.add((a, b))
        self._net = Net(size, *sorted(links))
        self.nodes = self._net.nodes
        self._clock = self._net.pump.clock
        both = sorted(links | {(b, a) for a, b in links})
        self._queues = {link: deque[Message]() for link in both}
        self._waiting = dict.fromkeys(both, 0)
        self._rests = dict.fromkeys(both, 0)
        self._turns = [*range(size), *([None] * others)]
        self._got: list[list[Carrier]] = [[] for _ in self.nodes]
        for node, got in zip(self.nodes, self._got, strict=True):
            node.outbox.deliver = got.append
        self.published = 0
        self.sent = Counter[str]()
        """Copies of events pushed, messages with them, and events asked for by GRAFT."""

    def run(self, ms: int, publish: bool = False) -> None:
        end = self._clock.now + ms
        while self._clock.now < end:
            turns = sample(self._rng, self._turns, len(self._turns))
            for at in range(0, len(turns), PROCESSORS):
                for node in turns[at : at + PROCESSORS]:
                    if node is not None:
                        self._slice(node, publish and node == 0)
                self._clock.now += SLICE_MS

    def publish(self, count: int) -> None:
        self.nodes[0].publish_run("t", (b"",) * count)
        self.published += count

    def backlog(self) -> int:
        return sum(self._waiting.values())

    def complete(self) -> bool:
        """Whether each subscriber was given each event once."""
        numbers = list(range(self.published))
        return all(
            sorted(one.event.seq for run in got for one in run.singles()) == numbers
            for got in self._got[1:]
        )

    def _slice(self, me: int, publish: bool) -> None:
        node, now = self.nodes[me], self._clock.now
        for timer, due in sorted(node.outbox.timers.items()):
            if due <= now:
                del node.outbox.timers[timer]
                node.wake(timer)
        left, busy = 1000 * SLICE_MS - self._write(me), True
        while left > 0 and busy:
            busy = False
            for link in [link for link, queue in self._queues.items() if link[1] == me and queue]:
                if left <= 0 or (self._is_full(me) and self._rests[link] > now):
                    continue
                busy, message = True, self._queues[link].popleft()
                count = _count(message)
                self._waiting[link] -= count
                self._rests[link] = now + REST_MS
                node.receive(NodeId(link[0]), message)
                left -= MESSAGE_US + count * EVENT_US + self._write(me)
            if publish and left > 0 and not self._is_full(me):
                busy = True
                self.publish(RUN)
                left -= RUN * EVENT_US + self._write(me)

    def _write(self, me: int) -> float:
        """Put what a node sends into the queues, and return how many microseconds it takes."""
        took_us = 0.0
        for to, message in self.nodes[me].outbox.take():
            count = _count(message)
            self._queues[me, to].append(message)
            self._waiting[me, to] += count
            took_us += SEND_US + count * SEND_EVENT_US
            if isinstance(message, Carrier):
                self.sent["messages"] += 1
                self.sent["copies"] += count
            elif isinstance(message, Graft):
                self.sent["asked for"] += len(message.seqs)
        return took_us

    def _is_full(self, me: int) -> bool:
        return any(count > ROOM for link, count in self._waiting.items() if link[0] == me)


def _count(message: Message) -> int:
    return message.count if isinstance(message, Carrier) else 1
