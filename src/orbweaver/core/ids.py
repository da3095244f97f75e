"""Node identifiers and topic names, and the rules for legal topic names."""

from __future__ import annotations

import re
from typing import Annotated, NewType

from msgspec import Meta

from orbweaver.core.errors import UsageError

NodeId = NewType("NodeId", int)
"""The id of a node. The simulator numbers its nodes from 0; a network host derives the number
from the node's key. Messages that mention a node use this type and no other, so that a
host can find the peers that a message names."""

TOPIC_BYTES_MAX = 255
"""Longest topic name, in bytes of UTF-8."""

WILDCARDS = ("#", "+", "*")
"""Levels that select several topics in other systems. Orbweaver has no wildcard subscriptions."""

Topic = Annotated[str, Meta(max_length=TOPIC_BYTES_MAX)]
"""A topic's name: UTF-8 with ``/`` between levels, as in ``news/sport``. A message that holds a
name of more than `TOPIC_BYTES_MAX` characters is rejected as a whole."""


NAMED_PUBLISHER = re.compile(r"@([0-9a-f]{16})$")
"""The end of a name that carries the publisher of a feed, as in ``news@1f00c0ffee15600d``."""


def publisher_in(topic: Topic) -> NodeId | None:
    """Return the node that the name of a feed says is its publisher, by the id that `orbweaver
    keys show` prints."""
    found = NAMED_PUBLISHER.search(topic) if "@" in topic else None
    return NodeId(int(found[1], 16)) if found else None


def check_topic(topic: str) -> Topic:
    """Return `topic` if it is a legal name, else raise a `UsageError` that says why it is not."""
    if not isinstance(topic, str) or not topic:
        raise UsageError("a topic is a non-empty string, such as 'news/sport'")
    try:
        size = len(topic.encode("utf-8"))
    except UnicodeEncodeError:
        raise UsageError(f"topic {topic!r} is not valid UTF-8") from None
    if size > TOPIC_BYTES_MAX:
        raise UsageError(
            f"topic {topic[:20]!r}... has {size} bytes; at most {TOPIC_BYTES_MAX} are allowed"
        )
    if not topic.isprintable():
        raise UsageError(f"topic {topic!r} has characters that cannot be printed")
    if "" in topic.split("/"):
        raise UsageError(
            f"topic {topic!r} has an empty level: leave out a leading, trailing or double '/'"
        )
    return topic


def check_single_topic(topic: str) -> Topic:
    """Return `topic` if an application may subscribe to it or publish on it.

    The rule of `check_topic` holds, and no level may be a wildcard: a subscriber to `news/#`
    would wait for ever. Names in traces and in messages of peers may have wildcard levels.
    """
    check_topic(topic)
    for level in topic.split("/"):
        if level in WILDCARDS:
            raise UsageError(
                f"topic {topic!r} has the wildcard '{level}', which Orbweaver does not support: "
                "name each topic in full"
            )
    return topic
