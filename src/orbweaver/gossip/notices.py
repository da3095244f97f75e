"""Events spread by notice and pull (Vitis III-C).

A node that gets a notice of an event pulls the event from the sender, and passes the notice on at
once; the event itself thus comes to each node once. That is all the paper has. **Ours**
(`repair`): a notice is repeated, a few times, to peers that have shown no sign of knowing the
event, a request that was not answered goes to another peer, and new neighbours are told of recent
events, so lost messages and links that come up a moment later do no harm.

A notice is not signed, only the event is. So a notice makes a node ask and settles nothing, and
the number of events looked for at one time on the word of one peer is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, EventId, StreamId
from orbweaver.core.overlay import Context
from orbweaver.gossip.messages import Notice, Pull, Pulled
from orbweaver.gossip.streams import Stream, after_subscription

KEEP_MS = 10_000
"""Milliseconds for which an event can be pulled from a node that got it."""
TELL_MAX = 4
"""Most notices of one event to one peer that does not react."""
BACKLOG_MS = 2000
"""Milliseconds for which an event that no peer pulls counts as backlog."""
AGAIN_MAX = 1 << 11
"""Most events that are told of or asked for again in one cycle, the oldest first. When tens of
thousands wait for an answer, the answers are on their way, and as many repetitions would push them
out of queues."""
KNOWS = -1
"""In place of a count of notices: the peer knows the event."""
PULLS_MAX = 16
"""Most times that one peer is given the same event, which may be a thousand times larger than the
request for it."""
UNPROVEN_OF_PEER = 1 << 12
"""Most events looked for at one time of which one peer gave notice first."""
SPREAD_UNPROVEN = 1 << 8
"""Most notices of such events that are passed on before the event is here. It is far below the
limit above, so that a peer that lies does not make this node look like a liar to others."""
KNOWN_MAX = 1 << 17
"""Most events that are remembered. Beyond, the oldest go early."""
BYTES_MAX = 64 << 20
"""Most bytes of payload that are kept. Beyond, the oldest events go early."""
STREAMS_MAX = 1 << 17
"""How many streams are remembered. A publisher can begin any number of them."""


class Known:
    """Holds an event that this node has heard of, and the peers that it has told."""

    __slots__ = ("age_ms", "event", "first", "hops", "others_asked", "pulls", "quiet", "since",
                 "sources", "taken", "told")  # fmt: skip

    def __init__(self, since: int, first: NodeId | None) -> None:
        self.first = first
        """The peer that gave notice before all others, until the event is here."""
        self.quiet = False
        """Notices are not passed on before the event is here."""
        self.event: Event | None = None
        self.hops = 0
        self.age_ms = 0
        self.since = since
        self.told: dict[NodeId, int] = {}
        """Peer -> notices sent to it; or KNOWS, less one for each time that it was given the
        event."""
        self.others_asked = 0
        """How often peers that had not given notice were asked for the event."""
        self.sources: list[NodeId] = []
        """The peers that gave notice, in this order."""
        self.taken = False
        """A peer has pulled the event."""
        self.pulls: list[NodeId] = []
        """The peers that pulled while the event was still on its way here."""


class NoticeAndPull:
    messages = (Notice, Pull, Pulled)

    def __init__(
        self,
        context: Context,
        targets: Callable[[Topic], Collection[NodeId]],
        subscribed: Mapping[Topic, int],
        repair: bool = True,
    ) -> None:
        """`targets` returns the peers to which events on a topic go from this node. `subscribed`
        is the live map of the subscribed topics and their times. Without `repair` each peer is
        told of an event once, and asked for it once, as in the paper."""
        self._context = context
        self._targets = targets
        self._subscribed = subscribed
        self._repair = repair
        self._epoch = 0
        self._sent: dict[Topic, int] = {}
        self._streams: dict[StreamId, Stream] = {}
        self._known: dict[EventId, Known] = {}
        self._bytes = 0
        self._stepped = -1
        """The time of the last cycle."""
        self._untaken: deque[Known] = deque()
        self._unproven: dict[NodeId, int] = {}
        """Peer -> how many events are looked for of which it gave notice first."""

    def start(self) -> None:
        self._epoch = self._context.outbox.now()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        seq = self._sent.get(topic, 0)
        self._sent[topic] = seq + 1
        event = Event(topic, self._context.me, self._epoch, seq, payload, self._context.seal())
        name = event.id
        known = self._learn(name, None)
        self._have(name, known, event)
        if self._spread(name, known):
            self._untaken.append(known)
        return event

    def backlog(self) -> int:
        """Return the number of events published here of which peers were told, and that no peer
        has pulled. Older ones count no more: there may be no peer that wants them."""
        untaken, old = self._untaken, self._context.outbox.now() - BACKLOG_MS
        while untaken and (untaken[0].taken or untaken[0].since < old):
            untaken.popleft()
        return len(untaken)

    def on_notice(self, sender: NodeId, message: Notice) -> None:
        name = message.event
        known = self._known.get(name)
        if known is None:
            unproven = self._unproven.get(sender, 0)
            if self._seen(name) or unproven >= UNPROVEN_OF_PEER:
                return
            known = self._learn(name, sender)
            known.quiet = unproven >= SPREAD_UNPROVEN
            self._context.outbox.send(sender, Pull(name))
            _note_knows(known, sender)
            self._spread(name, known)
        _note_knows(known, sender)
        if known.event is None and sender not in known.sources:
            known.sources.append(sender)

    def on_pull(self, sender: NodeId, message: Pull) -> None:
        known = self._known.get(message.event)
        if known is None:
            return
        known.taken = True
        _note_knows(known, sender)
        if known.event is not None:
            self._hand_over(sender, known)
        elif sender not in known.pulls:
            known.pulls.append(sender)

    def on_pulled(self, sender: NodeId, message: Pulled) -> bool:
        """Take in an event that was asked for. Return whether it is new here."""
        event = message.event
        name = event.id
        known = self._known.get(name)
        if known is None or known.event is not None:
            return False  # not asked for, or here already from another
        self._have(name, known, event)
        known.hops, known.age_ms = message.hops, message.age_ms
        known.since = self._context.outbox.now()
        if after_subscription(self._subscribed.get(event.topic), message.age_ms, known.since):
            self._context.outbox.deliver(message)
        for peer in known.pulls:
            self._hand_over(peer, known)
        known.pulls.clear()
        if known.quiet:
            known.quiet = False
            self._spread(name, known)
        return True

    def step(self) -> None:
        """Run one cycle: forget old events and, with `repair`, ask and tell again where nothing
        came back."""
        self.backlog()
        now = self._context.outbox.now()
        before, self._stepped = self._stepped, now
        old = now - KEEP_MS
        again = AGAIN_MAX if self._repair else 0
        for name, known in list(self._known.items()):
            if known.since < old:
                self._forget(name, known)
                continue
            if not again:
                break
            # An answer to what is younger than a cycle may still come.
            waited = known.since <= before
            asked = waited and known.event is None and bool(known.sources)
            if asked:
                # The next peer that said to have it; the first may have gone.
                known.sources.append(known.sources.pop(0))
                self._context.outbox.send(known.sources[0], Pull(name))
                self._ask_another(name, known)
            # An event that is not here is told once, not again: notices of an event that no node
            # has would never end where there is always a new neighbour to tell.
            told = known.event is not None and self._spread(name, known, TELL_MAX if waited else 1)
            if told or asked:
                again -= 1

    def _ask_another(self, name: EventId, known: Known) -> None:
        """Ask one of the peers that this node has told, each in its turn. A peer that got the
        event elsewhere gives no notice of it here, since it takes this node to have it."""
        if known.quiet:
            return
        others = [peer for peer in self._targets(name[2]) if peer not in known.sources]
        if others:
            self._context.outbox.send(others[known.others_asked % len(others)], Pull(name))
            known.others_asked += 1

    def _spread(self, name: EventId, known: Known, most: int = 1) -> bool:
        """Give notice to the targets that got fewer than `most` notices. Return whether there
        were any."""
        if known.quiet:
            return False
        told = known.told
        peers = [peer for peer in self._targets(name[2]) if 0 <= told.get(peer, 0) < most]
        if peers:
            for peer in peers:
                told[peer] = told.get(peer, 0) + 1
            self._context.outbox.send_all(peers, Notice(name))
        return bool(peers)

    def _hand_over(self, peer: NodeId, known: Known) -> None:
        assert known.event is not None
        if known.told[peer] <= KNOWS - PULLS_MAX:
            return
        known.told[peer] -= 1
        age_ms = known.age_ms + self._context.outbox.now() - known.since
        self._context.outbox.send(peer, Pulled(known.event, known.hops + 1, age_ms))

    def _learn(self, name: EventId, first: NodeId | None) -> Known:
        known = self._known[name] = Known(self._context.outbox.now(), first)
        if first is not None:
            self._unproven[first] = self._unproven.get(first, 0) + 1
        self._make_room()
        return known

    def _have(self, name: EventId, known: Known, event: Event) -> None:
        """Keep an event that has come."""
        self._proven(known)
        known.event = event
        self._bytes += len(event.payload)
        key = name[:3]
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[key] = Stream()
        stream.settle(event.seq)
        self._make_room()

    def _proven(self, known: Known) -> None:
        """Count an event no longer against the peer that gave notice of it first."""
        first, known.first = known.first, None
        if first is not None:
            self._unproven[first] -= 1
            if not self._unproven[first]:
                del self._unproven[first]

    def _forget(self, name: EventId, known: Known) -> None:
        del self._known[name]
        self._proven(known)
        if known.event is not None:
            self._bytes -= len(known.event.payload)

    def _make_room(self) -> None:
        while len(self._known) > KNOWN_MAX or self._bytes > BYTES_MAX:
            name, known = next(iter(self._known.items()))
            self._forget(name, known)

    def _seen(self, name: EventId) -> bool:
        publisher, epoch, topic, seq = name
        stream = self._streams.get((publisher, epoch, topic))
        return stream is not None and stream.seen(seq)


def _note_knows(known: Known, peer: NodeId) -> None:
    if known.told.get(peer, 0) >= 0:
        known.told[peer] = KNOWS
