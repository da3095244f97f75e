"""O11: the messages of a churn event (Sec. 6.8).

The paper counts all messages of a churn round but those of failure detectors: what coordinates
repairs, what tells of new links, and the exchanges of local views, of which SpiderCast has some
too. Which messages a repair takes depends on what the coordinator knows. The paper's knows enough
in advance. Ours asks the shadow set, and probes what is connected.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from orbweaver.metrics.averages import mean
from orbweaver.study.claims import ADDED_LATER, Verdict, slope
from orbweaver.study.omen.experiments import COUNTED, ROUND_MS, messages_of
from orbweaver.study.paper import BySeries
from orbweaver.study.run import Result

CAUSED = ("build_messages", "repair_messages")
"""Messages that a churn event causes. The exchanges of local views go on without."""
SURVEY = ("omen-enlist", "omen-report", "omen-probe")
"""Those of them by which OMen's coordinator finds out what it has to know for a repair."""
BUT_HEARTBEATS = (*CAUSED, "membership_messages")
"""What Sec. 6.8 counts: all but the messages of failure detectors."""


def o11(series: BySeries) -> list[Verdict]:
    oracle, gossip = (
        [series[messages_of(name, membership)] for name in COUNTED]
        for membership in ("full", "gossip")
    )
    events = [[pair for r in one.each() for pair in looks_at_events(r)] for one in oracle]
    ours, theirs = (mean([rise(pair, CAUSED) for pair in pairs]) for pairs in events)
    survey = mean([rise(pair, SURVEY) for pair in events[0]])
    what = f"TW, N = {oracle[0].told_xs}: messages that an event causes"
    verdicts = [
        more_messages(f"{what}, SpiderCast (3,1)'s above OMen's", theirs, ours),
        more_messages(f"{what}, OMen's without those by which its coordinator finds out what it "
                      "has to know, which the paper's knows in advance", theirs, ours - survey,
                      uncounted=ADDED_LATER),
    ]  # fmt: skip
    for keys, name in (
        (BUT_HEARTBEATS, "all but heartbeats (6.8)"),
        ((*BUT_HEARTBEATS, "keepalive_messages"), "all"),
    ):
        rises = (
            mean([rise(pair, keys) for r in one.each() for pair in looks_at_events(r)])
            for one in gossip
        )
        ours, theirs = rises
        what = f"TW, N = {gossip[0].told_xs}, peers sampled by gossip: messages of a round, {name}"
        verdicts.append(more_messages(what, theirs, ours, uncounted=ADDED_LATER))
    for name, pairs in zip(("OMen", "SpiderCast (3,1)"), events, strict=True):
        sizes = [abs(after["subscriptions"] - before["subscriptions"]) for before, after in pairs]
        rate = slope(sizes, [rise(pair, CAUSED) for pair in pairs])
        what = f"TW, {name}: messages that an event causes over the node's subscriptions; slope"
        told = f"{rate:+.2f} for each subscription"
        verdicts.append(Verdict("O11", what, "grows", told, rate > 0))
    return verdicts


def more_messages(what: str, theirs: float, ours: float, uncounted: str = "") -> Verdict:
    told = f"{theirs:.0f}, OMen {ours:.0f}"
    return Verdict("O11", what, "significantly higher", told, theirs > ours, uncounted=uncounted)


Look = dict[str, Any]


def looks_at_events(result: Result) -> list[tuple[Look, Look]]:
    """Return the looks before and after each round in which one node came or went."""
    course = result.course or [{} for _ in result.snapshots]
    looks = [look | more for look, more in zip(result.snapshots, course, strict=True)]
    return [
        (before, after)
        for before, after in pairwise(looks)
        if after["time_ms"] - before["time_ms"] == ROUND_MS
        and abs(after["nodes_up"] - before["nodes_up"]) == 1
    ]


def rise(pair: tuple[Look, Look], keys: Iterable[str]) -> float:
    """Return how many messages of these kinds were sent between two looks."""
    before, after = pair
    return float(sum(after.get(key, 0) - before.get(key, 0) for key in keys))
