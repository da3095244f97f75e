"""Vitis' figures, and which of our series go into each."""

from __future__ import annotations

from orbweaver.study.paper import Figure

_friends = tuple(f"friends {pattern}" for pattern in ("random", "low", "high"))
_tables = (*(f"table {pattern}" for pattern in ("random", "low", "high")), "table rvr")
_rates = ("rates random", "rates high", "rates rvr")
OVERHEAD, HOPS = "traffic overhead", "hops"

FIGURES = (
    Figure("friends-overhead", "Fig. 4(a): overhead over the number of friends", "friends",
           OVERHEAD, "traffic_overhead", _friends),
    Figure("friends-delay", "Fig. 4(b): delay over the number of friends", "friends", HOPS,
           "delay_hops_mean", _friends),
    Figure("table-overhead", "Fig. 6(a): overhead over the size of the table", "table size",
           OVERHEAD, "traffic_overhead", _tables),
    Figure("table-delay", "Fig. 6(b): delay over the size of the table", "table size", HOPS,
           "delay_hops_mean", _tables),
    Figure("rates-overhead", "Fig. 7(a): overhead over the skew of rates", "exponent", OVERHEAD,
           "traffic_overhead", _rates),
    Figure("rates-delay", "Fig. 7(b): delay over the skew of rates", "exponent", HOPS,
           "delay_hops_mean", _rates),
    Figure("size-delay", "III-A: delay over the number of nodes", "nodes", HOPS,
           "delay_hops_mean", ("size vitis", "size rvr")),
)  # fmt: skip
