"""Find which nodes a message names.

An overlay names nodes by their ids; a peer that is told of a node must also be told where the
node is. The host therefore looks through each message it sends for fields of type `NodeId`, and
ensures that the receiver has the cards of the named nodes. Where to look is worked out once for
each message type.

Names of events, which are tuples of fixed shape, and events themselves mention their publisher.
A receiver need not reach the publisher of an event, so publishers are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event

Finder = Callable[[Any], Iterable[NodeId]]


@cache
def finder(kind: Any) -> Finder | None:
    """Return a function that gives the nodes that a message of this type names, or None if it
    never names any."""
    return _of_struct(kind)


def _of_struct(kind: type) -> Finder | None:
    if kind is Event:
        return None
    hints = get_type_hints(kind, include_extras=True)
    inside = [
        (field.name, found)
        for field in msgspec.structs.fields(kind)
        if (found := _of_type(hints[field.name])) is not None
    ]
    if not inside:
        return None

    def find(value: Any) -> Iterable[NodeId]:
        for name, found in inside:
            yield from found(getattr(value, name))

    return find


def _of_type(hint: Any) -> Finder | None:
    if hint is NodeId:
        return lambda value: (value,)
    if isinstance(hint, TypeVar):
        return _of_generic
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _of_type(arguments[0])
    if origin in (Union, UnionType):
        return _of_optional([a for a in arguments if a is not NoneType])
    if origin in (list, tuple, frozenset):
        if origin is tuple and Ellipsis not in arguments:
            return None
        return _of_each(_of_type(arguments[0]))
    if origin is dict:
        return _of_dict(_of_type(arguments[0]), _of_type(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _of_struct(hint)
    return None


def _of_generic(value: Any) -> Iterable[NodeId]:
    """The field of a generic message, which may hold more than its bound says."""
    found = finder(value.__class__)
    return found(value) if found is not None else ()


def _of_optional(choices: list[Any]) -> Finder | None:
    """Return the finder of `X | None`. Messages have no other unions."""
    found = _of_type(choices[0]) if len(choices) == 1 else None
    if found is None:
        return None
    inner = found
    return lambda value: () if value is None else inner(value)


def _of_each(found: Finder | None) -> Finder | None:
    if found is None:
        return None
    inner = found

    def find(values: Any) -> Iterable[NodeId]:
        for value in values:
            yield from inner(value)

    return find


def _of_dict(keys: Finder | None, values: Finder | None) -> Finder | None:
    if keys is None and values is None:
        return None

    def find(mapping: Any) -> Iterable[NodeId]:
        for key, value in mapping.items():
            if keys is not None:
                yield from keys(key)
            if values is not None:
                yield from values(value)

    return find
