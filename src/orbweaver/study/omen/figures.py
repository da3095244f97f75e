"""OMen's figures, and which of our series go into each."""

from __future__ import annotations

from orbweaver.study.omen.experiments import RHO
from orbweaver.study.paper import DEGREES, Figure

FIGURES = (
    Figure("backups-primal-dual", "Fig. 3: in-degrees of backups by primal-dual, uniform",
           "backup sets that a node is in", "nodes", DEGREES, ("backups uniform, primal-dual",)),
    Figure("backups-greedy", "Fig. 4: in-degrees of backups by greedy, uniform",
           "backup sets that a node is in", "nodes", DEGREES, ("backups uniform, greedy",)),
    Figure("views", "6.4: mean local view over the coverage factor", "coverage factor",
           "entries", "view_mean", ("views FB",),
           paper={"views FB": {1: 21.02, 3: 40.49, 5: 48.40, 9: 57.59}}),
    Figure("coverage", "Fig. 8(b): maximum degree after the last round over the coverage factor",
           "coverage factor", "maximum degree", "degree_max", ("OMen FB, coverage",)),
    Figure("degrees", "Fig. 9: maximum degree after the last round over the size of the sample",
           "nodes", "maximum degree", "degree_max",
           (f"omen FB, rho {RHO:g}", f"lowoda-re FB, rho {RHO:g}", "spidercast (3,1) FB",
            "spidercast (4,0) FB")),
)  # fmt: skip
