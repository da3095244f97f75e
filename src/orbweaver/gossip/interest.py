"""A node's interest is its subscriptions, and the topics that it publishes on.

SpiderCast calls the union of both *self_interest*. A node that publishes on a topic joins the
topic's overlay like a subscriber, but its application is given no events.
"""

from __future__ import annotations

from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.descriptor import Descriptor


class OwnInterest:
    def __init__(self, me: NodeId, topics: TopicTable) -> None:
        self._me = me
        self._table = topics
        self.subscribed: dict[Topic, int] = {}
        """Topic -> the time of the subscription."""
        self._published: dict[Topic, None] = {}
        self.topics = NOTHING
        """The union, as of the last `renew`."""
        self.about = Descriptor(me, NOTHING, 0)
        """What other nodes are told of this one. Its version grows with each `renew`, and with
        the time over restarts."""

    def start(self, now: int) -> None:
        """Take up all topics that were subscribed to before the start."""
        self._renew(now)

    def subscribe(self, topic: Topic, now: int) -> None:
        self.subscribed.setdefault(check_topic(topic), now)

    def unsubscribe(self, topic: Topic) -> None:
        self.subscribed.pop(topic, None)
        self._published.pop(topic, None)

    def publish(self, topic: Topic) -> bool:
        """Note that the node publishes on a topic. Return whether the topic is new to it."""
        if topic in self._published:
            return False
        self._published[check_topic(topic)] = None
        return topic not in self.subscribed

    def renew(self) -> None:
        """Put the topics together again after a change."""
        self._renew(self.about.version + 1)

    def _renew(self, version: int) -> None:
        self.topics = self._table.interest([*self.subscribed, *self._published])
        self.about = Descriptor(self._me, self.topics, version)
