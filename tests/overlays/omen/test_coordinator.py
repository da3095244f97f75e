"""Coordinators: what counts as connected, and which nodes are asked in which order."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.overlays.omen import OMenParams
from orbweaver.overlays.omen.churn import ChurnEvent, Shadow
from orbweaver.overlays.omen.components import (
    joined_by_hop,
    joined_by_probe,
    joined_in_truth,
    joined_inside,
)
from orbweaver.overlays.omen.coordinator import Coordinator
from orbweaver.overlays.omen.messages import ProbeLabel, ShadowReport, Tie
from orbweaver.overlays.omen.survey import ShadowSurvey, lost_topics
from orbweaver.overlays.omen.views import LocalView, LocalViews
from tests.gossip.fake_outbox import FakeDirectory, FakeOutbox, make_context

TABLE = TopicTable("ab")


REPORTS = [
    (
        node,
        ShadowReport(
            1, 3, tuple(Tie(peer, TABLE.interest(topics)) for peer, topics in ties), labels, ()
        ),
    )
    for node, ties, labels in [
        (2, [(9, "ab"), (3, "a")], (ProbeLabel("a", 2), ProbeLabel("b", 2))),
        (3, [(2, "a"), (8, "a")], (ProbeLabel("a", 2),)),
        (4, [(9, "b"), (8, "a")], (ProbeLabel("a", 4), ProbeLabel("b", 2))),
    ]
]
"""Of a shadow set 2, 3, 4 that wants ab, a, ab: what each one reports. 8 and 9 are others."""
INTERESTS = {2: 0b11, 3: 0b01, 4: 0b11}


def test_what_counts_as_connected() -> None:
    assert joined_by_probe(REPORTS, TABLE) == [(2, 3, 0b01), (2, 4, 0b10)]
    inside = [(2, 3, 0b01), (3, 2, 0b01)]
    assert joined_inside(REPORTS, INTERESTS) == inside
    assert joined_by_hop(REPORTS, INTERESTS, ()) == [*inside, (2, 4, 0b10), (3, 4, 0b01)]
    assert joined_by_hop(REPORTS, INTERESTS, {8}) == [*inside, (2, 4, 0b10)]


def test_the_oracle_knows_what_is_connected_over_any_number_of_links() -> None:
    """2-7-8-4 share b, but 7 does not want a. 3 is alone."""
    directory = FakeDirectory(TABLE, {2: "ab", 3: "a", 4: "ab", 7: "b", 8: "ab"})
    directory.links = {2: (7,), 7: (2, 8), 8: (7, 4), 4: (8,)}
    assert joined_in_truth(INTERESTS, 0b11, directory) == [(2, 4, 0b10)]
    assert joined_in_truth(INTERESTS, 0b01, directory) == []
    del directory.interests[8]
    assert joined_in_truth(INTERESTS, 0b11, directory) == []


def report(
    number: int, ties: str = "", labels: str = "", fresh: str = "", degree: int = 3
) -> ShadowReport:
    """A report in which words such as 7ab are a node and topics."""

    def told(words: str) -> tuple[ProbeLabel, ...]:
        found = ((NodeId(int(word[0])), word[1:]) for word in words.split())
        return tuple(ProbeLabel(topic, node) for node, topics in found for topic in topics)

    tied = tuple(Tie(NodeId(int(w[0])), TABLE.interest(w[1:])) for w in ties.split())
    return ShadowReport(number, degree, tied, told(labels), told(fresh))


def coordinator(how: str = "probe") -> tuple[Coordinator, FakeOutbox]:
    directory = FakeDirectory(TABLE, dict.fromkeys([3, 4, 6], "a"))
    directory.links = {3: (4,), 4: (3,)}
    outbox = FakeOutbox()
    context = make_context(1, outbox, TABLE, directory)
    return Coordinator(context, OMenParams(components=how), LocalViews(1, 1)), outbox


def view_of(topics: int, neighbors: dict[int, int], backups: dict[int, int]) -> LocalView:
    view = LocalView(1)
    view.topics, view.neighbors, view.backups = topics, neighbors, backups
    return view


@pytest.mark.parametrize("how", ["probe", "inside", "hop", "oracle"])
def test_a_node_that_reported_and_left_connects_nothing(how: str) -> None:
    """5 has the least label and is the common neighbour, but it left after it had reported.
    3 and 4 are still joined by their own link, and by the label they both saw."""
    made, _ = coordinator(how)
    view = view_of(1, dict.fromkeys([3, 4, 5, 6], 1), {})
    made.begin(ChurnEvent(9, 0, "leave"), {9: view}, ())
    enlisted = dict(made.step(()))
    assert [*enlisted] == [3, 4, 5, 6]
    ties = {3: "4a 5a", 4: "3a 5a", 5: "3a 4a 6a", 6: "5a"}
    for node, message in enlisted.items():
        assert not message.starts
        assert bool(message.ties) == (how != "oracle")
        assert message.left == (9 if how == "probe" else None)
        made.on_report(node, report(message.number, ties[node], "" if node == 6 else "3a"))
    edges = {tuple(sorted((to, peer))) for to, mend in made.step((5,)) for peer in mend.peers}
    assert len(edges) == 1, "6 alone has to be joined to the others"
    assert 6 in min(edges)


def test_a_join_enlists_only_nodes_that_want_what_is_lacking() -> None:
    views = LocalViews(1, 1)
    views.keep([9], ())
    views.of[9].topics = 0b11
    views.of[9].backups = {3: 0b01, 4: 0b11, 5: 0b10}
    for lacks, gone, shadow in [(0b10, (), [9, 4, 5]), (0b10, (4, 5), []), (0b100, (), [])]:
        made = Coordinator(make_context(1, FakeOutbox(), TABLE), OMenParams(), views)
        made.begin_join(ChurnEvent(9, 0, "join"), lacks, gone)
        assert [to for to, _ in made.step(gone)] == shadow
        assert bool(made.finished()) == (not shadow), "done, if nobody can help"


def test_nodes_that_join_at_once_do_not_vouch_for_each_other() -> None:
    """9 joins in a. 5 does too: it has no neighbour there but 9. 3 and 4 are there already."""
    views = LocalViews(1, 1)
    views.keep([9], ())
    views.of[9].topics = 0b01
    views.of[9].backups = {5: 0b01, 3: 0b01, 4: 0b01}
    made = Coordinator(make_context(1, FakeOutbox(), TABLE), OMenParams(), views)
    made.begin_join(ChurnEvent(9, 0, "join"), 0b01, ())
    ties = {9: "5a", 5: "9a", 3: "8a", 4: "7a"}
    for node, enlist in made.step(()):
        assert enlist.ties
        made.on_report(node, report(enlist.number, ties[node]))
    edges = {tuple(sorted((to, peer))) for to, mend in made.step(()) for peer in mend.peers}
    assert edges in ({(3, 9)}, {(4, 9)}), "5 sees to itself"


def test_a_longer_chain_is_probed_in_all_its_topics() -> None:
    """9 leaves, and 8 next to it, which only falls silent. 3 and 4 are connected by others in both
    topics, of which only 8 had the second one."""
    made, outbox = coordinator()
    views = {
        9: view_of(0b01, {3: 0b11, 8: 0b11}, {4: 0b11}),
        8: view_of(0b11, {3: 0b11, 4: 0b11, 9: 0b01}, {}),
    }
    made.begin(ChurnEvent(9, 0, "leave"), views, ())
    first = dict(made.step(()))
    assert [*first] == [3, 8]
    number = first[3].number
    made.on_report(3, report(number, "6ab", fresh="2ab"))
    outbox.clock.now += OMenParams().repair_ms
    [(node, longer)] = made.step(())
    assert (node, longer.left) == (4, None), "news may have come through 8"
    made.on_report(4, report(number, "7ab", fresh="2ab"))
    [(node, probing)] = made.step(())
    assert (node, probing.starts.mask) == (3, 0b11)
    made.on_report(4, report(number, "7ab", "3ab"))
    assert made.step(()) == [], "the report of 3 is awaited"
    made.on_report(3, report(number, "6ab", "3ab"))
    assert made.step(()) == [], "the probe may not be over"
    assert not made.finished()
    outbox.clock.now += OMenParams().quiet_ms
    assert made.step(()) == [], "nothing is cut"
    assert made.finished()


def test_neighbours_that_a_probe_does_not_reach_start_another_one_but_for_one() -> None:
    """9 held 2, 3, 4 and 5 together in a. 2 is connected to 3, and none of the others to another
    one. 5, with the most links, is spared."""
    made, outbox = coordinator()
    view = view_of(0b01, dict.fromkeys([2, 3, 4, 5], 0b01), {})
    made.begin(ChurnEvent(9, 0, "leave"), {9: view}, ())
    number = 0
    for node, enlist in made.step(()):
        number = enlist.number
        made.on_report(node, report(number, "7a 9a", degree=node))
    assert [(node, one.starts.mask) for node, one in made.step(())] == [(2, 0b01)]
    for node in (2, 3):
        made.on_report(node, report(number, "7a", "2a", degree=node))
    outbox.clock.now += OMenParams().quiet_ms
    assert [(node, one.starts.mask) for node, one in made.step(())] == [(4, 0b01)]
    made.on_report(4, report(number, "7a", "4a", degree=4))
    outbox.clock.now += OMenParams().quiet_ms
    mends = {to: mend.peers for to, mend in made.step(())}
    assert {4, 5} <= {*mends}
    assert sum(map(len, mends.values())) == 4, "two edges join three pieces"


def test_nobody_is_asked_about_a_topic_that_one_neighbour_shares() -> None:
    made, _ = coordinator()
    view = view_of(0b11, {3: 0b01, 4: 0b10}, {5: 0b11})
    made.begin(ChurnEvent(9, 0, "leave"), {9: view}, ())
    assert made.step(()) == []
    assert made.finished()


def test_backups_are_asked_for_what_is_cut() -> None:
    """3 and 4 are neighbours in b, and in a nothing connects them. 4 has no other neighbour."""
    made, _ = coordinator()
    view = view_of(0b11, {3: 0b11, 4: 0b11}, {5: 0b01, 6: 0b10, 7: 0b11})
    made.begin(ChurnEvent(9, 0, "leave"), {9: view}, ())
    number = 0
    for node, enlist in made.step(()):
        number = enlist.number
        ties, degree = ("4b 5a", 5) if node == 3 else ("3b 9a", 2)
        made.on_report(node, report(number, ties, degree=degree))
    asked = dict(made.step(()))
    assert [*asked] == [5, 7]
    assert not any(enlist.starts for enlist in asked.values())
    made.on_report(5, report(number, "3a", degree=1))
    made.on_report(7, report(number, degree=0))
    edges = {tuple(sorted((to, peer))) for to, mend in made.step(()) for peer in mend.peers}
    assert edges == {(4, 5)}, "of 7 it is not known what it is connected to"


def survey(
    neighbors: dict[int, int], reports: dict[int, ShadowReport], **more: int
) -> ShadowSurvey:
    dead = (9, 8) if more.pop("chain", 0) else (9,)
    shadow = Shadow(dead, 0b11, neighbors, {}, (), more.get("unsure", 0))
    return ShadowSurvey(shadow, reports, (), TABLE)


def test_neighbours_that_the_same_root_reaches_are_connected() -> None:
    """In a both have fresh news of 2, in b of different roots: the one may have replaced the
    other, and is not known to have."""
    both = {3: 0b11, 4: 0b11}
    told = {3: report(1, "6ab", fresh="2ab"), 4: report(1, "7ab", fresh="2a 5b")}
    found = survey(both, told)
    assert found.cut() == 0b10
    assert found.starts({}) == {3: 0b10}
    assert survey(both, told, chain=1).cut() == 0b11, "news may have come through 8"


def test_a_piece_with_a_root_is_spared_and_others_start() -> None:
    told = {3: report(1, "6a", fresh="2a", degree=1), 4: report(1, "7a", degree=5)}
    assert survey({3: 0b01, 4: 0b01}, told).starts({}) == {4: 0b01}


def test_a_tie_counts_if_both_ends_name_it() -> None:
    both = {3: 0b01, 4: 0b01}
    assert survey(both, {3: report(1, "4a"), 4: report(1, "3a")}).cut() == 0
    one_sided = survey(both, {3: report(1, "4a"), 4: report(1, "7a")})
    assert one_sided.cut() == 0b01
    assert one_sided.starts({}) == {3: 0b01}


def test_where_a_neighbour_may_be_unknown_all_are_probed() -> None:
    """What 8 had for neighbours is not known: in b there is 3, and there may be others."""
    neighbors = {3: 0b11, 4: 0b01}
    shadow = Shadow((9, 8), 0b11, neighbors, {5: 0b11}, (8,), 0b10)
    assert lost_topics(shadow) == 0b11
    assert lost_topics(Shadow((9,), 0b11, neighbors, {5: 0b11}, ())) == 0b01
    told = {3: report(1, "6ab"), 4: report(1, "3b 7a"), 5: report(1, "6ab")}
    found = ShadowSurvey(shadow, told, (), TABLE)
    assert found.starts({}) == {3: 0b11}
    assert found.cut() == 0b11
    assert found.usable()[5] == 0b10, "as one that may be cut off"
