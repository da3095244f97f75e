"""Who and what: node identifiers and topic names."""

from __future__ import annotations

from typing import Annotated, NewType

from msgspec import Meta

from orbweaver.core.errors import UsageError

NodeId = NewType("NodeId", int)
"""A node. The simulator numbers its nodes from 0; a network host derives the number
from the node's key. Messages that mention a node use this type and no other, so that a
host can find the peers a message names."""

TOPIC_BYTES_MAX = 255

WILDCARDS = ("#", "+", "*")
"""Levels that select several topics in other systems. Orbweaver has no such subscriptions."""

Topic = Annotated[str, Meta(max_length=TOPIC_BYTES_MAX)]
"""A UTF-8 name with ``/`` between levels, as in ``news/sport``. A message with a longer one
is not read at all."""


def check_topic(topic: str) -> Topic:
    """Return `topic` if it is a legal name, else raise a `UsageError` that says why not."""
    if not isinstance(topic, str) or not topic:
        raise UsageError("a topic is a non-empty string, such as 'news/sport'")
    try:
        size = len(topic.encode("utf-8"))
    except UnicodeEncodeError:
        raise UsageError(f"topic {topic!r} is not valid UTF-8") from None
    if size > TOPIC_BYTES_MAX:
        raise UsageError(f"topic {topic[:20]!r}... has {size} bytes, more than {TOPIC_BYTES_MAX}")
    if not topic.isprintable():
        raise UsageError(f"topic {topic!r} has characters that cannot be printed")
    if "" in topic.split("/"):
        raise UsageError(f"topic {topic!r} has an empty level: no leading, trailing or double '/'")
    return topic


def check_single_topic(topic: str) -> Topic:
    """Return `topic` if an application may subscribe to it or publish on it.

    The rule of `check_topic`, and no level is a wildcard: a subscriber to `news/#` would wait
    for ever. Names in traces and in messages of peers are free to have such levels.
    """
    check_topic(topic)
    for level in topic.split("/"):
        if level in WILDCARDS:
            raise UsageError(
                f"topic {topic!r} has the wildcard '{level}', and there are no wildcards: "
                "name each topic in full"
            )
    return topic
