"""Catch up: pull missed events from neighbours' windows.

An overlay repairs single losses. Catching up is for larger ones: a node that was away, a part of
the network that was cut off, a queue that overflowed. When a link comes up, and regularly
afterwards, a node tells a neighbour what it has of its topics, and the neighbour sends what else
it has. A node asks only for topics that it subscribes to, which keeps a noiseless overlay
noiseless; and it keeps the events for the next node that asks. A neighbour that does not
subscribe to a topic names nodes that may know more (`net.ways`).

For a topic with few streams the asker says what it has of each stream. With many streams, the two
nodes first compare sums over parts of the streams (`net.digests`), and the asker says what it has
of the parts that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.seeds import pick, sample
from orbweaver.gossip.streams import AGE_SLACK_MS
from orbweaver.net.events.answers import (
    ANSWER_BYTES,
    FRESH_MS,
    RANGES_MAX,
    ROUNDS_MAX,
    TOPICS_MAX,
    Answers,
)
from orbweaver.net.events.digests import WHOLE, Range, place_of, sound, sums_of, which
from orbweaver.net.events.ways import Ways
from orbweaver.net.events.window import EventLog
from orbweaver.net.host import Host
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import (
    Answer,
    Ask,
    CatchingUp,
    Differ,
    Elsewhere,
    Position,
    Sums,
    WantedTopic,
)

POSITIONS_MAX = 2000
"""Most streams whose positions one question holds. Streams beyond it, and topics and ranges beyond
`TOPICS_MAX` and `RANGES_MAX`, have their turn in later questions, where the order is another."""
LISTED_MAX = 64
"""Most streams of a range whose positions the asker lists; for more streams it sends sums."""
EDGES_MAX = 33
"""Most edges that a question holds of one stream; older gaps are given up. The number is odd, so
that numbers before the first edge count as seen. Without a limit, a publisher with many gaps
could make questions too large to be read."""
FLOWING_MS = 2000
"""Milliseconds after an event in which the later events of its stream are taken to be on their
way, and are not asked for. A neighbour may have got them long before, where queues are long."""
MUCH_EVENTS, MUCH_BYTES = 50, ANSWER_BYTES // 2
"""Number of events, or bytes of events, in one answer from which on there are probably more."""
AGAIN_MAX = 4
"""How many times a node that had many events is asked again before its next answer. It ignores a
question that comes too early, or while its connection is full."""
ASKED_S = 30.0
"""Seconds for which answers to a question are accepted."""


class CatchUp:
    """The questions of one node, and the answers that it gets."""

    def __init__(
        self,
        host: Host,
        log: EventLog,
        since: Mapping[Topic, int],
        deliver: Callable[[Carrier, NodeId], int],
        now: Callable[[], float],
        chance: Random,
    ) -> None:
        """`since` holds the topics that this node subscribes to, and since when, by the host's
        clock. `deliver` takes an event and its sender, and returns 1 if the event is new."""
        self._host = host
        self._log = log
        self._since = since
        self._deliver = deliver
        self._now = now
        self._chance = chance
        self._asked: dict[NodeId, float] = {}
        self._got: dict[NodeId, tuple[int, int, int]] = {}
        """Node -> (new events, bytes of new events) in its last answers, and how many times it was
        asked again since."""
        self._telling: set[NodeId] = set()
        """Nodes whose answers have come since the last call of `go_on`."""
        self._turns: dict[NodeId, float] = {}
        """Neighbour -> when it was last asked in its turn."""
        self._compared: dict[NodeId, tuple[int, int]] = {}
        """Node that was sent sums -> (their salt, how many more rounds may follow)."""
        self._ways = Ways(host, self.ask)
        self._answers = Answers(host, log, since, now, self._ways)

    def go_on(self) -> None:
        """Ask nodes again that had many events, once their answer is complete. The upkeep calls
        `go_on` often, since a window may lose events in the meantime."""
        telling, self._telling = self._telling, set()
        for node, (events, size, again) in list(self._got.items()):
            much = events >= MUCH_EVENTS or size >= MUCH_BYTES
            if much and node not in telling and node not in self._compared:
                self._got[node] = (events, size, again + 1)
                if again == AGAIN_MAX:
                    del self._got[node]
                else:
                    self.ask(node)

    def step(self) -> None:
        """Ask the neighbour that was not asked for longest. Each neighbour has its turn, since only
        one of them may know the way to another subscriber."""
        now = self._now()
        for node in [n for n, at in self._asked.items() if now - at > ASKED_S]:
            del self._asked[node]
            self._got.pop(node, None)
            self._compared.pop(node, None)
        self._answers.forget()
        self._turns = {node: self._turns.get(node, 0.0) for node in self._host.links()}
        if self._turns:
            least = min(self._turns.values())
            node = pick(self._chance, [n for n, at in self._turns.items() if at == least])
            self._turns[node] = now
            self.ask(node)

    def receive(self, connection: Connection, message: CatchingUp) -> None:
        match message:
            case Ask():
                self._answers.on_ask(connection, message)
            case Answer():
                self.on_answer(connection, message)
            case Elsewhere():
                self.on_elsewhere(connection, message)
            case Differ():
                self.on_differ(connection, message)

    def ask(self, node: NodeId, topics: Iterable[Topic] | None = None) -> None:
        """Ask a node for what was missed of these topics, or of all topics of this node."""
        peer = self._host.peers.known(node)
        if peer is None or peer.connection is None or not peer.connection.open or not self._since:
            return
        asked = list(self._since) if topics is None else [t for t in topics if t in self._since]
        chosen = sample(self._chance, asked, TOPICS_MAX)
        self._asked[node] = self._now()
        salt = self._chance.getrandbits(64)
        self._say(peer.connection, salt, ROUNDS_MAX, {topic: [WHOLE] for topic in chosen})

    def on_differ(self, connection: Connection, message: Differ) -> None:
        """Say what this node has of the parts that differ, or compare their parts in turn."""
        peer = connection.peer
        assert peer is not None
        salt, rounds = self._compared.pop(peer, (-1, 0))
        if salt != message.salt or not rounds:
            return  # this node has asked a new question since
        differing = message.topics[:TOPICS_MAX]
        ranges = {d.topic: sound(d.ranges) for d in differing if d.topic in self._since}
        self._say(connection, salt, rounds - 1, ranges)

    def _say(
        self, connection: Connection, salt: int, rounds: int, ranges: Mapping[Topic, list[Range]]
    ) -> None:
        """Ask for ranges of topics: list what this node has of ranges with few streams, and send
        the sums of the others."""
        assert connection.peer is not None
        wanted: list[WantedTopic] = []
        sums: list[Sums] = []
        room, ranges_room = POSITIONS_MAX, RANGES_MAX
        for topic, own in ranges.items():
            listed: list[Range] = []
            summed: list[Range] = []
            have: list[Position] = []
            for whole, positions in zip(own, self._positions(topic, salt, own), strict=True):
                if len(positions) > LISTED_MAX and rounds and ranges_room:
                    ranges_room -= 1
                    summed.append(whole)
                elif len(positions) <= room:
                    room -= len(positions)
                    listed.append(whole)
                    have += positions
            age_ms_max = self._host.now() - self._since[topic] + AGE_SLACK_MS
            if listed:
                wanted.append(WantedTopic(topic, age_ms_max, tuple(have), tuple(listed)))
            if summed:
                kept = self._log.kept(topic, FRESH_MS, age_ms_max, self._host.now())
                parts = sums_of(salt, summed, kept)
                sums.append(Sums(topic, age_ms_max, tuple(summed), tuple(map(tuple, parts))))
        if sums:
            self._compared[connection.peer] = (salt, rounds)
        if wanted or sums:
            connection.say(Ask(tuple(wanted), salt, tuple(sums)))

    def _positions(self, topic: Topic, salt: int, ranges: Sequence[Range]) -> list[list[Position]]:
        """Return what was seen of each stream, by ranges."""
        found: list[list[Position]] = [[] for _ in ranges]
        whole = list(ranges) == [WHOLE]
        flowing = self._log.flowing(topic, self._host.now() - FLOWING_MS)
        for stream, edges in self._log.positions(topic).items():
            publisher, epoch, _ = stream
            at = 0 if whole else which(ranges, place_of(salt, publisher, epoch))
            if at is not None:
                edges = edges[-EDGES_MAX:]
                if stream in flowing:
                    edges = (*edges, edges[-1])  # as if all later numbers had been seen
                found[at].append(Position(publisher, epoch, edges))
        return found

    def on_elsewhere(self, connection: Connection, message: Elsewhere) -> None:
        if connection.peer not in self._asked:
            connection.strike("Elsewhere came without a question")
            return
        self._ways.follow(message, self._now())

    def on_answer(self, connection: Connection, message: Answer) -> None:
        peer = connection.peer
        assert peer is not None
        if peer not in self._asked:
            connection.strike("an Answer came without a question")
            return
        if message.topic not in self._since:
            return  # this node has unsubscribed since it asked
        seal = connection.seals.get(message.seal)
        event = Event(
            message.topic, message.publisher, message.epoch, message.seq, message.payload, seal
        )
        carrier = Carrier(event, 1, message.age_ms)
        if not self._host.gate.takes(connection, carrier):
            return
        self._telling.add(peer)
        if self._deliver(carrier, peer):
            events, size, _ = self._got.get(peer, (0, 0, 0))
            self._got[peer] = (events + 1, size + len(message.payload), 0)
