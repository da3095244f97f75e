"""S1 to S15: which experiments each claim needs, and what counts as reproduced."""

from __future__ import annotations

from orbweaver.metrics.averages import mean
from orbweaver.study.claims import (
    Series,
    Verdict,
    connected,
    falling,
    listed,
    rank_correlation,
    rising,
    slope,
    within,
)
from orbweaver.study.paper import BySeries, Claim
from orbweaver.study.spidercast.paper import (
    CHURN,
    DIAMETERS,
    SIZES,
    TABLE_12,
    ZIPF2_DEGREE,
    ZIPF2_PARTITIONED,
    table_12,
)

COMPARED = [label for label in TABLE_12 if label != "spidercast"]


def s1(series: BySeries) -> list[Verdict]:
    base = series["spidercast"]
    ours, paper = base.means("degree_mean"), table_12("spidercast", base.xs)
    ok = all(within(v, p, 0.08) for v, p in zip(ours, paper, strict=True)) and falling(ours)
    what = f"average degree, base setting, N = {base.told_xs}; within 8 %, falling"
    return [Verdict("S1", what, listed(paper), base.told("degree_mean"), ok)]


def s2(series: BySeries) -> list[Verdict]:
    base = series["spidercast"]
    ok = base.every(lambda r: r.metrics["components"] == r.metrics["topics"] == 100)
    what = f"components of 100 topics, base setting, N = {base.told_xs}; exact"
    return [Verdict("S2", what, "100", base.told("components", 1), ok)]


def s3(series: BySeries) -> list[Verdict]:
    return [_s3(series[label]) for label in COMPARED]


def _s3(one: Series) -> Verdict:
    degrees, parts = one.means("degree_mean"), one.means("components")
    # The paper's degrees of random(10) wander from 10.8 to 10.1; the band is around all.
    low, high = min(TABLE_12[one.label]), max(TABLE_12[one.label])
    close = all(0.95 * low <= value <= 1.05 * high for value in degrees)
    above = one.every(lambda r: r.metrics["components"] > 100)
    ok = close and above and slope(one.xs, parts) > 0
    what = f"{one.label}: degree within 5 %; components > 100, growing with N"
    paper = f"{listed(table_12(one.label, one.xs))}; > 100 components"
    return Verdict(
        "S3", what, paper, f"{one.told('degree_mean')}; {one.told('components', 0)} components", ok
    )


def s4(series: BySeries) -> list[Verdict]:
    plain, mixed, four = (series[f"zipf2 {k}"] for k in ("(3,0)", "(3,1)", "(4,0)"))
    large = [n for n in plain.xs if n >= 6000]
    cut = plain.means("partitioned_topics")
    at_large = [value for n, value in zip(plain.xs, cut, strict=True) if n >= 6000]
    paper = [ZIPF2_PARTITIONED[SIZES.index(int(n))] for n in plain.xs]
    some = bool(large) and all(0 < value <= 15 for value in at_large)
    note = "" if large else "needs N >= 6000: run --scale full"
    verdicts = [
        Verdict("S4", f"Zipf 2, (3,0): partitioned topics, N = {plain.told_xs}; some, at most 15, "
                "at N >= 6000", listed(paper, 0), plain.told("partitioned_topics", 1), some, note),
        Verdict("S4", "Zipf 2, (3,1): partitioned topics; exact", "0",
                mixed.told("partitioned_topics", 1),
                mixed.every(lambda r: r.metrics["partitioned_topics"] == 0)),
        Verdict("S4", "Zipf 2, (4,0) does not connect what (3,0) does not", "> 0",
                four.told("partitioned_topics", 1),
                bool(large) and four.largest("partitioned_topics") > 0, note),
    ]  # fmt: skip
    for one in (plain, mixed):
        ours = one.means("degree_mean")
        ok = all(within(value, ZIPF2_DEGREE[one.label], 0.15) for value in ours)
        what = f"average degree, {one.label}; within 15 %"
        verdicts.append(
            Verdict("S4", what, f"about {ZIPF2_DEGREE[one.label]:g}", one.told("degree_mean"), ok)
        )
    return verdicts


def s5(series: BySeries) -> list[Verdict]:
    by_law = [series[label] for label in DIAMETERS]
    curves = [one.means("degree_mean") for one in by_law]
    ok = (
        all(falling(column) for column in zip(*curves, strict=True))
        and all(falling(curve) for curve in curves)
        and all(value < 12 for curve in curves for value in curve)
        and all(one.every(connected) for one in by_law)
    )
    what = (
        "degree for uniform / RSS / Zipf 1 / NYSE: in this order at each N, below 12, falling "
        "with N; all topics connected"
    )
    ours = "; ".join(one.told("degree_mean") for one in by_law)
    first = Verdict("S5", what, "uniform highest, NYSE lowest", ours, ok)
    return [first, *(_diameter("S5", series[x], paper) for x, paper in DIAMETERS.items())]


def s6(series: BySeries) -> list[Verdict]:
    base, wide = series["spidercast"], series["t200"]
    narrow, wider = base.means("degree_mean"), wide.means("degree_mean")
    ok = all(a < b < 1.5 * a for a, b in zip(narrow, wider, strict=True)) and falling(wider)
    degrees = f"{base.told('degree_mean')}; {wide.told('degree_mean')}"
    degree_max = f"{base.largest('degree_max'):g} and {wide.largest('degree_max'):g}"
    return [
        Verdict("S6", f"degree with T=200 above T=100, moderately, N = {wide.told_xs}",
                "moderate rise, falling with N", degrees, ok),
        _diameter("S6", base, 6),
        _diameter("S6", wide, 6),
        Verdict("S6", "maximum degree with T=100 and T=200; within 25 %", "32 and 31", degree_max,
                within(base.largest("degree_max"), 32, 0.25)
                and within(wide.largest("degree_max"), 31, 0.25)),
    ]  # fmt: skip


def s7(series: BySeries) -> list[Verdict]:
    one = series["topics"]
    degrees, diameters = one.means("degree_mean"), one.means("diameter_max")
    sublinear = degrees[-1] / degrees[0] < one.xs[-1] / one.xs[0] / 2
    return [
        Verdict("S7", f"degree over T = {one.told_xs}, S=20; rising, less than half as fast as T",
                "moderate rise", one.told("degree_mean"), rising(degrees) and sublinear),
        Verdict("S7", "maximum topic diameter at the first and the last T; +-1, not rising",
                "5 to 4", f"{diameters[0]:.1f} to {diameters[-1]:.1f}",
                abs(diameters[0] - 5) <= 1 and abs(diameters[-1] - 4) <= 1
                and diameters[-1] <= diameters[0]),
    ]  # fmt: skip


def s8(series: BySeries) -> list[Verdict]:
    verdicts = []
    for one in _labelled(series, "subscriptions"):
        degrees = one.means("degree_mean")
        top = one.xs[degrees.index(max(degrees))]
        ok = top == 20 and rising(degrees[:3]) and falling(degrees[2:])
        what = f"degree over S = {one.told_xs}, {one.label.split()[-1]}; up to 20, then down"
        verdicts.append(Verdict("S8", what, "highest at S=20", one.told("degree_mean"), ok))
    return verdicts


def s9(series: BySeries) -> list[Verdict]:
    families = {
        "popularity": [series[label] for label in DIAMETERS],
        "T": [series["topics"]],
        "S": _labelled(series, "subscriptions"),
    }
    verdicts = []
    for name, members in families.items():
        tdi = [value for one in members for value in one.means("tdi")]
        degrees = [value for one in members for value in one.means("degree_mean")]
        rho = rank_correlation(tdi, degrees)
        each = [rank_correlation(one.means("tdi"), one.means("degree_mean")) for one in members]
        ours = f"{rho:.2f}" + (f" ({listed(each)})" if len(each) > 1 else "")
        what = f"rank correlation of tdi(2S) and degree over {name}; below -0.8"
        verdicts.append(Verdict("S9", what, "opposite", ours, rho < -0.8))
    return verdicts


def s10(series: BySeries) -> list[Verdict]:
    verdicts = []
    for mixed, fixed in (("10:30", "20"), ("10:70", "40")):
        ours = series[f"mixed {mixed}"].means("degree_mean")[0]
        same = series[f"mixed {fixed}"].means("degree_mean")[0]
        what = f"degree with S in [{mixed}] against S={fixed}; within 5 %"
        numbers = f"{ours:.2f} against {same:.2f}"
        verdicts.append(Verdict("S10", what, "the same", numbers, within(ours, same, 0.05)))
    return verdicts


def s11(series: BySeries) -> list[Verdict]:
    verdicts = []
    for one in _labelled(series, "views"):
        degrees = one.means("degree_mean")
        ok = one.every(connected)
        nodes = one.label.split()[-1]
        parts = one.told("components", 1)
        what = f"views of {_shares(one)} %, {nodes}: all topics connected"
        verdicts.append(Verdict("S11", what, "100 components", parts, ok))
        close = all(within(value, degrees[-1], 0.15) for value in degrees)
        what = f"views of {_shares(one)} %, {nodes}: degree within 15 % of the full view"
        verdicts.append(Verdict("S11", what, "small effect", one.told("degree_mean"), close))
    for one in _labelled(series, "gossip"):
        what = f"gossiped views of 5 %, {one.label.split()[-1]}: all topics connected"
        ours = f"{one.told('components', 1)}; degree {one.told('degree_mean')}"
        verdicts.append(Verdict("S11", what, "100 components", ours, one.every(connected)))
    return verdicts


def s12(series: BySeries) -> list[Verdict]:
    verdicts = []
    for one in _labelled(series, "churn"):
        nodes = int(one.label.split("=")[-1])
        paper = CHURN.get(nodes, (13.0, 38.0))[0]
        cut = sum(value for at_x in one.of_snapshots("partitioned_topics") for value in at_x)
        degrees = [mean(at_x) for at_x in one.of_snapshots("degree_mean")]
        verdicts += [
            Verdict("S12", f"churn, {nodes} nodes, l = {one.told_xs} s: partitioned topics in all "
                    "snapshots; exact", "0", str(cut), one.every(connected)),
            Verdict("S12", f"churn, {nodes} nodes: degree whatever l is; within 15 %",
                    f"about {paper:g}", listed(degrees),
                    all(within(value, paper, 0.15) for value in degrees)),
        ]  # fmt: skip
    return verdicts


def s13(series: BySeries) -> list[Verdict]:
    verdicts = []
    for one in _labelled(series, "churn"):
        nodes = int(one.label.split("=")[-1])
        paper = CHURN.get(nodes, (13.0, 38.0))[1]
        ours = one.means("control_messages_per_join")
        ok = all(within(value, paper, 0.25) for value in ours)
        what = f"control messages for a join or leave, {nodes} nodes; within 25 %"
        verdicts.append(
            Verdict("S13", what, f"{paper:g}", one.told("control_messages_per_join", 1), ok)
        )
    return verdicts


def s14(series: BySeries) -> list[Verdict]:
    rings = series["ring-per-topic"].means("degree_mean")
    base = series["spidercast"].means("degree_mean")
    above = [100 * (r / b - 1) for r, b in zip(rings, base, strict=True)]
    ok = max(rings) <= 1.05 * min(rings) and all(40 <= value <= 95 for value in above)
    what = "ring-per-topic: degree above SpiderCast's by 40-95 %; flat in N (5 %)"
    ours = f"{listed(above, 0)} % (degree {listed(rings)})"
    return [Verdict("S14", what, "51 to 82 %", ours, ok)]


def s15(series: BySeries) -> list[Verdict]:
    verdicts = []
    for law, name in (("zipf:0.5", "RSS"), ("nyse", "NYSE"), ("uniform", "uniform")):
        raised = [sum(n for kr, n in r.states["kr"].items() if kr > 0)
                  for r in series[f"adaptive {law}"].each()]  # fmt: skip
        what = f"adaptive K_r, {name}: nodes that leave (3,0); exact"
        verdicts.append(Verdict("S15", what, "0", f"{max(raised)} at most", max(raised) == 0))
    skewed = series["adaptive zipf:2"]
    cut = skewed.told("partitioned_topics", 1)
    what = "adaptive K_r, Zipf 2: partitioned topics; exact"
    return [*verdicts, Verdict("S15", what, "0", cut, skewed.every(connected))]


CLAIMS: dict[str, Claim] = {
    "S1": Claim(("spidercast",), s1),
    "S2": Claim(("spidercast",), s2),
    "S3": Claim(tuple(COMPARED), s3),
    "S4": Claim(("zipf2 (3,0)", "zipf2 (3,1)", "zipf2 (4,0)"), s4),
    "S5": Claim(tuple(DIAMETERS), s5),
    "S6": Claim(("spidercast", "t200"), s6),
    "S7": Claim(("topics",), s7),
    "S8": Claim(("subscriptions",), s8),
    "S9": Claim((*DIAMETERS, "topics", "subscriptions"), s9),
    "S10": Claim(("mixed",), s10),
    "S11": Claim(("views", "gossip"), s11),
    "S12": Claim(("churn",), s12),
    "S13": Claim(("churn",), s13),
    "S14": Claim(("ring-per-topic", "spidercast"), s14),
    "S15": Claim(
        ("adaptive zipf:0.5", "adaptive nyse", "adaptive uniform", "adaptive zipf:2"), s15
    ),
}


def _diameter(claim: str, one: Series, paper: int) -> Verdict:
    label = {"spidercast": "RSS", "t200": "RSS, T=200"}.get(one.label, one.label)
    largest = one.largest("diameter_max")
    ok = abs(largest - paper) <= 1
    what = f"maximum topic diameter, {label}, over N = {one.told_xs}; +-1"
    return Verdict(claim, what, str(paper), f"{largest:g}", ok)


def _labelled(series: BySeries, prefix: str) -> list[Series]:
    return [one for label, one in series.items() if label.startswith(f"{prefix} N=")]


def _shares(one: Series) -> str:
    return ", ".join(f"{100 * x:g}" for x in one.xs)
