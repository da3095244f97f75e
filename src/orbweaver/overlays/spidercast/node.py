"""One node's side of SpiderCast."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.overlay import Claims, Timer
from orbweaver.core.topics import Interest
from orbweaver.gossip.maintenance import Aim
from orbweaver.gossip.tasked_mesh import TaskedMesh, TaskedMeshParams
from orbweaver.overlays.spidercast.adaptive import KR_MAX, next_kr
from orbweaver.overlays.spidercast.coverage import GreedyCoverage, RandomCoverage, Ties


class SpiderCastParams(TaskedMeshParams, frozen=True):
    kg: Annotated[
        int, Meta(ge=0, le=100, description="greedy coverage of each topic", title="Sec. 3.3: 3")
    ] = 3
    kr: Annotated[
        int, Meta(ge=0, le=100, description="random coverage of each topic", title="Sec. 3.3: 0")
    ] = 0
    ties: Annotated[
        Ties,
        Meta(
            description="break ties of the greedy choice at random, or in one order that is "
            "common to all nodes",
            title="Fig. 5 l. 8: random",
        ),
    ] = "random"
    adaptive: Annotated[
        bool,
        Meta(
            description="let a node whose links are too alike raise its own kr, up to 3",
            title="proposed in Sec. 3.3.1; stays at kr for the paper's workloads but Zipf 2",
        ),
    ] = True


class SpiderCast(TaskedMesh):
    name: ClassVar[str] = "spidercast"
    summary: ClassVar[str] = "coverage-driven topic-connected overlay"
    paper: ClassVar[str] = "SpiderCast, DEBS 2007"
    Params = SpiderCastParams
    params: SpiderCastParams

    @classmethod
    def claims(cls, params: SpiderCastParams) -> Claims:
        return Claims(
            noiseless=True,
            topic_connected=True,
            total_delivery=True,
            degree_bound="(kg + kr) * interests + margin for each of the two tasks",
        )

    @classmethod
    def degree_bound(cls, params: SpiderCastParams, interest: Interest) -> int:
        kr = max(params.kr, KR_MAX) if params.adaptive else params.kr
        return (params.kg + kr) * len(interest) + 2 * params.margin

    def wake(self, timer: Timer) -> None:
        super().wake(timer)
        if self.params.adaptive and isinstance(timer, tuple):
            self._adapt()

    def status(self) -> dict[str, int]:
        greedy, random = self.tasks
        return {
            "kr": self._random.k,
            "target": greedy.target + random.target,
            "covered": int(greedy.covered and (random.covered or self._random.k == 0)),
        }

    def _aims(self) -> list[Aim]:
        own = lambda: self.interest  # noqa: E731
        rng = self.context.rng
        greedy = GreedyCoverage(self.params.kg, own, self.view, rng, self.params.ties)
        self._random = RandomCoverage(self.params.kr, own, self.view, rng)
        return [greedy, self._random]

    def _adapt(self) -> None:
        greedy, random = self.tasks
        if greedy.covered and (random.covered or self._random.k == 0):
            kr = next_kr(self._random.k, self.params.kg, len(self._peers), len(self.interest))
            if kr != self._random.k:
                self._random.k = kr
                random.covered = False
                random.wake_up()
