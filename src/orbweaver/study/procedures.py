"""Some runs are not simulations: they carry out a procedure.

A *procedure* computes what a paper measures without a simulated network: the plan that a
centralised algorithm makes at each change, or the processor time of a function. A scenario names
it in place of an overlay, so a run of a procedure has an identity, a place in a
study and a line in the store of results like any simulated run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

from orbweaver.core.params import Params
from orbweaver.workload.scenario import Scenario, Workload


@dataclasses.dataclass(frozen=True)
class Findings:
    """What is kept of a run of a procedure, under the names that simulated runs have."""

    metrics: Mapping[str, Any]
    snapshots: tuple[Mapping[str, Any], ...] = ()
    degree_histogram: dict[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Procedure:
    name: str
    Params: type[Params]
    carry_out: Callable[[Scenario, Workload, int], Findings]
    """Takes a scenario, its workload and a seed."""


PROCEDURES = {
    "interest-locality": "orbweaver.study.rappel.locality:LOCALITY",
    "omen-backups": "orbweaver.study.omen.population:BACKUPS",
    "omen-replay": "orbweaver.study.omen.mending:MENDING",
    "omen-repairs": "orbweaver.study.omen.repairs:REPAIRS",
    "lowoda-inc": "orbweaver.study.omen.replay:INCREMENTAL",
    "lowoda-re": "orbweaver.study.omen.replay:RECONSTRUCTED",
}
"""Name -> module and attribute. A module is loaded when its procedure is carried out."""


def find_procedure(name: str) -> Procedure:
    module, _, attribute = PROCEDURES[name].partition(":")
    return cast(Procedure, getattr(import_module(module), attribute))
