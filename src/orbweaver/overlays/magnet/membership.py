"""Interest-aware membership (Sec. 3.4): a sample of the subscribers of each topic, at each of them.

The subscribers of a topic form a tree over the control ring, rooted at home(t) (`Relays`). In each
round samples go up: a node puts its own interest to what its children sent, and cuts the sample
down to k, uniformly. The home sends the result down to all subscribers.

A node that has nothing to add to its last report does not repeat it, except now and then, as
messages may be lost; parents keep what their children sent last.
"""

from __future__ import annotations

from collections.abc import Sequence

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import derive, sample
from orbweaver.gossip.relays import Branch, Relays
from orbweaver.overlays.magnet.messages import Report, Sample, TopicSamples, View
from orbweaver.overlays.magnet.params import MagnetParams

REPEAT = 12
"""Rounds after which a report or a result is sent again though nothing has changed. Samples are
drawn anew then."""


def hash_of(topic: Topic) -> int:
    """Return 32 bits that stand for a topic in samples with hashes."""
    return derive("topic of a sample", topic) >> 32


class Sampling:
    """What one node keeps for one topic."""

    __slots__ = ("changed", "reported_to", "reports", "result")

    def __init__(self) -> None:
        self.reports: dict[NodeId, tuple[Sample, ...]] = {}
        """Child in the control tree -> its last report."""
        self.changed = True
        """There is news since the last report."""
        self.reported_to: NodeId | None = None
        self.result: tuple[Sample, ...] = ()
        """The last result that came down."""


class Membership:
    """`view` is what Algorithms 1 and 2 work with."""

    def __init__(self, context: Context, params: MagnetParams, relays: Relays) -> None:
        self._context = context
        self._params = params
        self._relays = relays
        self._subscribed: dict[Topic, None] = {}
        self._topics: dict[Topic, Sampling] = {}
        self._own: Sample | None = None
        self._down: dict[NodeId, dict[Topic, TopicSamples]] = {}
        """Child -> results that it is sent in the next cycle, together."""
        self._due_ms = 0
        self._rounds = 0

    def subscribe(self, topics: Sequence[Topic], own: Sample) -> None:
        """Take part in the samples of these topics from now on, with this sample of oneself."""
        self._subscribed = dict.fromkeys(topics)
        self._relays.want(topics)
        self.tell(own)

    def tell(self, own: Sample) -> None:
        """Tell something new of this node: its interest, or its place."""
        self._own = own
        for topic in self._subscribed:
            self._of(topic).changed = True

    def view_of(self, topic: Topic) -> list[Sample]:
        """Return the other subscribers of a topic that are known."""
        known = self._topics.get(topic)
        if known is None:
            return []
        return [one for one in known.result if one.node != self._context.me]

    def view(self) -> dict[NodeId, Sample]:
        """Return the nodes known over all topics of this node, each as it was heard of last."""
        found: dict[NodeId, Sample] = {}
        for topic in self._subscribed:
            for one in self.view_of(topic):
                known = found.get(one.node)
                if known is None or one.version > known.version:
                    found[one.node] = one
        return found

    def step(self) -> None:
        """Once a cycle: pass results down; once a period, run a round."""
        now = self._context.outbox.now()
        if now >= self._due_ms:
            self._round(now)
        down, self._down = self._down, {}
        for child, results in down.items():
            self._context.outbox.send(child, View(tuple(results.values())))

    def _round(self, now: int) -> None:
        self._due_ms = now + self._params.round_ms
        self._rounds += 1
        repeat = (self._rounds + self._context.me) % REPEAT == 0
        branches = self._relays.branches
        for topic in [t for t in self._topics if t not in branches]:
            if topic not in self._subscribed:
                del self._topics[topic]
        leaf: dict[NodeId, list[Topic]] = {}
        combined: dict[NodeId, list[TopicSamples]] = {}
        for topic, branch in branches.items():
            known, parent = self._topics.get(topic) or self._of(topic), branch.parent
            if known.reports and not known.reports.keys() <= branch.children.keys():
                known.reports = {c: r for c, r in known.reports.items() if c in branch.children}
                known.changed = True
            if not known.changed and known.reported_to == parent and not repeat:
                continue
            known.changed, known.reported_to = False, parent
            if parent is None:
                known.result = self._combine(topic, known)
                self._pass_down(TopicSamples(topic, known.result), branch)
            elif known.reports:
                found = TopicSamples(topic, self._combine(topic, known))
                combined.setdefault(parent, []).append(found)
            elif topic in self._subscribed:
                leaf.setdefault(parent, []).append(topic)
        send = self._context.outbox.send
        for parent in dict.fromkeys((*leaf, *combined)):
            topics = tuple(leaf.get(parent, ()))
            report = Report(self._own if topics else None, topics, tuple(combined.get(parent, ())))
            send(parent, report)

    def _pass_down(self, found: TopicSamples, branch: Branch) -> None:
        for child in branch.children:
            self._down.setdefault(child, {})[found.topic] = found

    def on_report(self, sender: NodeId, message: Report) -> None:
        branches, most = self._relays.branches, self._params.samples
        told = [(found.topic, found.samples[:most]) for found in message.combined]
        if message.own is not None and message.own.node == sender:
            alone = (message.own,)
            told += [(topic, alone) for topic in message.leaf_of]
        for topic, samples in told:
            branch = branches.get(topic)
            if branch is not None and sender in branch.children:
                known = self._of(topic)
                if known.reports.get(sender) != samples:
                    known.reports[sender] = samples
                    known.changed = True

    def on_view(self, sender: NodeId, message: View) -> None:
        branches, most = self._relays.branches, self._params.samples
        for found in message.topics:
            branch = branches.get(found.topic)
            if branch is None or branch.parent != sender:
                continue
            if found.topic in self._subscribed:
                self._of(found.topic).result = found.samples[:most]
            if branch.children:
                self._pass_down(found, branch)

    def _of(self, topic: Topic) -> Sampling:
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = Sampling()
        return known

    def _combine(self, topic: Topic, known: Sampling) -> tuple[Sample, ...]:
        """Put the reports and this node's own interest together, cut down to k."""
        found: dict[NodeId, Sample] = {}
        if topic in self._subscribed and self._own is not None:
            found[self._own.node] = self._own
        for report in known.reports.values():
            for one in report:
                held = found.get(one.node)
                if held is None or one.version > held.version:
                    found[one.node] = one
        samples = list(found.values())
        if len(samples) > self._params.samples:
            samples = sample(self._context.rng, samples, self._params.samples)
        return tuple(samples)
