"""A node to embed in a program: publish and subscribe, with nothing else to run.

async with orbweaver.Node(listen="127.0.0.1:0", join=["127.0.0.1:7700"]) as node:
    news = await node.subscribe("news/sport")
    await node.publish("news/sport", b"kick-off")
    async for event in news:
        print(event.payload)
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from orbweaver.core.errors import PayloadTooLarge, ProtocolError, UsageError
from orbweaver.core.ids import NodeId, Topic, check_single_topic, publisher_in
from orbweaver.core.messages import INTEREST_BYTES_MAX, Carrier, names_size, run_of
from orbweaver.core.overlay import Overlay
from orbweaver.net.admin.status import ADMIN_PORT, Status, id_text
from orbweaver.net.admin.status_of import status_of
from orbweaver.net.counters import Counters
from orbweaver.net.events.catchup import CatchUp
from orbweaver.net.events.departures import drain
from orbweaver.net.events.readers import Readers
from orbweaver.net.events.runs import OpenRuns
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.events.window import EventLog
from orbweaver.net.host import Host
from orbweaver.net.keys.lastlife import read_epoch, write_epoch
from orbweaver.net.logger import Logger
from orbweaver.net.opening import (
    epoch_path,
    kept_path,
    open_identity,
    open_log,
    open_members,
    open_params,
    open_records,
    open_tls,
)  # fmt: skip
from orbweaver.net.peers.bootstrap import Bootstrap
from orbweaver.net.peers.cards import join_address
from orbweaver.net.settings import Settings, split_address
from orbweaver.net.upkeep import Upkeep
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import CatchingUp
from orbweaver.records.live import LiveRecorder

if TYPE_CHECKING:
    from orbweaver.net.admin.pages import Admin

JOIN_S = 5.0
"""Seconds that a node waits for an answer before it starts alone."""
BURST = 256
"""How many events are published without a pause; then waiting messages are written first."""
BURST_BYTES = 1 << 12
"""Bytes of payload for which an event counts once more against `BURST`."""
BACKLOG_MAX = 1024
"""How many events neighbours may have been told of and not taken before publishing waits."""
CATCH_UP_S = 0.25
"""Seconds from a new link until its far end is asked for missed events; the connection may still
have to be made."""
ROOM_S = 0.25
"""Seconds after which a waiting `publish` checks for room even if it was not woken."""

log = Logger()


Payload = bytes | bytearray | memoryview | str


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """The state of a publication when `publish` returned."""

    event: tuple[str, int, Topic, int]
    """Publisher, epoch, topic and sequence number, which identify the event for ever."""
    neighbours: int
    """To how many neighbours the event, or a notice of it, is sent at once. With 0 the event is
    kept, and goes to neighbours that ask for it while it is in the window."""


class NetworkNode:
    """A node of a network: it joins, keeps its links, publishes, subscribes and catches up."""

    _runs: OpenRuns

    def __init__(
        self,
        overlay: type[Overlay],
        settings: Settings,
        *,
        tempo: float = 1.0,
        recorder: LiveRecorder | None = None,
    ) -> None:
        """Prepare a node; `start` runs it. `recorder` takes the place of the recorder that writes
        into the folder `records` of the settings."""
        self.settings = settings
        self._overlay = overlay
        self._params = open_params(overlay, settings)
        self._tempo = tempo
        self._identity = open_identity(settings)
        self._id = id_text(self._identity.node)
        self._readers = Readers(self._first_reader, self._last_reader, self._note_missed, settings)
        self._burst = 0
        self._gate = asyncio.Lock()
        self._room: asyncio.Future[None] | None = None
        self._started_at = 0.0
        self._upkeep: Upkeep | None = None
        self._upkeeping: asyncio.Task[None] | None = None
        self._keeping: list[asyncio.Task[None]] = []
        """Tasks that read the topics of the setting `subscribe`."""
        self._host: Host | None = None
        self._stopped = False
        self._recorder = recorder
        self._admin: Admin | None = None
        self.admin_address = ""
        """Address of the admin page, once the node runs; empty without an admin page."""
        self._log: EventLog = EventLog()

    # -- life

    async def start(self) -> None:
        if self._host is not None:
            raise UsageError("this node has been started already; make a new node")
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        tls = open_tls(self.settings)
        epochs = epoch_path(self.settings)
        recorder = self._recorder or open_records(self.settings, self._identity.node, self._params)
        host = self._host = Host(
            self._overlay, self._params, self.settings, self._identity, self._on_event,
            tls=tls, members=open_members(self.settings), tempo=self._tempo,
            not_before_ms=read_epoch(epochs) + 1, kept=kept_path(self.settings),
            recorder=recorder,
        )  # fmt: skip
        self._started_at = time.monotonic()
        self._log = open_log(self.settings, host.now())
        self._runs = OpenRuns(host, self._on_published)
        if tls is None:
            log.warning("plain: connections are not encrypted", listen=self.settings.listen)
        loop = asyncio.get_running_loop()
        self._catch_up = CatchUp(
            host, self._log, self._readers.since, self._on_caught_up, loop.time, host.chance
        )
        host.on_link = self._catch_up_soon
        host.on_control = self._on_control
        host.outgoing.on_room = self._on_room
        self._bootstrap = Bootstrap(host, self.settings.join)
        await host.listen()
        if self.settings.admin:
            from orbweaver.net.admin.pages import Admin  # 4 MB, only for nodes with an admin page

            self._admin = Admin(host.counters, self.status)
            bound = await self._admin.start(*split_address(self.settings.admin, ADMIN_PORT))
            self.admin_address = join_address(*bound)
        self._upkeep = Upkeep(
            host, self._log, self._readers, self._catch_up, self._bootstrap, self._tempo
        )
        self._upkeep.recall_peers()
        host.start(await self._bootstrap.join(JOIN_S))
        write_epoch(epochs, host.now())
        for topic in dict.fromkeys(self.settings.subscribe):
            self._keeping.append(asyncio.create_task(_discard(await self.subscribe(topic))))
        self._upkeeping = asyncio.create_task(self._upkeep.run())
        log.info(
            "node runs", id=id_text(host.me), listen=self.address, overlay=self.settings.overlay
        )

    async def stop(self) -> None:
        if self._upkeeping is not None:
            self._upkeeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._upkeeping
            self._upkeeping = None
        self._readers.end()
        await asyncio.gather(*self._keeping)
        if self._admin is not None:
            await self._admin.close()
            self._admin = None
        if self._host is not None and not self._stopped:
            try:
                if self._upkeep is not None:
                    self._runs.close()
                    self._upkeep.save_peers()
            finally:  # the disk may be full
                await self._host.stop()
                self._stopped = True
                self._log.close()

    async def __aenter__(self) -> NetworkNode:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    # -- publish and subscribe

    async def subscribe(
        self, topic: Topic, *, since: float = 0.0, ordered: bool = False, buffer: int = 10_000
    ) -> Subscription:
        """Subscribe to a topic, and return an iterator over its events from now on.

        With `since`, events of the last `since` seconds that neighbours, or other readers at
        this node, still have come too. With `ordered`, the events of each publisher come in the
        order of publication, and late events are waited for. `buffer` is how many events may
        wait to be read.
        """
        host = self._running()
        self._check_interest(host, topic)
        if not (since >= 0 and math.isfinite(since)):
            raise UsageError(f"since={since} should be a number of seconds, 0 or more")
        host.tick()
        now = host.now()
        shared = topic in self._readers.since
        subscription = self._readers.add(
            topic, now - round(1000 * since), now, self._log, ordered=ordered, buffer=buffer
        )
        if shared and since:
            subscription.offer(self._kept(host, topic, round(1000 * since)), now)
        if self._readers.since[topic] < now:
            for peer in host.links():
                self._catch_up_soon(peer)
        return subscription

    async def publish(self, topic: Topic, payload: Payload) -> Receipt:
        """Publish an event, and return to how many neighbours it is sent. The events that are
        published on a topic in one tick of the loop leave together, at its end.

        `publish` waits while queues are full, unless the setting `when_full` is `drop`. It raises
        `PayloadTooLarge` for a payload larger than `payload_bytes_max` of this node, or of all
        peers that the node is connected with.
        """
        if self._burst >= BURST:
            await self._breathe()
        return self._publish(topic, payload)

    async def publish_many(self, topic: Topic, payloads: Iterable[Payload]) -> list[Receipt]:
        """Publish several events on a topic, as `publish` does. It is faster than single calls."""
        receipts = []
        for payload in payloads:
            if self._burst >= BURST:
                await self._breathe()
            receipts.append(self._publish(topic, payload))
        return receipts

    def _publish(self, topic: Topic, payload: Payload) -> Receipt:
        if type(payload) is not bytes:
            payload = _as_bytes(payload)
        size = len(payload)
        if size > self.settings.payload_bytes_max:
            raise PayloadTooLarge(size, self.settings.payload_bytes_max, "this node sends")
        host = self._running()
        if size > host.peers.payload_most:
            raise PayloadTooLarge(size, host.peers.payload_most, "its peers take")
        run = self._runs.open.get(topic)
        if run is None:
            self._check_publication(host, topic)
            run = self._runs.begin(topic)
        self._burst += 1 + size // BURST_BYTES
        host.counters.published += 1
        if not run.reach:
            host.counters.published_to_nobody += 1
        return Receipt((self._id, host.epoch, topic, self._runs.append(run, payload)), run.reach)

    async def drain(self, timeout: float | None = None) -> None:
        """Wait until every event published here so far has been sent to a neighbour, all queues
        have been sent, and the neighbours have read them.

        Raise `NotDrained`, a `TimeoutError` that says how many events were sent to no neighbour,
        after `timeout` seconds, or once some events have left the window unsent. Events to
        which no node subscribes are sent to no neighbour.
        """
        host = self._running()
        self._runs.close()
        await drain(host, self._log, timeout)

    # -- inspection

    @property
    def id(self) -> str:
        """Return the node's id: 16 hexadecimal digits, as in `Delivery.publisher`."""
        return self._id

    @property
    def public_key(self) -> str:
        """Return the node's public key: 64 hexadecimal digits, as in the list of publishers."""
        return self._identity.public_key.hex()

    @property
    def address(self) -> str:
        """Return the address at which other nodes reach this one."""
        return self._running().card.address

    def neighbours(self) -> list[str]:
        return [id_text(peer) for peer in self._running().links()]

    def unanswered(self) -> dict[str, str]:
        """Return the addresses to join that did not let this node in at the last attempt, and why
        they did not."""
        return dict(self._bootstrap.unanswered)

    def declined(self) -> dict[str, str]:
        """Return the peers that did not accept events, by id, and the last reason of each."""
        return {id_text(peer): why for peer, why in self._running().declines.items()}

    def status(self) -> Status:
        host = self._running()
        uptime_s = time.monotonic() - self._started_at
        readers = self._readers
        return status_of(host, readers.counts(), readers.since, self._log.sizes(), uptime_s)

    @property
    def counters(self) -> Counters:
        return self._running().counters

    @property
    def host(self) -> Host:
        """Return the host inside the node, for tests that add losses and delays to it."""
        return self._running()

    def _check_publication(self, host: Host, topic: Topic) -> None:
        """Check that this node may publish on a topic, and count the topic among its own."""
        self._check_interest(host, topic)
        may_publish, key = host.gate.rules.publishers.may_publish, self._identity.public_key
        if publisher_in(topic) is not None and not may_publish(host.me, key, topic):
            raise UsageError(
                f"node {self.id} may not publish on '{topic}': publish at the node that the name "
                "carries, or list this node under publishers"
            )
        if topic not in host.interest:
            host.interest[topic] = None
            if host.recorder is not None:
                host.recorder.interest(topic, "publish")

    def _check_interest(self, host: Host, topic: Topic) -> None:
        if topic not in host.interest:
            check_single_topic(topic)
            if names_size([*host.interest, topic]) > INTEREST_BYTES_MAX:
                raise UsageError(
                    f"the names of {len(host.interest) + 1} topics take more than the "
                    f"{INTEREST_BYTES_MAX} bytes that one node may use; run another node for more"
                )

    # -- events

    def _on_published(self, carriers: Sequence[Carrier]) -> None:
        """Take what was published here in a tick into the window."""
        host: Host = self._host  # type: ignore[assignment]
        for carrier in carriers:
            self._log.put(carrier.event, 0, host.now(), None, carrier.more)
            if host.recorder is not None:
                for event in run_of(carrier.event, carrier.more):
                    host.recorder.published(event)

    def _on_caught_up(self, message: Carrier, source: NodeId) -> int:
        """Take an event out of a neighbour's window. Return 1 if it is new, else 0."""
        news = self._on_event(message, source, pulled=True)
        self._running().counters.caught_up += news
        return news

    def _on_event(self, message: Carrier, source: NodeId | None, pulled: bool = False) -> int:
        """Put an event or a run into the window, and give what is new to the readers. Return how
        many events are new."""
        host: Host = self._host  # type: ignore[assignment]
        event, more, now = message.event, message.more, host.now()
        try:
            new = self._log.put(event, message.age_ms, now, source, more, pulled)
        except ProtocolError:
            host.counters.bad_messages += 1
            return 0
        if not new:
            if more:
                return sum(self._on_event(one, source, pulled) for one in message.singles())
            host.counters.repeated += 1
            return 0
        if event.publisher == host.me:
            return 0  # an own event that comes back from an earlier life
        host.counters.delivered += message.count
        if host.recorder is not None:
            for one in run_of(event, more):
                host.recorder.delivered(one, message.hops, pulled)
            if pulled and source is not None:
                host.recorder.copy(source, message, "pulled")
        self._readers.offer((message,), now)
        return message.count

    def _kept(self, host: Host, topic: Topic, age_ms_max: int) -> list[Carrier]:
        """Return events of other nodes that other readers here have had."""
        kept = self._log.missing_of(topic, {}, age_ms_max, Subscription.BYTES_MAX, host.now())
        return [Carrier(event, 1, age) for event, age in kept if event.publisher != host.me]

    def _on_control(self, connection: Connection, message: CatchingUp) -> None:
        self._catch_up.receive(connection, message)

    def _catch_up_soon(self, peer: NodeId) -> None:
        asyncio.get_running_loop().call_later(CATCH_UP_S, self._catch_up.ask, peer)

    def _first_reader(self, topic: Topic) -> None:
        host = self._running()
        host.interest[topic] = None
        if host.recorder is not None:
            host.recorder.interest(topic, "subscribe")
        host.overlay.subscribe(topic)

    def _last_reader(self, topic: Topic) -> None:
        host = self._running()
        host.interest.pop(topic, None)
        host.tick()
        if host.recorder is not None:
            host.recorder.interest(topic, "unsubscribe")
        host.overlay.unsubscribe(topic)
        # The log comes last, since it fails if the disk is full.
        self._log.forget_subscription(topic)
        self._log.drop_topic(topic)

    def _note_missed(self, count: int) -> None:
        self._running().counters.missed += count

    # -- back-pressure

    async def _breathe(self) -> None:
        """Wait for the end of the tick, when events are written, and then for room in the queues.
        All calls wait in the order in which they came."""
        host = self._running()
        async with self._gate:
            if self._burst < BURST:
                return
            await asyncio.sleep(0)
            while (
                self.settings.when_full == "wait"
                and not self._stopped
                and (host.outgoing.crowded() or host.overlay.backlog() > BACKLOG_MAX)
            ):
                if self._room is None:
                    self._room = asyncio.get_running_loop().create_future()
                await asyncio.wait([self._room], timeout=ROOM_S)
            self._burst = 0

    def _on_room(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    def _running(self) -> Host:
        if self._host is None:
            raise UsageError("the node does not run: use `async with`, or await start()")
        if self._stopped:
            raise UsageError("the node has stopped; make a new node")
        return self._host


def _as_bytes(payload: Payload) -> bytes:
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)  # a copy, since the caller may change its buffer later
    raise UsageError(f"a payload is bytes or text, not {type(payload).__name__}")


async def _discard(subscription: Subscription) -> None:
    """Read a subscription without an application; the node keeps its events for other nodes."""
    async for _ in subscription:
        pass
