"""R1 to R13: what counts as reproduced. R11 is measured by `studies/agreement.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orbweaver.gossip.bloom import make_filter, may_hold
from orbweaver.gossip.vivaldi import Coordinates, distance_ms
from orbweaver.metrics.averages import mean
from orbweaver.overlays.rappel.friends import overlap
from orbweaver.study.claims import Series, Verdict, falling, listed, slope, within
from orbweaver.study.paper import BySeries, Claim
from orbweaver.study.rappel.experiments import FIRST_MIN, LOOK_MIN
from orbweaver.study.rappel.scales import SCALES, Scale

REPORTED = "reported, without a band"
"""Why some numbers are shown and not counted: a matrix of latencies that do not change says
little about them."""
OF_TRACE = "reported: it depends on the trace"
OF_MANY = "reported: the text says of Fig. 9(b) that it leaves the others out, not of Fig. 9(c)"
FEEDS = {50: 0.0025, 100: 0.016, 200: 0.087}
"""R2: number of feeds in a filter -> share of false positives."""
FILTERS, OTHERS = 100, 2000
"""R2: how many filters are made, and how many other feeds each is asked for."""
AT_HEIGHT_MIN = 5
"""R9: least number of nodes at a height for the mean over them to count."""


def r1(series: BySeries) -> list[Verdict]:
    one = series["locality"]
    shares = one.means("covered")
    told = f"{listed([100 * share for share in shares], 1)} % with {one.told_xs} friends"
    users = f"{one.means('users')[0]:.0f} users of 5 feeds and more"
    return [
        Verdict("R1", f"{users}: all feeds covered by the best 6 friends", "95 %", told,
                shares[-1] >= 0.95, uncounted=OF_TRACE)
    ]  # fmt: skip


def r2(series: BySeries) -> list[Verdict]:
    others = [f"other {i}" for i in range(OTHERS)]
    shares = []
    for feeds in FEEDS:
        filters = [make_filter(f"{n} {i}" for i in range(feeds)) for n in range(FILTERS)]
        held = sum(may_hold(bloom, other) for bloom in filters for other in others)
        shares.append(held / (FILTERS * OTHERS))
    return [
        Verdict("R2", f"false positives of a filter of {feeds} feeds; within 20 %",
                f"{100 * paper:.2f} %", f"{100 * ours:.2f} %", within(ours, paper, 0.2))
        for (feeds, paper), ours in zip(FEEDS.items(), shares, strict=True)
    ]  # fmt: skip


def r3(series: BySeries) -> list[Verdict]:
    """Before the crash, and in the windows between snapshots after it and after the return."""
    one = series["tree"]
    scale = scale_of(one)
    calm = range(FIRST_MIN + LOOK_MIN, scale.outage_min + 1, LOOK_MIN)
    middle, slow = (one.over_time(f"delay_ms_p{share}") for share in (50, 95))
    p50, p95 = (mean([at_minute(curve, minute) for minute in calm]) for curve in (middle, slow))
    path = {share: one.over_time(f"path_stretch_p{share}") for share in (50, 95)}
    near, far = (at_minute(path[share], scale.outage_min) for share in (50, 95))
    measured = mean([at_minute(one.over_time("stretch_p50"), minute) for minute in calm])
    what = "one feed, before the crash: "
    return [
        Verdict("R3", what + "delay of an update, median; at most twice", "100 ms",
                f"{p50:.0f} ms", p50 <= 200),
        Verdict("R3", what + "delay of an update, 95th percentile; at most twice", "500 ms",
                f"{p95:.0f} ms", p95 <= 1000),
        Verdict("R3", what + "stretch in coordinates, median; within 15 %", "1.15", f"{near:.2f}",
                within(near, 1.15, 0.15)),
        Verdict("R3", what + "stretch in coordinates, 95th percentile", "1.25", f"{far:.2f}",
                within(far, 1.25, 0.15), uncounted=REPORTED),
        Verdict("R3", what + "measured stretch, median", "2 to 4", f"{measured:.2f}",
                2 <= measured <= 4, uncounted=REPORTED),
        *(_recovers(what, minute, middle, slow, p50, p95)
          for what, minute in (("crash", scale.outage_min), ("return", scale.return_min))),
    ]  # fmt: skip


def _recovers(
    what: str, minute: int, middle: Mapping[float, Sequence[float]],
    slow: Mapping[float, Sequence[float]], p50: float, p95: float,
) -> Verdict:  # fmt: skip
    """At once: the median hardly moves, and the 95th percentile is back within twenty minutes."""
    during, later = at_minute(middle, minute + LOOK_MIN), at_minute(slow, minute + 2 * LOOK_MIN)
    return Verdict(
        "R3",
        f"after the {what} of half of the nodes: median of ten minutes, 95th percentile of the "
        "next ten; at most twice those before",
        "recovers at once",
        f"{during:.0f} ms ({p50:.0f} before), {later:.0f} ms ({p95:.0f} before)",
        during <= 2 * p50 and later <= 2 * p95,
    )


def r4(series: BySeries) -> list[Verdict]:
    """The same nodes before churn begins and with it."""
    one = series["churn"]
    scale = scale_of(one)
    before = range(FIRST_MIN + LOOK_MIN, scale.calm_min + 1, LOOK_MIN)
    during = range(scale.calm_min + LOOK_MIN, scale.churn_min + 1, LOOK_MIN)
    middle, prompt = one.over_time(P50), one.over_time("delay_prompt")
    calm, moving = (mean([at_minute(middle, m) for m in minutes]) for minutes in (before, during))
    share = mean([at_minute(prompt, minute) for minute in during])
    longest = one.over_time("delay_ms_max")
    worst = max(max(longest.get(float(m), [0])) for m in during) / 1000
    return [
        Verdict("R4", "churn: median delay of an update above that without churn; factor 2",
                "164 ms", f"{moving - calm:.0f} ms ({calm:.0f} ms without)",
                82 <= moving - calm <= 328),
        Verdict("R4", "churn: updates that arrive within 1 s; twice as many may be late", "85 %",
                f"{100 * share:.1f} %", share >= 0.7),
        Verdict("R4", "churn: largest delay of an update; factor 2", "45 s", f"{worst:.0f} s",
                22.5 <= worst <= 90),
    ]  # fmt: skip


def r5(series: BySeries) -> list[Verdict]:
    ours, note = _converged(series["friends both"], "covered")
    what = "nodes whose 6 friends cover all their feeds; within 5 points"
    return [Verdict("R5", what, "91 %", f"{100 * ours:.1f} %", abs(ours - 0.91) <= 0.05, note)]


def r6(series: BySeries) -> list[Verdict]:
    both, note = _converged(series["friends both"], "overlapping")
    interest, _ = _converged(series["friends interest"], "overlapping")
    of_many, _ = _converged(series["friends both"], "overlapping_many")
    ratios = (_converged(series[f"friends {name}"], "overlap_ratio")[0] for name in PAIR)
    mean_ratio = "; mean ratio {:.2f}, with interest alone {:.2f}".format(*ratios)
    what = "nodes with a neighbour overlap ratio above 1"
    return [
        Verdict("R6", what + ", interest and distance; over 80 %", "> 80 %", f"{100 * both:.1f} %",
                both > 0.8, note + mean_ratio),
        Verdict("R6", what + ", of those with several feeds", "> 80 %", f"{100 * of_many:.1f} %",
                of_many > 0.8, uncounted=OF_MANY),
        Verdict("R6", what + ", interest alone; fewer", "far fewer", f"{100 * interest:.1f} %",
                interest < both),
    ]  # fmt: skip


def r7(series: BySeries) -> list[Verdict]:
    ours, note = _converged(series["friends four"], "covered_many")
    six = _converged(series["friends both"], "covered_many")[0]
    what = "nodes of several feeds all of which 4 friends cover; within 10 points"
    told = f"{100 * ours:.1f} % (6 friends: {100 * six:.1f} %)"
    return [Verdict("R7", what, "73 %", told, abs(ours - 0.73) <= 0.1, note)]


P50, RATE = "delay_ms_p50", "load_per_second_p50"
PAIR = ("both", "interest")


def _converged(one: Series, metric: str) -> tuple[float, str]:
    """Return a metric at the end of the runs, and by how much it still changed."""
    curve = one.over_time(metric)
    values = [at_minute(curve, minute) for minute in sorted(curve)]
    if len(values) < 2:
        return math.nan, ""
    change = values[-1] - values[-2]
    return values[-1], f"changed by {change:+.3f} over the last {LOOK_MIN} minutes"


def r8(series: BySeries) -> list[Verdict]:
    ours, scribe = series["crowd rappel"], series["crowd scribe"]
    many, many_scribe = series["friends both"], series["friends scribe"]
    noise = max(one.largest("relays_per_event") for one in (ours, many))
    relays = scribe.means("relays_per_event")[-1]
    times = [a / b for a, b in zip(ours.means(P50), scribe.means(P50), strict=True)]
    fair, unfair = (one.means("load_correlation")[-1] for one in (many, many_scribe))
    nodes = f"{ours.told_xs} nodes"
    return [
        Verdict("R8", "nodes of no interest that an update reaches, Rappel; exact", "0",
                f"{noise:g}", noise == 0),
        Verdict("R8", f"the same, Scribe, {scribe.xs[-1]:g} nodes; some", "40 for 464 subscribers",
                f"{relays:.1f} for {scribe.xs[-1] / 10:.0f} subscribers", relays > 0),
        Verdict("R8", f"median delay of an update beside Scribe's, {nodes}; above 1",
                "slightly slower", f"{listed(times)}x ({ours.told(P50, 0)} ms; Scribe "
                f"{scribe.told(P50, 0)})", all(n > 1 for n in times)),
        Verdict("R8", "correlation of a node's messages with its subscriptions; Rappel's above "
                "Scribe's", "proportional; Scribe none", f"{fair:.2f}; Scribe {unfair:.2f}",
                fair > unfair, "all messages, where the paper has data alone"),
    ]  # fmt: skip


def r9(series: BySeries) -> list[Verdict]:
    one = series["still"]
    curves = {x: _requests(one, x) for x in one.xs}
    verdicts = []
    for x, curve in curves.items():
        logs = [math.log(n) for n in curve.values() if n > 0]
        heights = [float(height) for height, n in curve.items() if n > 0]
        fall = math.exp(slope(heights, logs)) if len(logs) > 1 else math.nan
        verdicts.append(
            Verdict("R9", f"join requests of ten minutes by height, {x:g} subscribers; exponential",
                    "fall exponentially", f"{listed(curve.values())}: {fall:.2f}x for each level",
                    fall < 1 and falling(logs[:3]))
        )  # fmt: skip
    small, large = curves[one.xs[0]], curves[one.xs[-1]]
    common = [large[h] / small[h] for h in small if h and h in large and small[h]]
    times = mean(common)
    return [
        *verdicts,
        Verdict("R9", "join requests at a height below the publisher, twice the subscribers; less "
                "than twice", "changes little", f"{times:.2f}x", times < 2),
    ]  # fmt: skip


def _requests(one: Series, x: float) -> dict[int, float]:
    """Return how many requests a node received in ten minutes, mean by height, over the second
    half of the runs. Heights of few nodes are left out, except for the publisher's."""
    looks = [look for r in one.results[x] for look in r.course[len(r.course) // 2 :]]
    requests: dict[int, float] = {}
    nodes: dict[int, int] = {}
    for look in looks:
        for height, there in look.get("at_height", {}).items():
            at = int(height)
            requests[at] = requests.get(at, 0.0) + look["requests"][height] * there
            nodes[at] = nodes.get(at, 0) + there
    return {
        height: requests[height] / nodes[height]
        for height in sorted(nodes)
        if height == 0 or nodes[height] >= AT_HEIGHT_MIN * len(looks)
    }


def r10(series: BySeries) -> list[Verdict]:
    one, many = series["churn"], series["friends both"]
    rates = [setting.means(RATE)[-1] for setting in (one, many)]
    further = many.means("load_per_second_each")[-1]
    note = "messages that a node sends and receives, updates among them"
    return [
        *(
            Verdict("R10", f"messages a second of a node, {what}, median; at most twice", "< 2",
                    f"{rate:.2f}", rate <= 4, note)
            for what, rate in zip(("one feed, churn", "many feeds"), rates, strict=True)
        ),
        Verdict("R10", "messages a second for each further subscription; factor 2", "0.15 to 0.4",
                f"{further:.3f}", 0.075 <= further <= 0.8, note),
    ]  # fmt: skip


def r12(series: BySeries) -> list[Verdict]:
    a, b = (make_filter(map(str, feeds)) for feeds in ((1, 2, 3, 4, 5), (1, 3, 5, 7)))
    here = Coordinates((0.0,))
    shared = overlap(a, b)
    values = [shared / (distance_ms(here, Coordinates((ms,))) / 1000) for ms in (1.0, 100.0)]
    ok = all(math.isclose(x, y) for x, y in zip([shared, *values], (0.5, 500, 5), strict=True))
    ours = f"{shared:g}; {values[0]:g}; {values[1]:g}"
    what = "overlap of {1..5} and {1, 3, 5, 7}, utility at 1 ms and at 100 ms; exact"
    return [Verdict("R12", what, "0.5; 500; 5", ours, ok)]


def r13(series: BySeries) -> list[Verdict]:
    one = series["tree"]
    worst = min(float(r.metrics["hit_ratio"]) for r in one.each())
    latest = max((ms for of in one.over_time("delay_ms_max").values() for ms in of), default=0)
    note = f"the latest came after {latest / 1000:.0f} s, pulled from another parent"
    return [
        Verdict("R13", "updates that nodes get while they are up, half of the nodes crash and "
                "return; exact", "all", f"{100 * worst:.6g} % at worst", worst == 1, note)
    ]  # fmt: skip


def at_minute(curve: Mapping[float, Sequence[float]], minute: float) -> float:
    """Return the mean over seeds at a snapshot, or nan if there is none at this minute."""
    return mean(curve.get(float(minute), []))


def scale_of(one: Series) -> Scale:
    return SCALES[one.each()[0].study.scale]


CLAIMS = {
    "R1": Claim(("locality",), r1, traced=True),
    "R2": Claim((), r2),
    "R3": Claim(("tree",), r3, traced=True),
    "R4": Claim(("churn",), r4, traced=True),
    "R5": Claim(("friends both",), r5, traced=True),
    "R6": Claim(("friends both", "friends interest"), r6, traced=True),
    "R7": Claim(("friends both", "friends four"), r7, traced=True),
    "R8": Claim(
        ("crowd rappel", "crowd scribe", "friends both", "friends scribe"), r8, traced=True
    ),
    "R9": Claim(("still",), r9, traced=True),
    "R10": Claim(("churn", "friends both"), r10, traced=True),
    "R12": Claim((), r12),
    "R13": Claim(("tree",), r13, traced=True),
}
