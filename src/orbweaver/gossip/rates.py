"""Rates of publication, by which the similarity of interests is weighted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import Topic
from orbweaver.core.topics import TopicTable

DOUBLED_BY = 10
"""Number of events that make a topic count twice as much as one of which nothing is known."""

HALVED_AFTER = 300
"""Number of cycles in which what was seen loses half its weight."""
FORGOTTEN = 1 + 1 / DOUBLED_BY
"""Rate at which a topic is forgotten: that of a single event."""
TOPICS_MAX = 1 << 14
"""Most topics with a rate, since a relay sees topics of any node. Beyond, all rates fade."""


class GivenRates(dict[Topic, float]):
    """Rates 1 / rank^A by the number of the topic, with which a simulation publishes. All nodes of
    a process share one table."""

    def __init__(self, topics: TopicTable, exponent: float) -> None:
        super().__init__()
        self._topics = topics
        self._exponent = exponent

    def __missing__(self, topic: Topic) -> float:
        rank = 1.0 + self._topics.number(topic)
        rate: float = rank**-self._exponent
        self[topic] = rate
        return rate


class SeenRates(dict[Topic, float]):
    """Rates that grow with the events seen of a topic and fade, slowly: if each event were a
    reason to look for other friends, no table would ever settle."""

    def __init__(self) -> None:
        super().__init__()
        self._cycles = 0

    def __missing__(self, topic: Topic) -> float:
        return 1.0

    def saw(self, topic: Topic) -> None:
        self[topic] = self[topic] + 1 / DOUBLED_BY
        if len(self) > TOPICS_MAX:
            self._fade()

    def step(self) -> None:
        """Count one cycle."""
        self._cycles += 1
        if self._cycles % HALVED_AFTER == 0:
            self._fade()

    def _fade(self) -> None:
        faded = {topic: (1 + rate) / 2 for topic, rate in self.items()}
        self.clear()
        self.update((topic, rate) for topic, rate in faded.items() if rate > FORGOTTEN)


@lru_cache(maxsize=8)
def _given(topics: TopicTable, exponent: float) -> GivenRates:
    return GivenRates(topics, exponent)


def make_rates(text: str, topics: TopicTable) -> Mapping[Topic, float] | None:
    """Return the rates that a parameter names; None for uniform rates, which are faster."""
    name, _, argument = text.partition(":")
    if text == "uniform":
        return None
    if text == "estimated":
        return SeenRates()
    try:
        if name == "zipf" and 0 <= float(argument) <= 100:
            return _given(topics, float(argument))
    except ValueError:
        pass
    raise UsageError(f"rates '{text}' should be uniform, estimated or zipf:A")
