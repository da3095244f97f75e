"""Parameters of overlays are declared once, with unit, default and source, and read from text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from orbweaver.core.errors import UsageError, nearest


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of each overlay's parameters.

    Every field is ``Annotated[type, Meta(ge=..., description=..., title=source)]``: the
    description gives the meaning, the title the source of the default.
    """


P = TypeVar("P", bound=Params)


@dataclasses.dataclass(frozen=True)
class ParamInfo:
    name: str
    type: str
    default: Any
    description: str
    source: str


def describe(params: type[Params]) -> list[ParamInfo]:
    """Return name, type, default, meaning and source of every parameter."""
    hints = get_type_hints(params, include_extras=True)
    rows = []
    for field in msgspec.structs.fields(params):
        hint = hints[field.name]
        description = source = ""
        base = hint
        if get_origin(hint) is Annotated:
            base, *metas = get_args(hint)
            for meta in metas:
                if isinstance(meta, msgspec.Meta):
                    description, source = meta.description or "", meta.title or ""
        kind = getattr(base, "__name__", None) or str(base)
        if get_origin(base) is Literal:
            kind = "|".join(str(choice) for choice in get_args(base))
        default = field.default
        if default is msgspec.NODEFAULT and callable(field.default_factory):
            default = field.default_factory()  # an empty list or table
        rows.append(ParamInfo(field.name, kind, default, description, source))
    return rows


def differing(params: msgspec.Struct) -> dict[str, Any]:
    """Return the values that are not the defaults. They identify a scenario, however its numbers
    were typed."""
    fields = msgspec.structs.fields(type(params))
    values = {field.name: (getattr(params, field.name), field.default) for field in fields}
    return {name: value for name, (value, default) in values.items() if value != default}


def build(params: type[P], settings: Mapping[str, Any], owner: str) -> P:
    """Build parameters from settings, which are numbers or text as typed on a command line.

    `owner` names what the parameters belong to, for the `UsageError` about a wrong setting.
    """
    known = [field.name for field in msgspec.structs.fields(params)]
    for name in settings:
        if name not in known:
            raise UsageError(f"{owner} has no parameter '{name}': {nearest(name, known)}")
    try:
        return msgspec.convert(dict(settings), params, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        name = where.rstrip("`")
        what = what.replace("got `str`", f"got '{settings.get(name)}'")  # as it was typed
        whose = f"parameter '{name}' of {owner}" if name else owner
        raise UsageError(f"{whose}: {what[0].lower()}{what[1:]}") from None
