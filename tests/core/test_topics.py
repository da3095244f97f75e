from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.topics import NOTHING, TopicTable

NAMES = [f"t{i}" for i in range(12)]
name_sets = st.sets(st.sampled_from(NAMES))


def test_topics_are_numbered_as_they_are_first_seen():
    table = TopicTable(["b", "a", "b"])
    assert [table.number(t) for t in ("a", "c", "b", "c")] == [1, 2, 0, 2]
    assert [table.name(i) for i in range(len(table))] == ["b", "a", "c"]
    assert table.bit("c") == 0b100


def test_strangers_stop_at_the_limit_but_topics_of_our_own_have_room():
    table = TopicTable(["a"], limit=2)
    assert [table.learn(topic) for topic in ("a", "b", "c", "b")] == [True, True, False, True]
    assert (len(table), "c" in table) == (2, False)
    assert (table.number("c"), table.number("d")) == (2, 3)


def test_a_topic_that_no_node_wants_has_no_bit():
    table = TopicTable(["a", "b"])
    assert (table.mask("b"), table.mask("c"), len(table)) == (2, 0, 2)


@settings(deadline=None)
@given(st.sets(st.integers(0, 999), min_size=60, max_size=200))
def test_many_topics_are_handled_as_few_are(numbers):
    table = TopicTable([f"t{i}" for i in range(1000)])
    names = [f"t{i}" for i in numbers]
    interest = table.interest(reversed(names))
    assert interest.mask == sum(1 << number for number in numbers)
    assert interest.topics == tuple(f"t{i}" for i in sorted(numbers))
    assert table.of_mask(interest.mask).topics == interest.topics


def test_an_interest_is_iterated_in_the_order_of_numbers_and_without_repeats():
    table = TopicTable(NAMES)
    interest = table.interest(["t3", "t1", "t3"])
    assert list(interest) == ["t1", "t3"]
    assert repr(interest) == "Interest(t1, t3)"


@settings(deadline=None)
@given(name_sets, name_sets)
def test_an_interest_behaves_like_a_set(one, other):
    table = TopicTable(NAMES)
    a, b = table.interest(sorted(one)), table.interest(sorted(other, reverse=True))
    assert (a == b) == (one == other)
    assert (len(a), bool(a)) == (len(one), bool(one))
    assert {t for t in NAMES if t in a} == one
    assert (a.mask & b.mask).bit_count() == len(one & other)
    assert table.of_mask(a.mask | b.mask).topics == table.interest(one | other).topics
    if one == other:
        assert hash(a) == hash(b)


def test_no_topics_are_nothing():
    assert TopicTable().interest([]) == NOTHING
    assert NOTHING != 0
    assert not NOTHING
