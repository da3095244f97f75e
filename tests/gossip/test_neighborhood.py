"""Which neighbours share which topics: kept through every change at either end."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.neighborhood import Neighborhood

TABLE = TopicTable("abcd")
TOPICS = st.sets(st.sampled_from("abcd")).map(sorted)


def about(node: int, topics: Iterable[Topic]) -> Descriptor:
    return Descriptor(NodeId(node), TABLE.interest(topics), 0)


class Plain:
    def __init__(self, node: int, topics: Iterable[Topic]) -> None:
        self.node = NodeId(node)
        self.about = about(node, topics)
        self.shared: tuple[Topic, ...] = ()


def made(own: str, **neighbors: str) -> Neighborhood[Plain]:
    """Return the neighbourhood of a node that wants `own`: `n2="ab"` is neighbour 2."""
    hood: Neighborhood[Plain] = Neighborhood(TABLE)
    hood.follow(own)
    for name, topics in neighbors.items():
        hood.add(Plain(int(name[1:]), topics))
    return hood


def sharing(hood: Neighborhood[Plain]) -> dict[Topic, list[NodeId]]:
    return {topic: [peer.node for peer in peers] for topic, peers in hood.sharing.items()}


def shared(hood: Neighborhood[Plain]) -> dict[NodeId, str]:
    return {node: "".join(peer.shared) for node, peer in hood.peers.items()}


def test_neighbours_are_found_by_the_topics_that_they_share() -> None:
    hood = made("ab", n2="abc", n3="b", n4="d")
    assert sharing(hood) == {"a": [2], "b": [2, 3]}
    assert shared(hood) == {2: "ab", 3: "b", 4: ""}


@pytest.mark.parametrize(("topic", "nodes"), [("a", [2]), ("b", [2, 3]), ("c", [2]), ("d", [4])])
def test_those_interested_are_found_for_any_topic(topic: str, nodes: list[int]) -> None:
    assert made("ab", n2="abc", n3="b", n4="d").interested(topic) == nodes


def test_a_topic_that_no_node_has_named_interests_none_and_is_not_learned() -> None:
    assert made("ab", n2="ab").interested("unheard of") == []
    assert "unheard of" not in TABLE


def test_a_neighbour_that_has_gone_shares_nothing() -> None:
    hood = made("ab", n2="abc", n3="b")
    hood.remove(hood.peers[NodeId(2)])
    assert list(hood.peers) == [3]
    assert sharing(hood) == {"a": [], "b": [3]}
    assert hood.interested("c") == []


def test_an_interest_may_change_at_either_end() -> None:
    hood = made("ab", n2="abc", n3="b")
    hood.update(hood.peers[NodeId(2)], about(2, "cd"))
    assert (sharing(hood), shared(hood)) == ({"a": [], "b": [3]}, {2: "", 3: "b"})
    hood.follow("bd")
    assert (sharing(hood), shared(hood)) == ({"b": [3], "d": [2]}, {2: "d", 3: "b"})


STEP = st.one_of(
    st.tuples(st.just("set"), st.integers(1, 4), TOPICS),
    st.tuples(st.just("remove"), st.integers(1, 4), TOPICS),
    st.tuples(st.just("follow"), st.just(0), TOPICS),
)


@given(st.lists(STEP, max_size=20))
def test_after_any_changes_all_is_as_if_it_had_been_so_from_the_start(
    steps: list[tuple[str, int, list[Topic]]],
) -> None:
    hood = made("")
    own: list[Topic] = []
    known: dict[NodeId, list[Topic]] = {}
    for action, number, topics in steps:
        node = NodeId(number)
        if action == "follow":
            own = topics
            hood.follow(topics)
        elif action == "set":
            if node in known:
                hood.update(hood.peers[node], about(node, topics))
            else:
                hood.add(Plain(node, topics))
            known[node] = topics
        elif known.pop(node, None) is not None:
            hood.remove(hood.peers[node])
    assert {topic: set(nodes) for topic, nodes in sharing(hood).items()} == {
        topic: {node for node, topics in known.items() if topic in topics} for topic in own
    }
    assert {node: set(topics) for node, topics in shared(hood).items()} == {
        node: set(topics) & set(own) for node, topics in known.items()
    }
    for topic in "abcd":
        assert set(hood.interested(topic)) == {n for n, topics in known.items() if topic in topics}
