"""Catching up: what a node missed, it pulls from its neighbours' windows.

An overlay repairs what is lost in passing. This is for more than that: a node that was
away, a part of the network that was cut off, a queue that ran over. When a link comes up,
and now and then later, a node tells a neighbour what it has of its topics and is sent what
the neighbour has besides. Asking only for topics of one's own interest keeps a noiseless
overlay noiseless; and what is got this way can be had by the next node that asks.

In Vitis and RVR a node may have no neighbour that subscribes to its topic, only relays, and
relays keep no window. A node that is asked about a topic of others names the neighbours to
which it would pass an event on the topic; the asker asks those, over a connection of its
own, until it comes to a subscriber. So a relay neither keeps nor carries old events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from time import thread_time

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event
from orbweaver.core.seeds import pick, sample
from orbweaver.gossip.streams import AGE_SLACK_MS
from orbweaver.net.cards import Card
from orbweaver.net.connection import Connection
from orbweaver.net.eventlog import EventLog
from orbweaver.net.frames import (
    Answer,
    Ask,
    Cards,
    Elsewhere,
    Position,
    Seals,
    Wanted,
    Way,
    control_frame,
)  # fmt: skip
from orbweaver.net.host import Host
from orbweaver.net.packing import tell_card, tell_seal
from orbweaver.net.seals import BatchSeal

TOPICS_MAX = 500
POSITIONS_MAX = 2000
"""Topics, and streams of them, in one question; with more, a random part."""
EDGES_MAX = 33
"""Of one stream; older gaps than these are given up. Odd, so that what is before them counts
as seen. With all of them somebody who publishes with many gaps could make questions too
large to be read."""
ANSWER_BYTES = 1 << 20
"""Given in answer to one question; who lacks more asks again at once."""
MUCH_EVENTS, MUCH_BYTES = 50, ANSWER_BYTES // 2
"""So many events in one answer, or bytes of them, mean that there is probably more."""
FRESH_MS = 1000
"""Younger events may still be on their way, and are not given."""
ASK_S_MIN = 0.2
ASK_PAUSE = 10.0
"""Questions that come faster are not answered, nor those that come before so many times the
time that the last answer took."""
ASKED_S = 30.0
"""Answers are expected for so long."""
WAYS_MAX = 32
"""Nodes that one `Elsewhere` names, and that are asked because of it."""
WAY_PAUSE_S = 2.0
"""Seconds before a node that another one has named is asked again."""


class CatchUp:
    def __init__(
        self,
        host: Host,
        log: EventLog,
        since: Mapping[Topic, int],
        deliver: Callable[[Carrier], int],
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
        self._answered: dict[NodeId, float] = {}
        """From when on they may ask again."""
        self._got: dict[NodeId, tuple[int, int]] = {}
        """News in answer to the last question: events, and bytes of them."""
        self._telling: set[NodeId] = set()
        """Whose answers have come since we last looked."""
        self._turns: dict[NodeId, float] = {}
        """Link -> when it was last asked in turn."""
        self._followed: dict[NodeId, float] = {}
        """Node that another one has named -> when it was asked because of that."""

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
        for times in (self._asked, self._answered):
            for node in [n for n, at in times.items() if now - at > ASKED_S]:
                del times[node]
                self._got.pop(node, None)
        self._turns = {node: self._turns.get(node, 0.0) for node in self._host.links()}
        if self._turns:
            least = min(self._turns.values())
            node = pick(self._chance, [n for n, at in self._turns.items() if at == least])
            self._turns[node] = now
            self.ask(node)

    def receive(self, connection: Connection, message: Ask | Answer | Elsewhere) -> None:
        if isinstance(message, Ask):
            self.on_ask(connection, message)
        elif isinstance(message, Answer):
            self.on_answer(connection, message)
        else:
            self.on_elsewhere(connection, message)

    def ask(self, node: NodeId, topics: Iterable[Topic] | None = None) -> None:
        """Ask for what was missed of these topics, or of all."""
        peer = self._host.peers.known(node)
        if peer is None or peer.connection is None or not peer.connection.open or not self._since:
            return
        now = self._host.now()
        wanted, room = [], POSITIONS_MAX
        asked = self._since if topics is None else [t for t in topics if t in self._since]
        for topic in sample(self._chance, list(asked), TOPICS_MAX):
            age_ms_max = now - self._since[topic] + AGE_SLACK_MS
            positions = list(self._log.positions(topic).items())
            if len(positions) > POSITIONS_MAX:
                # It never fits. What is left out is sent to us again, and is no news.
                positions = sample(self._chance, positions, POSITIONS_MAX // 2)
            if len(positions) > room:
                continue
            room -= len(positions)
            have = tuple(
                Position(publisher, epoch, edges[-EDGES_MAX:])
                for (publisher, epoch, _), edges in positions
            )
            wanted.append(Wanted(topic, age_ms_max, have))
        self._asked[node] = self._now()
        self._got.pop(node, None)
        peer.connection.say(Ask(tuple(wanted)))

    def on_ask(self, connection: Connection, message: Ask) -> None:
        peer, now = connection.peer, self._now()
        assert peer is not None
        connection.charge(connection.upkeep, 1)
        if now < self._answered.get(peer, now) or connection.paused_since is not None:
            return
        began = thread_time()
        self._write_answers(connection, message)
        self._write_ways(connection, message)
        self._answered[peer] = now + max(ASK_S_MIN, ASK_PAUSE * (thread_time() - began))

    def _write_answers(self, connection: Connection, message: Ask) -> None:
        room = ANSWER_BYTES
        frames: list[bytes] = []
        for wanted in {wanted.topic: wanted for wanted in message.wanted[:TOPICS_MAX]}.values():
            if room <= 0:
                break
            have = {(p.publisher, p.epoch, wanted.topic): p.edges for p in wanted.have}
            lacking = self._log.missing_of(
                wanted.topic, have, wanted.age_ms_max, room, self._host.now()
            )
            for event, age_ms in lacking:
                if age_ms < FRESH_MS:
                    continue
                room -= len(event.payload) + 200
                frames += self._answer(connection, event, age_ms)
        if frames:
            connection.write(frames)

    def _write_ways(self, connection: Connection, message: Ask) -> None:
        """Name the neighbours that are nearer to the subscribers of other nodes' topics."""
        ways: dict[NodeId, dict[Topic, None]] = {}
        for wanted in message.wanted[:TOPICS_MAX]:
            if wanted.topic not in self._since and wanted.topic in self._host.topics:
                for node in self._host.overlay.towards(wanted.topic):
                    if node != connection.peer:
                        ways.setdefault(node, {})[wanted.topic] = None
        chosen = sample(self._chance, list(ways), WAYS_MAX)
        if chosen:
            cards: list[Card] = []
            for node in chosen:
                tell_card(node, connection, self._host.card_of, cards)
            named = tuple(Way(node, tuple(ways[node])) for node in chosen)
            connection.write([control_frame(Cards(tuple(cards))), control_frame(Elsewhere(named))])

    def on_elsewhere(self, connection: Connection, message: Elsewhere) -> None:
        peer, now = connection.peer, self._now()
        assert peer is not None
        connection.charge(connection.upkeep, 1)
        if peer not in self._asked:
            connection.strike("ways that were not asked for")
            return
        for node in [n for n, at in self._followed.items() if now - at > WAY_PAUSE_S]:
            del self._followed[node]
        for way in message.ways[:WAYS_MAX]:
            known = way.node in self._host.book and way.node != self._host.me
            if known and way.node not in self._followed:
                self._followed[way.node] = now
                self._follow(way)

    def _follow(self, way: Way) -> None:
        """Ask a node that another one has named, once there is a connection."""
        peers = self._host.peers
        peer = peers.get(way.node)
        if peer.connection is None:
            peers.dial(peer)
            if peer.dialling is not None:
                peer.dialling.add_done_callback(lambda _: self.ask(way.node, way.topics))
        self.ask(way.node, way.topics)

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
        if self._deliver(Carrier(event, 1, message.age_ms)):
            events, size = self._got.get(peer, (0, 0))
            self._got[peer] = (events + 1, size + len(message.payload))

    def _answer(self, connection: Connection, event: Event, age_ms: int) -> list[bytes]:
        if len(event.payload) > connection.payload_bytes_max:
            return []
        self._host.outgoing.departures.written((event,))
        frames = []
        name = b""
        seal = event.seal
        if isinstance(seal, BatchSeal):
            if not seal.data:
                self._host.sealer.close()
            name = seal.name
            if name not in connection.told_seals:
                frames.append(control_frame(Seals((tell_seal(seal, connection),))))
        answer = Answer(
            event.topic, event.publisher, event.epoch, event.seq, event.payload, name, age_ms
        )
        return [*frames, control_frame(answer)]
