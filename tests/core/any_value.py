"""Any value that a message can have, from the types of its fields."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from orbweaver.core.messages import Seal
from orbweaver.core.topics import Interest, TopicTable

TABLE = TopicTable(["news", "news/sport", "größe", "t4", "t5"])
SEALS = {name: Seal(name) for name in (b"one", b"two")}

INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"""What msgpack can say."""

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(INT_MIN, INT_MAX),
    float: st.floats(),
    str: st.text(st.characters(codec="utf-8"), max_size=5),
    bytes: st.binary(max_size=5),
    Interest: st.integers(0, 2**5 - 1).map(TABLE.of_mask),
    Seal: st.sampled_from(list(SEALS.values())),
    type(None): st.none(),
}


def values_of(
    hint: Any, leaves: Mapping[Any, st.SearchStrategy[Any]] = LEAVES
) -> st.SearchStrategy[Any]:
    """Any value that a field with this type can have."""
    if hint in leaves:
        return leaves[hint]
    if (base := getattr(hint, "__supertype__", None)) is not None:
        return values_of(base, leaves)
    if isinstance(hint, TypeVar):  # of a generic message that names no richer descriptor
        return values_of(hint.__bound__, leaves)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _within(values_of(arguments[0], leaves), arguments[0], arguments[1:])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (types.UnionType, Union):
        return st.one_of(*(values_of(argument, leaves) for argument in arguments))
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return st.lists(values_of(arguments[0], leaves), max_size=3).map(tuple)
        return st.tuples(*(values_of(argument, leaves) for argument in arguments))
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):  # a generic message
        (parameter,) = origin.__parameters__  # type: ignore[attr-defined]
        leaves = {**leaves, parameter: values_of(arguments[0], leaves)}
        hint = origin
    hints = get_type_hints(hint, include_extras=True)
    fields = [hints[field.name] for field in msgspec.structs.fields(hint)]
    return st.builds(hint, *(values_of(field, leaves) for field in fields))


def _within(
    values: st.SearchStrategy[Any], base: Any, metas: tuple[Any, ...]
) -> st.SearchStrategy[Any]:
    """Return those of the values that keep to the bounds. Greatest lengths are kept to anyway."""
    lengths = [meta for meta in metas if meta.min_length is not None]
    if base is bytes and lengths:
        return st.binary(min_size=lengths[0].min_length, max_size=lengths[0].max_length)
    if base is not int:
        return values
    least, most = INT_MIN, INT_MAX
    for meta in metas:
        least = max(least, meta.ge if meta.ge is not None else INT_MIN)
        most = min(most, meta.le if meta.le is not None else INT_MAX)
    return st.integers(least, most)
