"""The identifier space is a circle of 2^64 places, shared by nodes and topics.

Places come from a hash that every node knows, so no node has to be told where a node or a
topic is, and places are spread evenly. A host gives each node the places of all nodes. In a
network, places are hashes of the ids. The simulator, whose ids are the same in every run,
hashes the run's seed with the ids, so that runs with different seeds have different rings.
"""

from __future__ import annotations

from typing import TypeVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import derive

SPACE = 1 << 64
"""How many places the circle has."""
HALF = SPACE >> 1
"""The largest distance between two places, in places."""

Named = TypeVar("Named", bound=int | str)


class Places(dict[Named, int]):
    """Map names to places; a place is computed at the first look-up.

    It is a dict because look-ups of places are the most frequent ones there are.
    """

    SIZE_MAX = 1 << 17
    """How many places are kept at most. Other nodes may name any number of nodes and topics; a
    dict of `SIZE_MAX` places is emptied before it takes another one."""

    def __init__(self, *labels: int | str) -> None:
        """The labels are hashed together with each name: the kind of name ("node" or "topic"),
        and the seed if there is one."""
        super().__init__()
        self._labels = labels

    def __missing__(self, name: Named) -> int:
        if len(self) >= self.SIZE_MAX:
            self.clear()
        place = self[name] = derive(*self._labels, name)
        return place


PLACE_OF_NODE: Places[NodeId] = Places("node")
"""The places of the nodes of a network, by node id."""
PLACE_OF_TOPIC: Places[Topic] = Places("topic")
"""The places of topics, by name."""


def places_of_run(seed: int) -> Places[NodeId]:
    """Return the places of the nodes of a simulated run."""
    return Places("node", seed)


def distance(a: int, b: int) -> int:
    """Return the distance between two places, the shorter way round the circle."""
    ahead = (b - a) % SPACE
    return ahead if ahead < HALF else SPACE - ahead
