from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from orbweaver.core.errors import UsageError
from orbweaver.core.params import ParamInfo, Params, build, describe
from orbweaver.overlays.catalog import OVERLAYS


class Sample(Params, frozen=True):
    links: Annotated[int, Meta(ge=1, le=9, description="links wanted", title="Sec. 2")] = 3
    share: Annotated[float, Meta(gt=0, le=1, description="share", title="ours")] = 0.5
    mode: Annotated[Literal["slow", "fast"], Meta(description="pace", title="ours")] = "slow"
    eager: bool = False


def test_each_parameter_is_described():
    assert describe(Sample) == [
        ParamInfo("links", "int", 3, "links wanted", "Sec. 2"),
        ParamInfo("share", "float", 0.5, "share", "ours"),
        ParamInfo("mode", "slow|fast", "slow", "pace", "ours"),
        ParamInfo("eager", "bool", False, "", ""),
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, Sample()),
        ({"links": "9", "share": "0.25"}, Sample(links=9, share=0.25)),
        ({"links": 1, "mode": "fast", "eager": "true"}, Sample(links=1, mode="fast", eager=True)),
        ({"eager": "0"}, Sample(eager=False)),
    ],
)
def test_settings_are_read_from_text_or_values(settings, expected):
    assert build(Sample, settings, "sample") == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"links": "0"}, "parameter 'links' of sample: expected `int` >= 1"),
        ({"links": 10}, "parameter 'links' of sample: expected `int` <= 9"),
        ({"links": "many"}, "parameter 'links' of sample: expected `int`, got 'many'"),
        ({"links": 2.5}, "parameter 'links' of sample: expected `int`, got `float`"),
        ({"share": "0"}, "parameter 'share' of sample: expected `float` > 0.0"),
        ({"share": "nan"}, "parameter 'share' of sample: expected `float` > 0.0"),
        ({"eager": "perhaps"}, "parameter 'eager' of sample: expected `bool`, got 'perhaps'"),
        ({"lnks": 1}, "sample has no parameter 'lnks': did you mean 'links'?"),
        ({"zzz": 1}, "sample has no parameter 'zzz': known: eager, links, mode, share"),
    ],
)
def test_wrong_settings_are_refused_with_the_reason(settings, message):
    with pytest.raises(UsageError) as caught:
        build(Sample, settings, "sample")
    assert str(caught.value) == message


def test_a_wrong_choice_is_quoted_as_it_was_typed():
    # 'Fast' must not be reported as "invalid enum value 'fast'", which is a legal value.
    with pytest.raises(UsageError, match=r"'mode' of sample: .*'Fast'"):
        build(Sample, {"mode": "Fast"}, "sample")


def test_parameters_cannot_be_changed():
    with pytest.raises(AttributeError):
        Sample().links = 4


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS.keys())
def test_every_parameter_of_every_overlay_has_meaning_source_and_a_legal_default(overlay):
    for info in describe(overlay.Params):
        assert info.description, info.name
        assert info.source, info.name
        assert info.default is not msgspec.NODEFAULT, info.name
        assert build(overlay.Params, {info.name: str(info.default)}, overlay.name) == build(
            overlay.Params, {}, overlay.name
        )
