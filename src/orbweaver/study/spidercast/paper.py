"""These are the numbers that the paper reports."""

from __future__ import annotations

SIZES = (1000, 2000, 4000, 6000, 8000, 10000)

TABLE_12: dict[str, tuple[float, ...]] = {
    "spidercast": (10.81, 10.11, 9.53, 9.24, 9.08, 8.95),
    "similarity(10,0)": (10.08, 10.07, 10.08, 10.09, 10.08, 10.08),
    "similarity(9,1)": (10.22, 10.22, 10.20, 10.22, 10.21, 10.22),
    "similarity(8,2)": (10.20, 10.19, 10.19, 10.20, 10.20, 10.20),
    "similarity(7,3)": (10.21, 10.21, 10.20, 10.22, 10.21, 10.21),
    "random(10)": (10.82, 10.54, 10.34, 10.12, 10.08, 10.11),
    "similarity(20,0)": (20.04, 20.04, 20.04, 20.04, 20.03, 20.04),
}
"""Average degree at each of `SIZES` (Table 12)."""

DIAMETERS = {"uniform": 6, "spidercast": 6, "zipf:1": 7, "nyse": 8}
"""Maximum topic diameter by popularity (Sec. 3.4), from the highest mean degree to the
lowest; "spidercast" is the base setting, RSS popularity."""

ZIPF2_PARTITIONED = (0, 0, 0, 15, 14, 14)
"""Partitioned topics at each of `SIZES` with Zipf 2 and (3,0) (Table 6a)."""

ZIPF2_DEGREE = {"zipf2 (3,0)": 7.0, "zipf2 (3,1)": 13.0}
"""Approximate average degrees, from the text beside Fig. 6(b)."""

CHURN = {1250: (13.0, 38.0), 2500: (12.0, 34.0)}
"""Number of nodes -> (average degree, control messages for each join or leave), Sec. 3.8."""


def table_12(label: str, sizes: list[float]) -> list[float]:
    return [TABLE_12[label][SIZES.index(int(size))] for size in sizes]
