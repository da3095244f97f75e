"""Upkeep is what a node does at regular times, whatever else happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.net.events.catchup import CatchUp
from orbweaver.net.events.readers import Readers
from orbweaver.net.events.window import EventLog
from orbweaver.net.gate.limits import Sparing
from orbweaver.net.host import Host
from orbweaver.net.logger import Logger
from orbweaver.net.peers.bootstrap import Bootstrap
from orbweaver.net.peers.cards import Card

EVERY_S = 0.25
"""Seconds from one round of upkeep to the next."""
ALONE_S = 1.0
"""Seconds after which a node without connections looks for other nodes again."""

_logger = Logger()


class Upkeep:
    """The regular work of one node: flush, catch up, look after connections, look for nodes."""

    def __init__(
        self, host: Host, log: EventLog, readers: Readers, catch_up: CatchUp,
        bootstrap: Bootstrap, tempo: float,
    ) -> None:  # fmt: skip
        self._host = host
        self._log = log
        self._readers = readers
        self._catch_up = catch_up
        self._bootstrap = bootstrap
        self._catch_up_s = host.settings.catch_up_s / tempo
        self._rejoin_s = host.settings.rejoin_s / tempo
        self._complaints = Sparing(_logger)

    async def run(self) -> None:
        """Run the upkeep until cancelled."""
        host, loop = self._host, asyncio.get_running_loop()
        second = catch_up = rejoin = loop.time()
        looking: asyncio.Task[None] | None = None
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                now = loop.time()
                self._do(host.tick)
                self._do(self._readers.expire, host.now())
                self._do(self._log.flush)
                if host.recorder is not None:
                    self._do(host.recorder.flush)
                self._do(self._catch_up.go_on)
                if now - second >= 1.0:
                    second = now
                    if host.members is not None:
                        self._do(host.members.refresh)
                    self._do(host.peers.look_after)
                    self._do(host.note)
                    self._do(self._log.expire, host.now())
                if now - catch_up >= self._catch_up_s:
                    catch_up = now
                    self._do(self._catch_up.step)
                alone = not host.peers.connected()
                if now - rejoin >= (min(self._rejoin_s, ALONE_S) if alone else self._rejoin_s):
                    rejoin = now
                    self._do(self.save_peers)
                    # A call without an answer takes seconds; other upkeep goes on meanwhile.
                    if looking is None or looking.done():
                        looking = loop.create_task(self._look_around())
        finally:
            if looking is not None:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)

    def _do(self, action: Callable[..., None], *arguments: int) -> None:
        """Run one action, and log its failure: a full disk, or a bug, must not stop the rest."""
        try:
            action(*arguments)
        except Exception:
            self._complaints.exception("upkeep failed", of=action.__qualname__)

    async def _look_around(self) -> None:
        try:
            await self._bootstrap.look_around()
        except Exception:
            self._complaints.exception("upkeep failed", of="look_around")

    def save_peers(self) -> None:
        cards = self._host.book.cards()
        self._log.remember_peers([(card.node, msgspec.msgpack.encode(card)) for card in cards])

    def recall_peers(self) -> None:
        """Learn the cards that the node knew when it last ran."""
        for _, data in self._log.peers():
            with contextlib.suppress(ProtocolError, msgspec.DecodeError):
                self._host.book.learn(msgspec.msgpack.decode(data, type=Card))
