"""Lists the kinds of traces. No Spark here, so that help and error messages are quick."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from orbweaver.core.errors import UsageError, nearest


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    line: str
    """The form of a line."""
    summary: str
    yields: tuple[str, ...]
    code: str
    """The function that turns the marked lines into a plan: module:function in this package."""
    options: tuple[str, ...] = ()
    """The options of this kind, besides header and comments."""
    cells: int = 2
    """How many cells a line needs; further cells are ignored."""
    numeric: tuple[int, ...] = ()
    """Numbers of the cells that hold a digit in every line except a header."""
    entry: str = "line"
    """The word for what is counted."""
    two_names: bool = False
    """Whether a line is two names, and what follows them does not count."""
    one_file: bool = False
    """Whether the place of a line in its file means something."""
    whole: bool = False
    """Whether the file is one text, not lines."""
    topics_are_nodes: bool = False
    """Whether a topic is the name of a node, which publishes its events."""


_ALL = (
    Kind(
        "directed-edges",
        "user user",
        "a follower graph; say with --direction which of the two follows",
        ("subscriptions",),
        "subscriptions:directed_edges",
        ("direction",),
        two_names=True,
        topics_are_nodes=True,
    ),
    Kind(
        "undirected-edges",
        "user user",
        "a friendship graph; each subscribes to the other",
        ("subscriptions",),
        "subscriptions:undirected_edges",
        two_names=True,
        topics_are_nodes=True,
    ),
    Kind(
        "pairs",
        "user item",
        "a user and what it watches, joins or likes; tab, comma, semicolon, colon or space between",
        ("subscriptions",),
        "subscriptions:pairs",
        ("separator", "columns"),
        two_names=True,
    ),
    Kind(
        "lists",
        "count item item ...",
        "line i, counted from 0, is what user i subscribes to",
        ("subscriptions",),
        "subscriptions:lists",
        cells=1,
        numeric=(0,),
        one_file=True,
    ),
    Kind(
        "edits",
        "user page seconds",
        "an edit is a publication; a user that edits a page subscribes to it",
        ("subscriptions", "publications"),
        "subscriptions:edits",
        ("origin",),
        cells=3,
        numeric=(2,),
    ),
    Kind(
        "machine-events",
        "time_us,machine,event",
        "a cluster's events: 0 ADD is a join, 1 REMOVE a leave, 2 UPDATE is left out",
        ("churn",),
        "churn:machine_events",
        ("origin",),
        cells=3,
        numeric=(0, 2),
    ),
    Kind(
        "sessions",
        "peer,join,leave",
        "sessions between ISO 8601 time stamps, UTC unless they say otherwise",
        ("churn",),
        "churn:sessions",
        ("separator", "origin"),
        cells=3,
        numeric=(1, 2),
    ),
    Kind(
        "availability",
        "node,start,end[,state]",
        "intervals in seconds; with a state (up, down, 1, 0), those that are down are left out",
        ("churn",),
        "churn:availability",
        ("origin",),
        cells=3,
        numeric=(1, 2),
    ),
    Kind(
        "latency-matrix",
        "number number ...",
        "line i, column j is the delay from i to j; zero off the diagonal, nan or - is missing",
        ("latency",),
        "latency:matrix",
        ("unit", "delay"),
        cells=1,
        entry="cell",
        numeric=(0,),
        one_file=True,
    ),
    Kind(
        "coordinates",
        "node,x,y",
        "places in a plane; the distance of two places is their delay",
        ("coordinates",),
        "coordinates:table",
        cells=3,
        numeric=(1, 2),
    ),
    Kind(
        "coordinates-xml",
        "<node><coord>x</coord><coord>y</coord></node>",
        "the same from OverSim's node lists; node i, counted from 0, is the i-th",
        ("coordinates",),
        "coordinates:xml",
        entry="node",
        one_file=True,
        whole=True,
    ),
    Kind(
        "as-graph",
        "from to relationship",
        "autonomous systems; from is -1 customer, 1 provider, 0 peer, 2 sibling of to",
        ("topology",),
        "topology:as_graph",
        cells=3,
        numeric=(0, 1, 2),
    ),
)
KINDS = {kind.name: kind for kind in _ALL}


def find(name: str) -> Kind:
    if name not in KINDS:
        raise UsageError(f"unknown kind '{name}': {nearest(name, KINDS)}")
    return KINDS[name]


CHOICES: Mapping[str, tuple[str, ...]] = {
    "direction": ("follower-first", "followed-first"),
    "separator": ("auto", "tab", "comma", "semicolon", "space", "colon"),
    "header": ("auto", "yes", "no"),
    "unit": ("s", "ms", "us"),
    "delay": ("round-trip", "one-way"),
    "origin": ("first", "zero"),
}


@dataclasses.dataclass(frozen=True)
class Options:
    direction: str = ""
    """Which user comes first in a directed edge. There is no default: sources differ, both readings
    look alike, and everything measured later depends on it."""
    separator: str = "auto"
    columns: str = ""
    """The two columns of user and item, as names or numbers. Empty means the first two."""
    header: str = "auto"
    comments: str = "#%"
    """Characters with which a comment line begins."""
    unit: str = "ms"
    delay: str = "round-trip"
    origin: str = "first"
    """Whether times count from the first one in the trace, or are kept as they are."""


def build_options(kind: Kind, given: Mapping[str, str | None]) -> Options:
    """Return the options that were given, checked. An option that is None was not given."""
    wanted = {name: value for name, value in given.items() if value is not None}
    for name, value in wanted.items():
        if name in CHOICES and value not in CHOICES[name]:
            raise UsageError(f"--{name} '{value}' should be one of {', '.join(CHOICES[name])}")
        if name not in ("header", "comments", *kind.options):
            users = [k.name for k in _ALL if name in k.options]
            raise UsageError(f"--{name} has no meaning for {kind.name}; it is for {_and(users)}")
    if "direction" in kind.options and "direction" not in wanted:
        raise UsageError(
            f"{kind.name} needs --direction: follower-first if 'a b' means that a follows b, "
            "followed-first if it means that b follows a"
        )
    return Options(**wanted)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
