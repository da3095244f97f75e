"""Interest-aware membership (Sec. 3.4): a sample of the subscribers of each topic, at each of them.

The subscribers of a topic form a tree over the control ring, rooted at home(t) (`Relays`). In each
round samples go up: a node puts its own interest to what its children sent, and cuts the sample
down to k, uniformly. The home ends a round by sending the result down to all subscribers.

Which k are left is decided by a hash of node and topic: those with the smallest. So the home has a
uniform sample of all subscribers, whatever the tree is like, and it changes only when one of
them does. Most messages would say the same again, or something that the next one corrects. So:

* The first report of a node waits for those of its children, layer by layer from the leaves.
* A home sends one result in a round, however many changes come in.
* What is not news is not told, except now and then, as messages may be lost; parents keep what
  their children sent last. Nor is a change at a node that is not in the full sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from orbweaver.core.identifiers import PLACE_OF_TOPIC, SPACE
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import below, derive, sample
from orbweaver.gossip.relays import Branch, Relays
from orbweaver.overlays.magnet.messages import Report, Sample, TopicSamples, View, in_parts
from orbweaver.overlays.magnet.params import MagnetParams

REPEAT = 12
"""Rounds after which a report or a result is sent again though nothing has changed."""

PART = 512
"""Most topics in a report or a result, each of which may have k samples."""

WAIT_CYCLES = 5
"""Most cycles for which the first report on a topic waits for the reports of children."""

TOPICS_ASKED = 8
"""Most topics by whose samples a node estimates how many nodes have their places."""


def hash_of(topic: Topic) -> int:
    """Return 32 bits that stand for a topic in samples with hashes."""
    return derive("topic of a sample", topic) >> 32


class Sampling:
    """What one node keeps for one topic."""

    __slots__ = ("combined", "reported_to", "reports", "result", "waited")

    def __init__(self) -> None:
        self.reports: dict[NodeId, tuple[Sample, ...]] = {}
        """Child in the control tree -> its last report."""
        self.combined: tuple[Sample, ...] = ()
        """The sample that was reported last."""
        self.reported_to: NodeId | None = None
        self.result: tuple[Sample, ...] = ()
        """The last result that came down."""
        self.waited = 0
        """Cycles that the first report has waited for those of children."""


class Membership:
    """`view` is what Algorithms 1 and 2 work with."""

    def __init__(self, context: Context, params: MagnetParams, relays: Relays) -> None:
        self._context = context
        self._params = params
        self._relays = relays
        relays.changed = {}
        self._subscribed: dict[Topic, None] = {}
        self._topics: dict[Topic, Sampling] = {}
        self._changed: dict[Topic, None] = {}
        """Topics of which there is news since the last round."""
        self._own: Sample | None = None
        self._down: dict[NodeId, list[TopicSamples]] = {}
        """Child -> results that it is sent in the next cycle, together."""
        self._sent_ms: dict[Topic, int] = {}
        """Topic of which this node is the home -> when its last round ended."""
        self._repeat_ms = 0
        """When everything is reported again."""

    def subscribe(self, topics: Sequence[Topic], own: Sample) -> None:
        """Take part in the samples of these topics from now on, with this sample of oneself."""
        self._subscribed = dict.fromkeys(topics)
        self._relays.want(topics)
        self.tell(own)

    def tell(self, own: Sample) -> None:
        """Tell something new of this node: its interest, or its place. A full sample in which it
        is not stays as it is, so there it is told with the next repetition."""
        self._own = own
        me, most = self._context.me, self._params.samples
        for topic in self._subscribed:
            known = self._topics.get(topic)
            full = known.result if known is not None and len(known.result) >= most else ()
            if not full or any(one.node == me for one in full):
                self._changed[topic] = None

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

    def share_placed(self) -> float:
        """Return the share of the nodes that have had their turn, by the samples of some topics."""
        rng, subscribed = self._context.rng, list(self._subscribed)
        found: list[Sample] = []
        for topic in sample(rng, subscribed, min(TOPICS_ASKED, len(subscribed))):
            found += self.view_of(topic)
        return sum([one.placed for one in found]) / len(found) if found else 0.0

    def step(self) -> None:
        """Once a cycle: report what is new, conclude rounds that are due, pass results down."""
        self._round(self._context.outbox.now())
        down, self._down = self._down, {}
        for child, results in down.items():
            for part in in_parts(results, PART):
                self._context.outbox.send(child, View(part))

    def _round(self, now: int) -> None:
        repeat = now >= self._repeat_ms
        if repeat:
            period_ms = REPEAT * self._params.round_ms
            # Not all nodes repeat at the same time.
            first = not self._repeat_ms
            self._repeat_ms = now + (below(self._context.rng, period_ms) if first else period_ms)
        branches = self._relays.branches
        changed, self._changed = self._changed, {}
        trees, self._relays.changed = self._relays.changed or {}, {}
        self._follow_trees(trees, changed)
        leaf: dict[NodeId, list[Topic]] = {}
        combined: dict[NodeId, list[TopicSamples]] = {}
        for topic in list(branches) if repeat else changed | trees:
            branch = branches.get(topic)
            if branch is None:
                continue
            known, parent = self._of(topic), branch.parent
            again = repeat or known.reported_to != parent
            if not (again or topic in changed):
                continue
            if not self._is_complete(known, branch):
                self._changed[topic] = None
            elif parent is None:
                known.reported_to = None
                self._conclude(topic, known, branch, again, now)
            elif not known.reports:
                known.reported_to, known.combined = parent, ()
                if topic in self._subscribed:
                    leaf.setdefault(parent, []).append(topic)
            else:
                known.reported_to = parent
                before, known.combined = known.combined, self._combine(topic, known)
                if again or before != known.combined:
                    found = TopicSamples(topic, known.combined)
                    combined.setdefault(parent, []).append(found)
        send = self._context.outbox.send
        for parent in dict.fromkeys((*leaf, *combined)):
            alone, together = (
                in_parts(leaf.get(parent, ()), PART),
                in_parts(combined.get(parent, ()), PART),
            )
            for topics, samples in zip_longest(alone, together, fillvalue=()):
                send(parent, Report(self._own if topics else None, topics, samples))

    def _is_complete(self, known: Sampling, branch: Branch) -> bool:
        """Return whether all children have reported, or have been waited for long enough. After the
        first report, changes need not wait for each other."""
        if known.reported_to is not None or known.result:
            return True
        if len(known.reports) >= len(branch.children) or known.waited >= WAIT_CYCLES:
            return True
        known.waited += 1
        return False

    def _conclude(
        self, topic: Topic, known: Sampling, branch: Branch, again: bool, now: int
    ) -> None:
        """End a round at the home: pass the result down, if it is another one and it is time."""
        sent_ms = self._sent_ms.get(topic)
        if not again and sent_ms is not None and now - sent_ms < self._params.round_ms:
            self._changed[topic] = None
            return
        result = self._combine(topic, known)
        if again or result != known.result:
            self._sent_ms[topic] = now
            known.result = result
            self._pass_down(TopicSamples(topic, result), branch)

    def _follow_trees(self, trees: Iterable[Topic], changed: dict[Topic, None]) -> None:
        """Forget the trees that this node has left, and the reports of children that have gone."""
        for topic in trees:
            known, branch = self._topics.get(topic), self._relays.branches.get(topic)
            if known is None:
                continue
            if branch is None:
                if topic not in self._subscribed:
                    del self._topics[topic]
                self._sent_ms.pop(topic, None)
                continue
            for child in [child for child in known.reports if child not in branch.children]:
                del known.reports[child]
                changed[topic] = None

    def _pass_down(self, found: TopicSamples, branch: Branch) -> None:
        for child in branch.children:
            self._down.setdefault(child, []).append(found)

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
                before = known.reports.get(sender)
                if before != samples:
                    known.reports[sender] = samples
                    self._changed[topic] = None
                if before is None and known.result:
                    found = TopicSamples(topic, known.result)
                    self._down.setdefault(sender, []).append(found)

    def on_view(self, sender: NodeId, message: View) -> None:
        branches, topics, most = self._relays.branches, self._topics, self._params.samples
        down = self._down
        for found in message.topics:
            branch = branches.get(found.topic)
            if branch is None or branch.parent != sender:
                continue
            known = topics.get(found.topic)
            if known is None:
                known = self._of(found.topic)
            known.result = found.samples[:most]
            for child in branch.children:
                if child in down:
                    down[child].append(found)
                else:
                    down[child] = [found]

    def _of(self, topic: Topic) -> Sampling:
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = Sampling()
        return known

    def _combine(self, topic: Topic, known: Sampling) -> tuple[Sample, ...]:
        """Put the reports and this node's own interest together, cut down to k."""
        subscribed = topic in self._subscribed and self._own is not None
        if not subscribed and len(known.reports) == 1:
            return next(iter(known.reports.values()))  # nearly always so at a relay
        found: dict[NodeId, Sample] = {}
        if subscribed:
            assert self._own is not None
            found[self._own.node] = self._own
        for report in known.reports.values():
            for one in report:
                held = found.get(one.node)
                if held is None or one.version > held.version:
                    found[one.node] = one
        samples, most = list(found.values()), self._params.samples
        if len(samples) > most:
            places, salt = self._context.places, PLACE_OF_TOPIC[topic] | 1
            samples.sort(key=lambda one: places[one.node] * salt % SPACE)
            del samples[most:]
        return tuple(samples)
