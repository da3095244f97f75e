"""Which algorithm chooses the links."""

from __future__ import annotations

import dataclasses
from math import isfinite
from typing import Literal, get_args

from orbweaver.core.errors import UsageError, nearest

Algorithm = Literal["gm", "lowoda", "minmaxoda"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
RHO = 3.0
"""Default of LowODA's rho, which the OMen paper does not give. Lower values give fewer links
and a higher maximum degree."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """An algorithm, and how many times better a link must be to raise the maximum degree."""

    algorithm: Algorithm
    rho: float = RHO
    """LowODA only."""

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise UsageError(
                f"unknown algorithm '{self.algorithm}': {nearest(self.algorithm, ALGORITHMS)}"
            )
        if not (isfinite(self.rho) and self.rho >= 1):
            raise UsageError(f"rho should be a number of 1 or more, not {self.rho}")
