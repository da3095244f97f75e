"""OPT: neighbours that cover each topic several times, most of what is lacking first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.core.params import build
from orbweaver.gossip.messages import Beside, ExchangeReply
from orbweaver.overlays.vitis.messages import Profile
from orbweaver.overlays.vitis.opt import CoverageChoice, Opt, OptParams
from tests.gossip.fake_outbox import own_interest
from tests.overlays.vitis.vitis_node import TABLE, entries, entry, node, profile


def choice(topics: str, **settings: Any) -> CoverageChoice:
    return CoverageChoice(build(OptParams, settings, "test"), own_interest(TABLE, topics))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"coverage": 1}, [3]),
        ({"coverage": 2}, [3, 1, 2]),
        ({"coverage": 2, "table_size": 2}, [3, 1]),
        ({"coverage": 9, "table_size": 0}, [3, 1, 2]),
    ],
)
def test_the_node_that_covers_most_comes_first(
    settings: dict[str, int], expected: list[int]
) -> None:
    candidates = entries(n1="AB", n2="C", n3="ABC", n4="GH")
    assert list(choice("ABC", **settings).choose(candidates, ())) == expected


@given(
    st.lists(st.sets(st.sampled_from("ABCDEFGH")), max_size=12),
    st.sets(st.integers(1, 12)),
    st.integers(0, 6),
)
def test_nodes_are_chosen_as_if_all_were_weighed_each_time(
    wanted: list[set[str]], current: set[int], size: int
) -> None:
    coverage = 2
    candidates = entries(**{f"n{i}": "".join(sorted(t)) for i, t in enumerate(wanted, 1)})
    left = dict(candidates)
    plain: list[NodeId] = []
    count = dict.fromkeys("ABCDEF", 0)

    def gain(n: NodeId) -> int:
        return sum(count.get(topic, coverage) < coverage for topic in left[n].interest)

    while left and len(plain) < (size or len(candidates)):
        best = max(left, key=lambda n: (gain(n), n in current))
        if not gain(best):
            break
        for topic in left.pop(best).interest:
            count[topic] = count.get(topic, coverage) + 1
        plain.append(best)
    made = choice("ABCDEF", coverage=coverage, table_size=size)
    assert list(made.choose(candidates, [NodeId(n) for n in current])) == plain


@pytest.mark.parametrize(("own", "improving"), [("AB", [1, 2]), ("C", [2]), ("H", []), ("", [])])
def test_a_node_that_shares_a_topic_may_improve_the_table(own: str, improving: list[int]) -> None:
    told = list(entries(n1="AB", n2="BC", n3="").values())
    assert [e.node for e in choice(own).improving(told)] == improving


def test_only_nodes_that_share_a_topic_are_chosen() -> None:
    opt, outbox = node(Opt, "AB", coverage=1)
    told = (entry(1, "GH"), entry(2, "A"), entry(3, "BC"))
    opt.receive(NodeId(99), ExchangeReply(told, (0, 0, 0)))
    assert list(opt.links()) == [2, 3]
    assert [(to, type(m)) for to, m in outbox.take()] == [(2, Profile), (3, Profile)]
    assert [list(opt.towards(topic)) for topic in "ABC"] == [[2], [3], [3]]


def test_a_caller_that_covers_more_is_chosen_in_the_next_cycle() -> None:
    opt, outbox = node(Opt, "AB", coverage=1)
    opt.receive(NodeId(99), ExchangeReply((entry(1, "A"),), (0,)))
    opt.receive(NodeId(2), profile(2, True, "H"))
    assert opt.table.settled, "it shares nothing"
    opt.receive(NodeId(3), profile(3, True, "AB"))
    assert opt.status() == {"table": 1, "in_links": 2}
    outbox.take()
    opt.wake(Opt.TIMER)
    assert [peer.node for peer in opt.table.peers.values() if peer.chosen] == [3]
    assert not any(isinstance(m, Beside) for _, m in outbox.take()), "there is no ring"
