"""Who pushes to whom: what one node makes of what comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.gossip.plumtree.tree import REMIND, Tree

A, B, C = 1, 2, 3
PEERS = {A, B, C}


def fed_by(feeder):
    tree = Tree()
    tree.take_new(feeder, PEERS)
    return tree


def test_the_first_that_brings_something_new_feeds():
    tree = fed_by(A)
    assert tree.feeder == A
    assert not tree.take_new(B, PEERS)
    assert tree.feeder == A, "another is faster for once"


def test_who_brings_a_copy_is_pruned_once_unless_it_feeds():
    tree = fed_by(A)
    assert tree.take_copy(B, False, False, PEERS)
    assert not tree.take_copy(B, False, False, PEERS)
    assert not tree.take_copy(A, False, False, PEERS)


def test_nobody_is_pruned_while_nobody_feeds():
    assert not Tree().take_copy(B, False, False, PEERS)
    tree = fed_by(A)
    assert not tree.take_copy(B, False, False, PEERS - {A})


def test_but_who_brings_back_our_own_is():
    assert Tree().take_copy(B, False, True, PEERS)


def test_who_is_nearer_feeds_from_now_on():
    tree = fed_by(A)
    assert not tree.take_copy(B, True, False, PEERS)
    assert tree.feeder == B
    assert tree.take_copy(A, False, False, PEERS)


def test_a_feeder_that_is_second_gives_way_to_who_was_first():
    tree = fed_by(A)
    tree.take_new(B, PEERS)
    assert not tree.take_copy(A, False, False, PEERS), "not pruned for that"
    assert tree.feeder == B
    assert tree.take_copy(A, False, False, PEERS)


def test_unless_it_is_nearer_or_the_other_is_gone_or_pruned():
    for nearer, peers, pruned in ((True, PEERS, ()), (False, {A, C}, ()), (False, PEERS, (B,))):
        tree = fed_by(A)
        tree.take_new(B, PEERS)
        tree.pruned.update(dict.fromkeys(pruned, 0))
        tree.take_copy(A, nearer, False, peers)
        assert tree.feeder == A


def test_who_goes_on_after_a_prune_is_told_again_now_and_then():
    tree = fed_by(A)
    told = [tree.take_copy(B, False, False, PEERS) for _ in range(2 * REMIND + 1)]
    assert [at for at, again in enumerate(told) if again] == [0, REMIND, 2 * REMIND]


def test_a_rival_that_is_first_twice_feeds_from_now_on():
    """The feeder may be fed by us by now: it brings neither news nor copies then."""
    tree = fed_by(A)
    tree.take_new(B, PEERS)
    tree.take_new(B, PEERS)
    assert tree.feeder == B


def test_unless_the_feeder_brought_something_between():
    tree = fed_by(A)
    for sender in (B, A, B, A, B):
        tree.take_new(sender, PEERS)
    assert tree.feeder == A


def test_a_neighbour_that_prunes_us_is_not_pruned_in_turn():
    tree = fed_by(A)
    tree.take_prune(B)
    assert B in tree.lazy_push_peers
    assert not tree.pruned
    assert tree.take_copy(B, False, False, PEERS), "but when it brings a copy"


def test_a_graft_is_for_one_direction():
    tree = fed_by(A)
    tree.take_prune(B)
    tree.take_copy(B, False, False, PEERS)
    tree.take_graft(B)
    assert B not in tree.lazy_push_peers
    assert B in tree.pruned, "it has asked for pushes, not promised any"
    tree.take_prune(B)
    tree.graft(B)
    assert B not in tree.pruned
    assert B in tree.lazy_push_peers, "it has not asked"


def test_a_link_that_is_gone_is_forgotten_both_ways():
    tree = fed_by(A)
    tree.take_prune(B)
    tree.take_copy(B, False, False, PEERS)
    assert not tree.lose(B)
    assert B not in tree.lazy_push_peers
    assert B not in tree.pruned
    assert tree.feeder == A


@pytest.mark.parametrize("without", [Tree.lose, Tree.starve])
def test_a_node_without_its_feeder_takes_pushes_from_all(without):
    tree = fed_by(A)
    tree.take_copy(B, False, False, PEERS)
    assert not without(tree, C)
    assert without(tree, A)
    assert tree.feeder is None
    assert not tree.pruned
    assert not without(tree, A), "it is asked for once"


def test_who_was_pruned_is_asked_to_go_on_when_it_alone_brings_something():
    tree = fed_by(A)
    tree.take_copy(B, False, False, PEERS)
    assert tree.take_new(B, {B, C})
    assert tree.feeder == B


STEPS = ["new", "copy", "nearer", "ours", "prune", "graft", "take_graft", "lose", "starve"]
steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from(sorted(PEERS))),
)


@given(steps)
def test_the_feeder_is_never_among_the_pruned(played):
    tree = Tree()
    for what, peer in played:
        if what == "new":
            tree.take_new(peer, PEERS)
        elif what == "prune":
            tree.take_prune(peer)
        elif what == "graft":
            tree.graft(peer)
        elif what == "take_graft":
            tree.take_graft(peer)
        elif what == "lose":
            tree.lose(peer)
        elif what == "starve":
            tree.starve(peer)
        else:
            tree.take_copy(peer, what == "nearer", what == "ours", PEERS)
        assert tree.feeder is None or tree.is_fed(PEERS)
