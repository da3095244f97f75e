"""Bloom filters, against the false positives that Rappel states (R2)."""

from __future__ import annotations

import pytest

from orbweaver.gossip.bloom import (
    BITS,
    BYTES,
    HASHES,
    bits_of_topic,
    from_bytes,
    make_filter,
    may_hold,
    to_bytes,
)


@pytest.mark.parametrize(("feeds", "stated"), [(50, 0.0025), (100, 0.016), (200, 0.087)])
def test_false_positives_are_the_papers(feeds: int, stated: float) -> None:
    wrong = asked = 0
    for trial in range(40):
        bloom = make_filter(f"http://feed.example/{trial}/{n}" for n in range(feeds))
        wrong += sum(may_hold(bloom, f"http://other.example/{trial}/{n}") for n in range(2000))
        asked += 2000
    assert wrong / asked == pytest.approx(stated, rel=0.2)


def test_what_is_in_the_set_is_never_denied() -> None:
    topics = [f"märkte/{n}" for n in range(300)]
    bloom = make_filter(topics)
    assert all(may_hold(bloom, topic) for topic in topics)
    assert bloom < 1 << BITS
    assert not may_hold(0, topics[0])


def test_a_topic_sets_at_most_three_bits() -> None:
    counts = [bits_of_topic(f"topic {n}").bit_count() for n in range(1000)]
    assert max(counts) == HASHES
    assert sum(counts) > 2.99 * 1000


def test_the_wire_form_keeps_every_bit() -> None:
    for bloom in (0, 1, (1 << BITS) - 1, make_filter(["news", "games"])):
        assert len(to_bytes(bloom)) == BYTES
        assert from_bytes(to_bytes(bloom)) == bloom


def test_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="128 bytes; this one has 3"):
        from_bytes(b"abc")
