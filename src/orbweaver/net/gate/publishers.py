"""The list of publishers: which nodes may publish on which topics."""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId, Topic, check_topic, publisher_in


class Publishers:
    """The setting `publishers`, read once. The longest entry that matches a topic counts."""

    def __init__(self, entries: Mapping[str, list[str]]) -> None:
        """`entries` holds the ids of nodes by topic, or by `topic/#` for all topics below one."""
        self._entries = {_check_pattern(p): _read_ids(p, ids) for p, ids in entries.items()}

    def may_publish(self, node: NodeId, topic: Topic) -> bool:
        """Return whether a node may publish on a topic. Without an entry, every node may. On a
        feed whose name carries its publisher it is that node, if the entry has it, and those that
        an entry for this very feed lists."""
        if not self._entries and "@" not in topic:
            return True
        allowed = self._on(topic)
        return allowed is None or node in allowed

    def first_of(self, topic: Topic) -> NodeId | None:
        """Return the first node of the entry that matches: the topic's master publisher."""
        return next(iter(self._on(topic) or ()), None)

    def _on(self, topic: Topic) -> dict[NodeId, None] | None:
        listed, named = self._listed_for(topic), publisher_in(topic)
        if named is None:
            return listed
        if topic in self._entries:
            return {named: None} | self._entries[topic]
        return {named: None} if listed is None or named in listed else {}

    def _listed_for(self, topic: Topic) -> dict[NodeId, None] | None:
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


def _read_ids(pattern: str, ids: list[str]) -> dict[NodeId, None]:
    try:
        return dict.fromkeys(NodeId(int(text, 16)) for text in ids)
    except ValueError:
        raise UsageError(
            f"publishers of '{pattern}': {', '.join(ids)} should be ids as `orbweaver keys "
            "show` prints them"
        ) from None
