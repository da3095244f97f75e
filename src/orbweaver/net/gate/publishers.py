"""The list of publishers: which nodes may publish on which topics."""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic, check_topic, publisher_in
from orbweaver.net.keys.identity import PUBLIC_KEY_BYTES, node_of

Keys = dict[NodeId, bytes | None]
"""Nodes that may publish, and their keys; None where only the id is given, as in a feed's name."""


class Publishers:
    """The setting `publishers`, read once. The longest entry that matches a topic counts."""

    def __init__(self, entries: Mapping[str, list[str]]) -> None:
        """`entries` holds the public keys of nodes by topic, or by `topic/#` for all topics below
        one. Ids would not do: they have 63 bits, so a key with a given id can be searched for."""
        self._entries = {_check_pattern(p): _read_keys(p, keys) for p, keys in entries.items()}

    def may_publish(self, node: NodeId, key: bytes | None, topic: Topic) -> bool:
        """Return whether a node may publish on a topic. Without an entry, every node may. On a
        feed whose name carries its publisher it is that node, if the entry has it, and those that
        an entry for this very feed lists. The key is None where events are not signed."""
        if not self._entries and "@" not in topic:
            return True
        allowed = self._on(topic)
        return allowed is None or (
            node in allowed and (key is None or allowed[node] in (None, key))
        )

    def first_of(self, topic: Topic) -> NodeId | None:
        """Return the first node of the entry that matches: the topic's master publisher."""
        return next(iter(self._on(topic) or ()), None)

    def _on(self, topic: Topic) -> Keys | None:
        listed, named = self._listed_for(topic), publisher_in(topic)
        if named is None:
            return listed
        if topic in self._entries:
            return {named: None} | self._entries[topic]
        if listed is None:
            return {named: None}
        return {named: listed[named]} if named in listed else {}

    def _listed_for(self, topic: Topic) -> Keys | None:
        listed = self._entries.get(topic)
        levels = topic.split("/")
        for depth in range(len(levels), -1, -1):
            if listed is not None:
                break
            listed = self._entries.get("/".join([*levels[:depth], "#"]))
        return listed


def _check_pattern(pattern: str) -> str:
    check_topic(pattern)
    if "#" in pattern and (
        pattern.count("#") > 1 or (pattern != "#" and not pattern.endswith("/#"))
    ):
        raise UsageError(f"publishers: '{pattern}' should be a topic, or end in '/#'")
    return pattern


def _read_keys(pattern: str, texts: list[str]) -> Keys:
    keys: Keys = {}
    for text in texts:
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(key) != PUBLIC_KEY_BYTES:
            raise UsageError(
                f"publishers of '{pattern}': '{text}' should be a public key of 64 hexadecimal "
                "digits, as `orbweaver keys show` prints it; an id is too short to be safe"
            )
        keys[node_of(key)] = key
    return keys
