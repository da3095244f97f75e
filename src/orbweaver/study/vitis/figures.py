"""Say which of our series go into each of Vitis' figures."""

from __future__ import annotations

from orbweaver.study.paper import DEGREES, OVERHEADS, Figure

_friends = tuple(f"friends {pattern}" for pattern in ("random", "low", "high"))
_tables = (*(f"table {pattern}" for pattern in ("random", "low", "high")), "table rvr")
_rates = ("rates random", "rates high", "rates rvr")
_twitter = ("twitter vitis", "twitter rvr", "twitter opt")
OVERHEAD, HOPS = "traffic overhead", "hops"

FIGURES = (
    Figure("friends-overhead", "Fig. 4(a): overhead over the number of friends", "friends",
           OVERHEAD, "traffic_overhead", _friends),
    Figure("friends-delay", "Fig. 4(b): delay over the number of friends", "friends", HOPS,
           "delay_hops_mean", _friends),
    Figure("overheads", "Fig. 5: nodes by their traffic overhead, tables of 15",
           "overhead, tenths of the traffic", "nodes", OVERHEADS, _tables),
    Figure("table-overhead", "Fig. 6(a): overhead over the size of the table", "table size",
           OVERHEAD, "traffic_overhead", _tables),
    Figure("table-delay", "Fig. 6(b): delay over the size of the table", "table size", HOPS,
           "delay_hops_mean", _tables),
    Figure("rates-overhead", "Fig. 7(a): overhead over the skew of rates", "exponent", OVERHEAD,
           "traffic_overhead", _rates),
    Figure("rates-delay", "Fig. 7(b): delay over the skew of rates", "exponent", HOPS,
           "delay_hops_mean", _rates),
    Figure("twitter-hit", "Fig. 10(a): hit ratio on a Twitter sample", "table size", "hit ratio",
           "hit_ratio", _twitter),
    Figure("twitter-overhead", "Fig. 10(b): overhead on a Twitter sample", "table size", OVERHEAD,
           "traffic_overhead", _twitter),
    Figure("twitter-delay", "Fig. 10(c): delay on a Twitter sample", "table size", HOPS,
           "delay_hops_mean", _twitter),
    Figure("opt-degree", "Fig. 11: degrees in OPT without a bound", "links of a node", "nodes",
           DEGREES, ("twitter opt unbounded",)),
    Figure("size-delay", "III-A: delay over the number of nodes", "nodes", HOPS,
           "delay_hops_mean", ("size vitis", "size rvr")),
)  # fmt: skip
