"""The sizes and times of Rappel's evaluation at each scale."""

from __future__ import annotations

import dataclasses

from orbweaver.study.traces import Trace
from orbweaver.workload.scenario import ChurnSpec

LATENCIES = Trace("latencies", "latency/planetlab490_rtt_t01.txt.gz", "latency-matrix")
SESSIONS = Trace("sessions", "churn/p2p_livestream_sessions_2020_06_01.csv.gz", "sessions")
GROUPS = "subscriptions/youtube_groupmemberships.txt.gz"
ALL_GROUPS = Trace("youtube_groupmemberships-whole", GROUPS, "pairs")
"""The whole trace, under the name of the tables that samples are cut from: it is read once."""
HOUR_MS = 3_600_000


@dataclasses.dataclass(frozen=True)
class Scale:
    name: str
    subscribers: int
    """Subscribers of the one feed of R3."""
    outage_min: int
    """When half of these subscribers crash, in minutes."""
    return_min: int
    """When they come back, in minutes."""
    tree_min: int
    """Length of R3's run, in minutes."""
    sizes: tuple[int, int]
    """Subscribers of one feed without churn (R9)."""
    still_min: int
    """Length of the runs without churn, in minutes."""
    peers: int
    """Nodes of the runs with churn, not all of which are up at a time."""
    churn: ChurnSpec
    """Without its file, where it has one."""
    calm_min: int
    """When churn begins, in minutes."""
    churn_min: int
    """Length of the runs with churn, in minutes."""
    sampled: int
    """Most nodes in the sample of subscriptions; 0 takes all that the method gives."""
    feeds: int
    """Feeds in the sample of subscriptions."""
    friends_min: int
    """Length of the runs on the sample, in minutes."""
    compared: int
    """Subscribers of a feed where Rappel is set beside Scribe."""
    compared_min: int
    """Length of these runs, in minutes."""
    users: int
    """Users whose best friends are sought (R1)."""

    @property
    def groups(self) -> Trace:
        """The feeds most subscribed to in a universe of users (6.1.2 and 6.3)."""
        return Trace(
            f"groups {self.sampled or 'all'} {self.feeds}",
            GROUPS,
            "pairs",
            method="seed-universe",
            settings={"seeds": 250, "topics": self.feeds}
            | ({"nodes": self.sampled} if self.sampled else {}),
        )


def sessions(skip_h: float, speed: float) -> ChurnSpec:
    """Sessions of a day of live streaming, slowed down to about the hourly churn of the paper's
    trace: 30 of 5000 nodes leave in a minute, which is 36 % in an hour."""
    return ChurnSpec(
        model="file", nodes="in order", down="crash", speed=speed, skip_ms=round(skip_h * HOUR_MS)
    )


SCALES = {
    "quick": Scale(
        name="the paper's 250 subscribers for a third of the time; 500 in place of 10,000, and 254 "
        "in place of 5582 for what friends cover",
        subscribers=250,
        outage_min=40,
        return_min=60,
        tree_min=80,
        sizes=(250, 500),
        still_min=40,
        peers=400,
        churn=sessions(16, 0.3),
        calm_min=40,
        churn_min=80,
        sampled=400,
        feeds=40,
        friends_min=50,
        compared=40,
        compared_min=50,
        users=300,
    ),
    "middle": Scale(
        name="the paper's 250 subscribers for its 4 hours; 1000 and 2000 in place of 5000 and "
        "10,000, and 1860 in place of 5582, for 2 hours, for what friends cover",
        subscribers=250,
        outage_min=120,
        return_min=180,
        tree_min=240,
        sizes=(1000, 2000),
        still_min=60,
        peers=1500,
        churn=sessions(20, 0.2),
        calm_min=60,
        churn_min=120,
        sampled=0,
        feeds=100,
        friends_min=120,
        compared=200,
        compared_min=40,
        users=1000,
    ),
    "full": Scale(
        name="the paper's own, but for the number of users in the trace of subscriptions",
        subscribers=250,
        outage_min=120,
        return_min=180,
        tree_min=240,
        sizes=(5000, 10_000),
        still_min=240,
        peers=5300,
        # The trace of sessions has 805 peers at its peak. Of these nodes 5000 are up at a time, and
        # 30 come and go in a minute.
        churn=ChurnSpec(model="exponential", on_ms=10_000_000, off_ms=600_000, down="crash"),
        calm_min=60,
        churn_min=280,
        sampled=0,
        feeds=100,
        friends_min=480,
        compared=500,
        compared_min=60,
        users=1000,
    ),
}
TRACES = {
    name: (
        LATENCIES,
        ALL_GROUPS,
        *([SESSIONS] if scale.churn.model == "file" else []),
        scale.groups,
    )
    for name, scale in SCALES.items()
}
