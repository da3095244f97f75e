"""Puts a ranking into words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orbweaver.study.advice.measures import MEASURES
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.ranking import (
    NEGLIGIBLE,
    OVERALL,
    Contender,
    Ranking,
    listed,
    share,
    tied,
)
from orbweaver.study.advice.value import Data, Estimate, Forecast, Place, Possible, Property

AGAINST = ("links", "links_max", "traffic", "delay_p95", "busiest")
"""The measures by which another overlay is told from the pick, besides lost and relayed events."""

TOLD = 3
"""How many suitable overlays, besides the pick, get a sentence of their own."""

NOUNS = {
    "links": "links",
    "links_max": "links at its largest node",
    "traffic": "traffic",
    "delay_p95": "delay",
    "busiest": "load at its busiest nodes",
    OVERALL: "delay, traffic, links and load together",
    "lost": "loss",
}

EXPECTED = {
    "links": "{} links a node",
    "links_max": "{} links at the largest node",
    "traffic": "{} sent by a node",
    "delay_p95": "95 of 100 deliveries within {}",
}
"""How the measures are told that are foreseen at another size."""


def headline(ranking: Ranking) -> str:
    pick = ranking.pick
    if pick is None:
        return "No overlay is suitable."
    text = f"Pick {pick.overlay}: {', '.join(merits(pick))}."
    if ranking.ties:
        names = listed([one.overlay for one in ranking.ties])
        text += f" It is a tie with {names}, as far as the runs can tell."
    return text


def merits(one: Contender) -> list[str]:
    """Return what an overlay does, from what matters most to what matters least."""
    m = one.measures
    told = []
    if "lost" in m:
        lost = m["lost"].mean
        told.append(f"{share(lost)} of the events lost" if lost else "every event arrives")
    if "relays" in m:
        told.append(relaying(m))
    if "links" in m and "links_max" in m:
        told.append(
            f"{figure('links', m['links'].mean)} links a node and "
            f"{figure('links_max', max(m['links_max'].values))} at most"
        )
    if "delay_p95" in m:
        told.append(f"95 of 100 deliveries within {figure('delay_p95', m['delay_p95'].mean)}")
    if "traffic" in m:
        told.append(f"{figure('traffic', m['traffic'].mean)} sent by a node")
    return told


def relaying(m: Mapping[str, Estimate]) -> str:
    if not m["relays"].mean:
        return "no node forwards what it did not ask for"
    relayed = share(m["relayed"].mean) if "relayed" in m else "some"
    return f"nodes did not ask for {relayed} of what they receive"


def others(ranking: Ranking) -> list[str]:
    """Return a sentence for each overlay that is suitable, and one for all that are not."""
    following = [*ranking.ties, *ranking.behind]
    told = [rated(one, "suitable", ranking) for one in following[:TOLD]]
    if following[TOLD:]:
        told.append(f"Behind them: {listed([one.overlay for one in following[TOLD:]])}.")
    told += [rated(one, "lossy", ranking) for one in ranking.lossy]
    if ranking.out:
        reasons = [f"{overlay} ({'; '.join(why)})" for overlay, why in ranking.out.items()]
        told.append(f"Not suitable: {', '.join(reasons)}.")
    return told


def rated(one: Contender, place: Place, ranking: Ranking) -> str:
    """Return an overlay in one sentence."""
    if place == "out":
        return f"{one.overlay} is not suitable: {'; '.join(ranking.out[one.overlay])}."
    if place == "lossy":
        return f"{one.overlay} loses {share(one.measures['lost'].mean)} of the events here."
    if place == "pick" or ranking.pick is None:
        return f"{one.overlay}: {', '.join(merits(one))}."
    return against(one, ranking.pick)


def against(one: Contender, pick: Contender) -> str:
    """Return what an overlay does better than the pick, and what it does worse, by the measure
    with the largest ratio each."""
    ratios = {
        name: one.measures[name].mean / pick.measures[name].mean
        for name in AGAINST
        if name in one.measures
        and name in pick.measures
        and pick.measures[name].mean > 0
        and one.measures[name].mean > 0
        and not tied(one, pick, name)
    }
    better = min(ratios, key=ratios.__getitem__, default="")
    worse = max(ratios, key=ratios.__getitem__, default="")
    good = ratios.get(better, 1) < 1 and f"has {times(ratios[better])} the {NOUNS[better]}"
    bad = [relaying(one.measures)] if _relays(one) and not _relays(pick) else []
    if ratios.get(worse, 1) > 1:
        bad.append(f"it has {times(ratios[worse])} the {NOUNS[worse]}")
    if good:
        return f"{one.overlay} {good}{', but ' if bad else ''}{' and '.join(bad)}."
    if bad:
        told = " and ".join(bad)
        has = told.removeprefix("it ")
        return f"{one.overlay} {has}." if has != told else f"With {one.overlay}, {told}."
    return f"{one.overlay} does as well as {pick.overlay} in all that was measured."


def _relays(one: Contender) -> bool:
    relays = one.measures.get("relays")
    return relays is not None and relays.mean > 0


def reason(ranking: Ranking, rival: str | None, properties: Sequence[Property]) -> str:
    """Return the property of the data that decides, with its value."""
    pick = ranking.pick
    if pick is None or rival is None:
        return ""
    by = NOUNS[ranking.decided_by]
    deciding = next((one for one in properties if one.decides), None)
    if deciding is None:
        if all(one.effect is None for one in properties):
            return ""
        return (
            f"No property of the data decides: {pick.overlay} is ahead of {rival} by {by} also "
            "when the subscriptions are dealt out at random, all topics are equally popular, or "
            "the largest topic is left out, as far as the runs can tell."
        )
    return f"What decides is {deciding.title} ({deciding.words}): {deciding.change}."


def change(pick: str, rival: str, by: str, with_it: float, without: float) -> str:
    """Tell how a lead differs with a property of the data and without it. Leads are differences
    of lost events, or else logarithms of ratios."""
    if by == "lost":
        ends = [f"{rival} loses {share(lead)} more than {pick}" if lead > 0 else
                f"{rival} loses no more than {pick}" for lead in (with_it, without)]  # fmt: skip
        return f"with it, {ends[0]}; without it, {ends[1]}"
    ratios = [times(math.exp(lead)) for lead in (with_it, without)]
    return (
        f"in {NOUNS[by]}, {rival} comes to {ratios[0]} {pick} with it, and to {ratios[1]} without "
        "it"
    )


def how_good(ranking: Ranking, best: Possible | None) -> str:
    pick = ranking.pick
    if best is None or pick is None or best.ratio is None:
        return ""
    fewest = min(best.designs, key=lambda one: one.links_mean)
    return (
        f"{pick.overlay} has {times(best.ratio)} the links of the best known design for this data "
        f"({fewest.name}, planned in one place: {figure('links', fewest.links_mean)} links a node "
        f"and {fewest.links_max:.0f} at most); no overlay that connects every topic can have fewer "
        f"than {figure('links', best.links_mean_bound)}."
    )


def expected(found: Sequence[Forecast]) -> str:
    """Return what to expect of one overlay at another size."""
    told = [
        f"{EXPECTED[one.measure].format(figure(one.measure, one.expected))} "
        f"({figure(one.measure, one.low)} to {figure(one.measure, one.high)}, by {one.law})"
        for one in found
    ]
    if not found:
        return ""
    return f"With {found[0].nodes:,} nodes expect of {found[0].overlay}: {'; '.join(told)}."


def sampled(data: Data, size: int) -> str:
    """Return what the samples, on which the pick was measured, lack; nothing if that is little."""
    if data.wants <= data.wants_sampled * (1 + NEGLIGIBLE):
        return ""
    return (
        f"The numbers are of samples of {size:,} of the {data.nodes:,} nodes. A node wants "
        f"{figure('', data.wants_sampled)} topics there and {figure('', data.wants)} in the data, "
        "where it may have more links and traffic."
    )


def assumed(question: Question) -> str:
    """Return the circumstances and constraints under which the verdict holds."""
    told = [
        question.churn or "all nodes stay",
        question.latency,
        f"{question.rate:g} events a second in all, of {question.payload_bytes:,} bytes",
    ]
    if question.links_max is not None:
        told.append(f"at most {question.links_max} links at any node")
    if not question.relays:
        told.append("no relays")
    if question.care is not None:
        told.append(f"what matters most: {question.care}")
    return f"Asked for: {'; '.join(told)}."


def figure(name: str, value: float) -> str:
    """Return the value of a measure with its unit, as a person would write it."""
    unit = MEASURES[name].unit if name in MEASURES else ""
    if unit == "share":
        return share(value)
    if unit == "ms":
        return f"{value / 1000:.2g} s" if value >= 1000 else f"{value:.0f} ms"
    if unit == "B/s":
        return f"{value / 1000:,.1f} KB/s" if value >= 1000 else f"{value:.0f} B/s"
    if unit == "times":
        return times(value)
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}".removesuffix(".0")


def times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
