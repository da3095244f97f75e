"""Catching up: what a node missed, it pulls from its neighbours' windows.

An overlay repairs what is lost in passing. This is for more than that: a node that was
away, a part of the network that was cut off, a queue that ran over. When a link comes up,
and now and then later, a node tells a neighbour what it has of its topics and is sent what
the neighbour has besides. Asking only for topics of one's own interest keeps a noiseless
overlay noiseless; and what is got this way can be had by the next node that asks. A node that
is asked about a topic of others names nodes that may know more (`net.ways`).

Of a topic with few streams the asker says what it has of each. With many, the two compare
sums over parts of the streams first (`net.digests`), and the asker says what it has of those
parts that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from time import thread_time

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.seeds import pick, sample
from orbweaver.gossip.streams import AGE_SLACK_MS
from orbweaver.net.answers import (
    ANSWER_BYTES,
    FRESH_MS,
    RANGES_MAX,
    ROUNDS_MAX,
    TOPICS_MAX,
    Answers,
)
from orbweaver.net.connection import Connection
from orbweaver.net.digests import WHOLE, Range, place_of, sound, sums_of, which
from orbweaver.net.eventlog import EventLog
from orbweaver.net.frames import (
    Answer,
    Ask,
    CatchingUp,
    Differ,
    Elsewhere,
    Position,
    Sums,
    WantedTopic,
)
from orbweaver.net.host import Host
from orbweaver.net.ways import Ways

POSITIONS_MAX = 2000
"""Streams of which a question says what we have. What is beyond, as beyond `TOPICS_MAX` and
`RANGES_MAX`, has its turn in another one, where topics and places come in another order."""
LISTED_MAX = 64
"""Streams of a range of which the asker says what it has; of more it sends sums."""
EDGES_MAX = 33
"""Of one stream; older gaps than these are given up. Odd, so that what is before them counts
as seen. With all of them somebody who publishes with many gaps could make questions too
large to be read."""
MUCH_EVENTS, MUCH_BYTES = 50, ANSWER_BYTES // 2
"""So many events in one answer, or bytes of them, mean that there is probably more."""
ASKED_S = 30.0
"""Answers are expected for so long."""


class CatchUp:
    def __init__(
        self,
        host: Host,
        log: EventLog,
        since: Mapping[Topic, int],
        deliver: Callable[[Carrier, NodeId], int],
        now: Callable[[], float],
        chance: Random,
    ) -> None:
        """`since` are the topics subscribed to and since when, by the host's clock. `deliver`
        says how many events were news, of the one it is given."""
        self._host = host
        self._log = log
        self._since = since
        self._deliver = deliver
        self._now = now
        self._chance = chance
        self._asked: dict[NodeId, float] = {}
        self._got: dict[NodeId, tuple[int, int]] = {}
        """News in answer to the last question: events, and bytes of them."""
        self._telling: set[NodeId] = set()
        """Whose answers have come since we last looked."""
        self._turns: dict[NodeId, float] = {}
        """Link -> when it was last asked in turn."""
        self._compared: dict[NodeId, tuple[int, int]] = {}
        """Node that we sent sums -> their salt, and how many more rounds follow."""
        self._ways = Ways(host, self.ask)
        self._answers = Answers(host, log, since, now, self._ways)

    def go_on(self) -> None:
        """Ask those again who had much to tell, once they have told it. This is looked at
        often: a window may be emptying while we wait."""
        telling, self._telling = self._telling, set()
        for node, (events, size) in list(self._got.items()):
            if node not in telling and (events >= MUCH_EVENTS or size >= MUCH_BYTES):
                del self._got[node]
                self.ask(node)

    def step(self) -> None:
        """Ask the neighbour that was asked least lately: each has its turn, since only one of
        them may know the way to another subscriber."""
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
        """Ask for what was missed of these topics, or of all."""
        peer = self._host.peers.known(node)
        if peer is None or peer.connection is None or not peer.connection.open or not self._since:
            return
        asked = list(self._since) if topics is None else [t for t in topics if t in self._since]
        chosen = sample(self._chance, asked, TOPICS_MAX)
        self._asked[node] = self._now()
        self._got.pop(node, None)
        salt = self._chance.getrandbits(64)
        self._say(peer.connection, salt, ROUNDS_MAX, {topic: [WHOLE] for topic in chosen})

    def on_differ(self, connection: Connection, message: Differ) -> None:
        """Say what we have of the parts that differ, or compare parts of them."""
        peer = connection.peer
        assert peer is not None
        connection.charge(connection.upkeep, 1)
        salt, rounds = self._compared.pop(peer, (-1, 0))
        if salt != message.salt or not rounds:
            return  # we have asked anew meanwhile
        differing = message.topics[:TOPICS_MAX]
        ranges = {d.topic: sound(d.ranges) for d in differing if d.topic in self._since}
        began = thread_time()
        self._say(connection, salt, rounds - 1, ranges)
        connection.charge(connection.effort, thread_time() - began)

    def _say(
        self, connection: Connection, salt: int, rounds: int, ranges: Mapping[Topic, list[Range]]
    ) -> None:
        """Ask for ranges of topics: tell what we have of those with few streams, and the sums of
        the others."""
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
        for (publisher, epoch, _), edges in self._log.positions(topic).items():
            at = 0 if whole else which(ranges, place_of(salt, publisher, epoch))
            if at is not None:
                found[at].append(Position(publisher, epoch, edges[-EDGES_MAX:]))
        return found

    def on_elsewhere(self, connection: Connection, message: Elsewhere) -> None:
        connection.charge(connection.upkeep, 1)
        if connection.peer not in self._asked:
            connection.strike("ways that were not asked for")
            return
        self._ways.follow(message, self._now())

    def on_answer(self, connection: Connection, message: Answer) -> None:
        peer = connection.peer
        assert peer is not None
        if peer not in self._asked:
            connection.strike("an answer to no question")
            return
        if message.topic not in self._since:
            return  # unsubscribed since we asked
        seal = connection.seals.get(message.seal)
        event = Event(
            message.topic, message.publisher, message.epoch, message.seq, message.payload, seal
        )
        connection.charge(connection.traffic, 1)
        wrong = self._host.gate.wrong_with(event, 1, message.age_ms)
        if wrong is not None:
            if wrong:
                connection.strike(wrong)
            return
        self._telling.add(peer)
        if self._deliver(Carrier(event, 1, message.age_ms), peer):
            events, size = self._got.get(peer, (0, 0))
            self._got[peer] = (events + 1, size + len(message.payload))
