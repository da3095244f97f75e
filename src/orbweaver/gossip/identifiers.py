"""The identifier space: a circle of 2^64 places, shared by nodes and topics.

Places come from a hash that everybody knows, so nobody has to be told where a node or a
topic is, and they are spread evenly.
"""

from __future__ import annotations

from typing import TypeVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import derive

SPACE = 1 << 64
HALF = SPACE >> 1

Named = TypeVar("Named", bound=int | str)


class Places(dict[Named, int]):
    """Name -> place, reckoned when it is first asked for. A dict, since nothing is asked
    for more often."""

    SIZE_MAX = 1 << 17
    """Strangers may name any number of nodes and topics; beyond this, begin anew."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, name: Named) -> int:
        if len(self) >= self.SIZE_MAX:
            self.clear()
        place = self[name] = derive(self._kind, name)
        return place


PLACE_OF_NODE: Places[NodeId] = Places("node")
PLACE_OF_TOPIC: Places[Topic] = Places("topic")


def distance(a: int, b: int) -> int:
    """The shorter way round."""
    ahead = (b - a) % SPACE
    return ahead if ahead < HALF else SPACE - ahead
