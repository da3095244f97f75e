"""The runs that OMen's claims need.

Churn is a sequence of rounds, as in the paper: one machine of the trace comes or goes in each, and
the next round begins when the last one has been dealt with. All overlays but SpiderCast start from
the links that LowODA plans (6.5), and all meet the same rounds. Peers are sampled by an oracle,
which stands in for the peer-sampling service of the paper's simulator. At the paper's own scale
OMen is replayed by its parts (`mending`) instead, and the nodes of SpiderCast say that they leave,
so that heartbeats can be rare.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orbweaver.overlays.omen import OMenParams
from orbweaver.study.omen.scales import GRAPHS, Scale
from orbweaver.study.paper import Experiment
from orbweaver.workload.scenario import (
    ChurnSpec,
    LinksSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    StudySpec,
    WorkloadSpec,
)

ROUND_MS = 8000
"""From one change to the next. A crash is noticed after 3.5 to 4.5 s of silence, and repaired in
a second or two."""
WARMUP_MS = 12_000
"""Before the first change: views get ready in this time."""
TEXTBOOK_MAX = 1000
"""Nodes up to which LowODA is planned by the textbook, too."""
RHO = 3.0
RHOS = (1.5, 3.0)
DIAMETER_RHOS = (1.5, 2.0, RHO)
"""The paper does not say for which rho its topic diameters are (O10)."""
LAWS = {"uniform": "uniform", "Zipf": "zipf:2", "exponential": "nyse"}
"""Name in the paper -> popularity. The rate of the exponential is not given; with that of the
New York Stock Exchange the top tenth of the topics holds 55 %."""
CONTACTS = 5
"""Nodes that a node of SpiderCast is told of when it starts, where peers are sampled by gossip."""
L = 3
"""Resilience of the runs in which groups crash."""
STEP_MS = 500
"""How often the overlay is looked at after a group has crashed."""
GROUP_MS = 30_000
"""From one group to the next: half of it down, half of it up again."""
RARE_MS = 60_000
"""Heartbeats of SpiderCast where nodes say that they leave."""
SPIDERCAST: dict[str, dict[str, Any]] = {
    "spidercast (3,1)": {"kg": 3, "kr": 1, "adaptive": False},
    "spidercast (4,0)": {"kg": 4, "kr": 0, "adaptive": False},
}


ALONE = "orbweaver.study.omen.alone:OMenAlone"
"""OMen without our safety net, so that what mends the overlay are its coordinators."""


def drawn(scale: Scale, law: str, nodes: int) -> WorkloadSpec:
    """Sec. 6.1: 200 topics, 10 to 90 subscriptions by a power law. Its exponent is not given."""
    return WorkloadSpec(
        nodes=nodes, topics=200, subscriptions_per_node="powerlaw:10:90:2", popularity=LAWS[law]
    )


def sampled(scale: Scale, traces: Path, graph: str, nodes: int) -> WorkloadSpec:
    return WorkloadSpec(file=str(scale.sample(graph, nodes).folder(traces)))


def procedure(label: str, x: float, name: str, workload: WorkloadSpec, **params: Any) -> Scenario:
    return Scenario(
        overlay=name, params=params, workload=workload, study=StudySpec(series=label, x=x)
    )


def under_churn(
    label: str, x: float, overlay: str, workload: WorkloadSpec, scale: Scale, traces: Path,
    rho: float = RHO, counted: bool = False, **params: Any,
) -> Scenario:  # fmt: skip
    """A run over the rounds of the trace, looked at just before each next round. With `counted`,
    the messages of each round are what matters."""
    rounds = scale.counted_rounds if counted else scale.rounds
    end_ms = WARMUP_MS + (rounds + 1) * ROUND_MS
    links = LinksSpec(design="lowoda", rho=rho) if overlay == "omen" else LinksSpec()
    every = 1 if counted else scale.looked
    announced = overlay == "spidercast" and scale.replayed and not counted
    if overlay != "spidercast":
        params |= {"rho": rho}
    elif announced:
        params |= {"heartbeat_ms": RARE_MS, "failure_ms": 4 * RARE_MS}
    if overlay in ("omen", "spidercast"):
        params = {"membership": "full"} | params
    if overlay == "omen":
        params |= {"contacts_are_links": True}
    return Scenario(
        overlay=overlay,
        params=without_defaults(params),
        study=StudySpec(series=label, x=x),
        workload=workload,
        links=links,
        churn=ChurnSpec(
            model="file",
            file=str(scale.machines.folder(traces)),
            down="leave" if announced else "crash",
            nodes="in order",
            start_ms=WARMUP_MS,
            skip_ms=1,
            every_ms=ROUND_MS,
        ),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(
            warmup_ms=WARMUP_MS,
            duration_ms=end_ms,
            snapshots_ms=tuple(
                WARMUP_MS + (i + 1) * ROUND_MS - 1 for i in range(every, rounds + 1, every)
            ),
            contacts=CONTACTS if params.get("membership") == "gossip" and not links.design else 0,
            records="counters",
            measure_bytes=False,
        ),
    )


def omen(scale: Scale) -> str:
    """Return what stands for OMen under the trace: the overlay, or its parts."""
    return "omen-replay" if scale.replayed else "omen"


def without_defaults(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that change something: what several experiments share is run once."""
    defaults = OMenParams()
    return {n: v for n, v in params.items() if getattr(defaults, n, None) != v}


def backups(law: str, method: str) -> Experiment:
    """6.3: the backup sets of all nodes, coverage 3."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        label, nodes = f"backups {law}, {method}", scale.population
        workload = drawn(scale, law, nodes)
        return [procedure(label, nodes, "omen-backups", workload, backups=method)]

    return made


def views(scale: Scale, traces: Path) -> list[Scenario]:
    """6.4: the local views of all nodes over the coverage factor."""
    workload = sampled(scale, traces, "FB", scale.planned[0])
    return [
        procedure("views FB", x, "omen-backups", workload, coverage=x, rho=RHO)
        for x in (1, 3, 5, 9)
    ]


def greedy(method: str) -> Experiment:
    """6.3: OMen-G under churn, with L = 1 and coverage 3."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        nodes = scale.synthetic
        workload = drawn(scale, "uniform", nodes)
        omen_g: dict[str, Any] = {"resilience": 1, "omen_g": "candidates"}
        if scale.replayed:
            omen_g = {"known": 0}
        return [
            under_churn(f"OMen-G {method}", nodes, omen(scale), workload, scale, traces,
                        coverage=3, backups=method, **omen_g)
        ]  # fmt: skip

    return made


def coverages(scale: Scale, traces: Path) -> list[Scenario]:
    """6.4: over the coverage factor."""
    workload = sampled(scale, traces, "FB", scale.compared)
    return [
        under_churn("OMen FB, coverage", x, omen(scale), workload, scale, traces, coverage=x)
        for x in scale.coverages
    ]


def mended(graph: str, rho: float) -> Experiment:
    """6.5: OMen on social samples."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        label = f"omen {graph}, rho {rho:g}"
        sizes = scale.sampled if graph == "FB" and rho == RHO else (scale.compared,)
        return [
            under_churn(label, n, omen(scale), sampled(scale, traces, graph, n), scale, traces, rho)
            for n in sizes
        ]

    return made


def counted(name: str, membership: str) -> Experiment:
    """6.8: messages. At most scales the runs with an oracle are ones that degrees need, too."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        nodes = scale.compared
        workload = sampled(scale, traces, "TW", nodes)
        overlay = "omen" if name == "omen" else "spidercast"
        return [
            under_churn(messages_of(name, membership), nodes, overlay, workload, scale, traces,
                        counted=True, membership=membership, **SPIDERCAST.get(name, {}))
        ]  # fmt: skip

    return made


def messages_of(name: str, membership: str) -> str:
    return f"messages of {name} TW, {'oracle' if membership == 'full' else 'gossip'}"


def planned(graph: str, overlay: str, rho: float) -> Experiment:
    """6.5: a centralised design on the same samples, and OMen replayed beside OMen simulated."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        if scale.replayed and overlay == "omen-replay":
            return []  # OMen is replayed anyway, and there is no simulation to compare with
        label, nodes = f"{overlay} {graph}, rho {rho:g}", scale.compared
        workload = sampled(scale, traces, graph, nodes)
        return [under_churn(label, nodes, overlay, workload, scale, traces, rho)]

    return made


def spidercast(graph: str, name: str) -> Experiment:
    """6.5: SpiderCast on the same samples. It starts from links of its own choice."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        sizes = scale.sampled if graph == "FB" else (scale.compared,)
        return [
            under_churn(f"{name} {graph}", n, "spidercast", sampled(scale, traces, graph, n),
                        scale, traces, **SPIDERCAST[name])
            for n in sizes
        ]  # fmt: skip

    return made


def repairs(scale: Scale, traces: Path) -> list[Scenario]:
    """6.6: the processor time of one repair. The textbook's LowODA would take hours at 10,000."""
    return [
        procedure("repairs FB", n, "omen-repairs", sampled(scale, traces, "FB", n), **settings)
        for n in scale.planned
        for settings in [{} if n <= TEXTBOOK_MAX else {"textbook": False}]
    ]


def together(coverage: int) -> Experiment:
    """3.3: L overlay neighbours crash at once, and come back at once, again and again."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        nodes = min(100, scale.synthetic)
        first, every = WARMUP_MS, GROUP_MS
        downs = [first + i * every for i in range(scale.groups)]
        looks = [down + i for down in downs for i in range(STEP_MS, every // 2, STEP_MS)]
        looks += [down + every - 1 for down in downs]
        end_ms = downs[-1] + every - 1
        return [
            Scenario(
                overlay=ALONE,
                params={"membership": "full", "contacts_are_links": True, "resilience": L}
                | ({"coverage": coverage} if coverage != OMenParams().coverage else {}),
                study=StudySpec(series=f"groups, coverage {coverage}", x=nodes),
                workload=drawn(scale, "uniform", nodes),
                links=LinksSpec(design="lowoda"),
                churn=ChurnSpec(
                    model="neighbors", together=L, down="crash", start_ms=first, every_ms=every
                ),
                publish=PublishSpec(per_topic=0),
                run=RunSpec(
                    warmup_ms=first,
                    duration_ms=end_ms,
                    snapshots_ms=tuple(sorted(looks)),
                    contacts=0,
                    records="counters",
                    measure_bytes=False,
                ),
            )
        ]

    return made


PLANNED = {"lowoda-re": RHOS, "lowoda-inc": (RHO,), "omen-replay": (RHO,)}
"""What OMen is compared with on each graph, and for which rho."""
COUNTED = ("omen", "spidercast (3,1)")
"""The overlays whose messages are counted (O11)."""
METHODS = ("primal-dual", "greedy")
EXPERIMENTS: dict[str, Experiment] = {
    **{f"backups {law}, {method}": backups(law, method) for law in LAWS for method in METHODS},
    "views FB": views,
    **{f"OMen-G {method}": greedy(method) for method in METHODS},
    "OMen FB, coverage": coverages,
    **{f"omen {graph}, rho {rho:g}": mended(graph, rho) for graph in GRAPHS for rho in RHOS},
    **{f"omen TW, rho {rho:g}": mended("TW", rho) for rho in DIAMETER_RHOS},
    **{
        f"{overlay} {graph}, rho {rho:g}": planned(graph, overlay, rho)
        for overlay, rhos in PLANNED.items()
        for graph in GRAPHS
        for rho in rhos
    },
    **{
        messages_of(name, membership): counted(name, membership)
        for name in COUNTED
        for membership in ("full", "gossip")
    },
    **{f"{name} {graph}": spidercast(graph, name) for name in SPIDERCAST for graph in ("FB", "TW")},
    "repairs FB": repairs,
    **{f"groups, coverage {coverage}": together(coverage) for coverage in (1, 5)},
}
