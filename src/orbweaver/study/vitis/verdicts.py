"""V1 to V6, V10 and V11: what counts as reproduced.

V7 to V9 need traces (Twitter, availability) and are not among them yet.
"""

from __future__ import annotations

import math

from orbweaver.core.topics import TopicTable
from orbweaver.overlays.vitis.utility import overlap
from orbweaver.study.claims import Series, Verdict, falling, listed, rising
from orbweaver.study.paper import BySeries, Claim
from orbweaver.study.vitis.experiments import FRIENDS_MAX, PATTERNS, TABLE

FRIENDS = tuple(f"friends {pattern}" for pattern in PATTERNS)
TABLES = tuple(f"table {pattern}" for pattern in PATTERNS)
OVERHEAD, DELAY = "traffic_overhead", "delay_hops_mean"


def v1(series: BySeries) -> list[Verdict]:
    settings = [one for label, one in series.items() if label.startswith(("friends", "table"))]
    worst = min(float(r.metrics["hit_ratio"]) for one in settings for r in one.each())
    what = f"hit ratio of Vitis and RVR without churn, {len(settings)} series; exact"
    return [Verdict("V1", what, "100 %", f"{100 * worst:.4g} % at worst", worst == 1)]


def v2(series: BySeries) -> list[Verdict]:
    verdicts = []
    for label in FRIENDS:
        one = series[label]
        values = one.means(OVERHEAD)
        what = f"traffic overhead over {_xs(one)} friends, {label.split()[1]}; falling"
        verdicts.append(Verdict("V2", what, "falls", one.told(OVERHEAD, 3), falling(values)))
    first, *_, last = series["friends high"].means(OVERHEAD)
    drop = 100 * (1 - last / first)
    rvr = at(series["table rvr"], TABLE, OVERHEAD)
    share = at(series["friends random"], FRIENDS_MAX, OVERHEAD) / rvr
    return [
        *verdicts,
        Verdict("V2", "fall of the overhead from none to all friends, high; 80 to 95 %", "88 %",
                f"{drop:.0f} %", 80 <= drop <= 95),
        Verdict("V2", "overhead of Vitis, random, beside RVR's; below 0.40", "< 0.33",
                f"{share:.2f} (RVR {rvr:.3f})", share < 0.4),
    ]  # fmt: skip


def v3(series: BySeries) -> list[Verdict]:
    verdicts = []
    for label, wanted in zip(FRIENDS, (rising, falling, falling), strict=True):
        one = series[label]
        word = "rises" if wanted is rising else "falls"
        what = f"delay in hops over {_xs(one)} friends, {label.split()[1]}"
        verdicts.append(Verdict("V3", what, word, one.told(DELAY), wanted(one.means(DELAY))))
    return verdicts


def v4(series: BySeries) -> list[Verdict]:
    rvr = at(series["table rvr"], TABLE, "burdened")
    verdicts = []
    for label in FRIENDS:
        ours = at(series[label], FRIENDS_MAX, "burdened")
        what = f"nodes with an overhead above 20 %, {label.split()[1]}, beside RVR's; below 0.40"
        share = ours / rvr if rvr else math.nan
        told = f"{share:.2f} ({100 * ours:.1f} % of nodes, RVR {100 * rvr:.1f} %)"
        verdicts.append(Verdict("V4", what, "< 0.33", told, share < 0.4))
    return verdicts


def v5(series: BySeries) -> list[Verdict]:
    verdicts = []
    for label in (*TABLES, "table rvr"):
        one = series[label]
        for metric, name, digits in ((OVERHEAD, "overhead", 3), (DELAY, "delay in hops", 2)):
            what = f"{name} over tables of {_xs(one)}, {label.split()[1]}; falling"
            ok = falling(one.means(metric))
            verdicts.append(Verdict("V5", what, "falls", one.told(metric, digits), ok))
    ours, rvr = (series[label].means(DELAY)[-1] for label in ("table random", "table rvr"))
    size = series["table random"].xs[-1]
    what = f"delay of Vitis, random, below RVR's with a table of {size:g}"
    return [*verdicts, Verdict("V5", what, "faster", f"{ours:.2f}, RVR {rvr:.2f}", ours < rvr)]


def v6(series: BySeries) -> list[Verdict]:
    verdicts = []
    for metric, name in ((OVERHEAD, "overhead"), (DELAY, "delay in hops")):
        random, high = (series[f"rates {p}"].means(metric) for p in ("random", "high"))
        gaps = [abs(a - b) for a, b in zip(random, high, strict=True)]
        what = f"{name}: gap between random and high over rates zipf {_xs(series['rates high'])}"
        ok = gaps[-1] < gaps[0]
        verdicts.append(Verdict("V6", what, "closes", listed(gaps, 3), ok))
    return verdicts


def v10(series: BySeries) -> list[Verdict]:
    table = TopicTable("ABCDEFGH")
    p, q, r = (table.interest(topics) for topics in ("ABC", "CD", "CDEFGH"))
    ours = [overlap(p, q), overlap(p, r), overlap(q, r)]
    ok = all(math.isclose(a, b) for a, b in zip(ours, (1 / 4, 1 / 8, 1 / 3), strict=True))
    what = "utility of {A,B,C}, {C,D} and {C..H}; exact"
    return [Verdict("V10", what, "0.25, 0.125, 0.333", listed(ours, 3), ok)]


def v11(series: BySeries) -> list[Verdict]:
    """The delay, in units of log^2 N, must not grow."""
    verdicts = []
    for label in ("size vitis", "size rvr"):
        one = series[label]
        scaled = [d / math.log2(n) ** 2 for n, d in zip(one.xs, one.means(DELAY), strict=True)]
        what = f"delay over N = {_xs(one)}, {label.split()[1]}: in units of log^2 N, not growing"
        ok = scaled[-1] <= scaled[0]
        ours = f"{one.told(DELAY)} hops; {listed(scaled, 3)}"
        verdicts.append(Verdict("V11", what, "O(log^2 N)", ours, ok))
    return verdicts


CLAIMS = {
    "V1": Claim((*FRIENDS, *TABLES, "table rvr"), v1),
    "V2": Claim((*FRIENDS, "table rvr"), v2),
    "V3": Claim(FRIENDS, v3),
    "V4": Claim((*FRIENDS, "table rvr"), v4),
    "V5": Claim((*TABLES, "table rvr"), v5),
    "V6": Claim(("rates random", "rates high", "rates rvr"), v6),
    "V10": Claim((), v10),
    "V11": Claim(("size vitis", "size rvr"), v11),
}


def at(one: Series, x: float, metric: str) -> float:
    return one.means(metric)[one.xs.index(x)]


def _xs(one: Series) -> str:
    return ", ".join(f"{x:g}" for x in one.xs)
