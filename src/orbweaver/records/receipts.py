"""What nodes received, matched to the publication of each event."""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Event
from orbweaver.records.facts import Copied, Copy, Delivered, Relayed
from orbweaver.records.recorder import Recorder


class Receipts:
    """Give a recorder the copies and deliveries of events whose publication is known."""

    def __init__(
        self, recorder: Recorder, publications: Mapping[str, tuple[int, Event]], start_ms: int = 0
    ) -> None:
        """`publications` has the time of each event, by its name, and the event. Times of the
        recorder count from `start_ms`."""
        self._recorder = recorder
        self._publications = publications
        self._start_ms = start_ms
        self.pulled = 0
        """How many deliveries came from a neighbour's window."""
        self.backwards = 0
        """How many deliveries precede the publication, by clocks that do not agree."""
        self.unknown: dict[str, None] = {}
        """Events without a known publication."""
        for at, event in publications.values():
            recorder.published(at - start_ms, event)

    def take(self, now: int, node: NodeId, fact: Delivered | Relayed | Copied | Copy) -> None:
        recorder = self._recorder
        if isinstance(fact, Copied):
            for name, copies in fact.copies.items():
                if (event := self._event(name)) is not None:
                    for _ in range(copies):
                        recorder.carried(now, node, Carrier(event, 1, 0), True)
            return
        event = self._event(fact.event)
        if event is None:
            return
        if isinstance(fact, Copy):
            copy = Carrier(event, fact.hops, 0)
            recorder.copy(now, node, fact.peer, copy, fact.kind, fact.why)
            return
        if isinstance(fact, Relayed):
            recorder.carried(now, node, Carrier(event, fact.hops, 0), False)
            return
        published = self._publications[fact.event][0] - self._start_ms
        if fact.pulled:  # the copy came by itself, and not in a message of the overlay
            self.pulled += 1
            recorder.carried(now, node, Carrier(event, fact.hops, 0), True)
        self.backwards += now < published
        recorder.delivered(max(now, published), node, event, fact.hops)

    def _event(self, name: str) -> Event | None:
        found = self._publications.get(name)
        if found is None:
            self.unknown[name] = None
            return None
        return found[1]
