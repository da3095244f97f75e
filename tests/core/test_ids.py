import pytest

from orbweaver.core.errors import UsageError, nearest
from orbweaver.core.ids import TOPIC_BYTES_MAX, check_topic


@pytest.mark.parametrize(
    "topic",
    ["a", "news/sport", "two words", "größe/日本", "a" * TOPIC_BYTES_MAX, "é" * 127, "+/#", "."],
)
def test_a_legal_topic_is_returned_as_it_is(topic):
    assert check_topic(topic) == topic


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("", "non-empty"),
        (None, "non-empty"),
        (b"news", "non-empty"),
        ("a" * (TOPIC_BYTES_MAX + 1), "256 bytes"),
        ("é" * 128, "256 bytes"),
        ("a\nb", "printed"),
        ("a\x00", "printed"),
        ("a\u200bb", "printed"),
        ("\ud800", "UTF-8"),
        ("/news", "empty level"),
        ("news/", "empty level"),
        ("news//sport", "empty level"),
        ("/", "empty level"),
    ],
)
def test_an_illegal_topic_is_refused_with_the_reason(topic, why):
    with pytest.raises(UsageError, match=why):
        check_topic(topic)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("spidrcast", "did you mean 'spidercast'?"),
        ("zzz", "known: random, spidercast"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_or_with_all(name, hint):
    assert nearest(name, ["spidercast", "random"]) == hint
