from typing import get_origin

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.overlay import Claims
from orbweaver.overlays.catalog import OVERLAYS, find

every_overlay = pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS.keys())


def test_the_catalog_has_the_systems_of_the_paper():
    assert {"spidercast", "similarity", "random", "ring-per-topic"} <= set(OVERLAYS)
    assert all(name == overlay.name for name, overlay in OVERLAYS.items())


@every_overlay
def test_an_overlay_is_found_by_name_and_by_place(overlay):
    assert find(overlay.name) is overlay
    assert find(f"{overlay.__module__}:{overlay.__qualname__}") is overlay


@every_overlay
def test_an_overlay_describes_itself(overlay):
    assert overlay.summary
    assert overlay.paper
    assert isinstance(overlay.claims(overlay.Params()), Claims)


@pytest.mark.parametrize(
    ("name", "connected"),
    [("spidercast", True), ("ring-per-topic", True), ("similarity", False), ("random", False)],
)
def test_all_are_noiseless_and_those_that_connect_topics_deliver_everything(name, connected):
    claims = OVERLAYS[name].claims(OVERLAYS[name].Params())
    assert claims.noiseless
    assert claims.topic_connected == claims.total_delivery == connected


@every_overlay
def test_every_message_has_a_tag_of_its_own(overlay):
    kinds = [get_origin(message) or message for message in overlay.messages]
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)


@every_overlay
def test_an_overlay_handles_what_it_may_send_and_nothing_else(overlay):
    assert set(overlay.ON) == {get_origin(message) or message for message in overlay.messages}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spidrcast", "did you mean 'spidercast'"),
        ("zzz", "known: gossipsub, "),
        ("no.such.module:Thing", "cannot load overlay"),
        ("orbweaver.overlays.spidercast:Spider", "cannot load overlay"),
        (":Thing", "cannot load overlay"),
        (".relative:Thing", "cannot load overlay"),
        ("json:dumps", "is not an Overlay"),
        ("json:JSONDecoder", "is not an Overlay"),
    ],
)
def test_what_is_no_overlay_is_refused_with_the_reason(name, message):
    with pytest.raises(UsageError, match=message):
        find(name)
