"""One publisher, some subscribers, 250 events a second: no event may miss its tree.

SpiderCast still sheds links while the events flow, so trees break and have to be mended. An
event that misses its tree arrives only when it is pulled, after the patience has run out.
"""

import pytest

from orbweaver.core.params import build
from orbweaver.gossip.plumtree.lazy import LazyPush
from orbweaver.gossip.plumtree.missing import MissingEvents
from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.records.recorder import event_name
from orbweaver.testing.cluster import SimCluster

EVENTS = 520
FIRST = 20
"""Events at the beginning that do not count: the publisher has no links on the topic yet."""
PERIOD_S = 0.004
PATIENCE_MS = 700
"""What the patience has grown to on a machine that has been busy."""
LATE_MS = 50
"""No tree of these nodes is as deep, with 1 to 10 ms for each hop."""


CRASH_EVERY = 100


def latencies(subscribers, start_s, seed, crashes=False):
    """Return the latency of each delivery in milliseconds, in ascending order. With `crashes`, a
    subscriber goes down in silence after every `CRASH_EVERY` events."""
    params = build(SpiderCast.Params, {"membership": "gossip"}, "the test")
    cluster = SimCluster(SpiderCast, params, seed)
    cluster.join(0, [])
    for node in range(1, subscribers + 1):
        cluster.join(node, ["t"])
    cluster.run(start_s)
    events = []
    for number in range(EVENTS):
        if crashes and number % CRASH_EVERY == CRASH_EVERY // 2:
            cluster.crash(1 + number // CRASH_EVERY)
        events.append(cluster.publish(0, "t", b"x" * 100))
        cluster.run(PERIOD_S)
    cluster.run(6)
    counted = {event_name(event) for event in events[FIRST:]}
    deliveries = cluster.recorder.records["deliveries"]
    took = zip(deliveries["event"], deliveries["latency_ms"], strict=True)
    return sorted(latency_ms for event, latency_ms in took if event in counted)


@pytest.mark.parametrize(
    ("subscribers", "start_s", "seed"),
    [
        # Runs in which events were late, each before trees were mended in one more case: the
        # feeder is shed while all other links are pruned,
        (20, 5, 7),
        (20, 5, 9),
        (20, 5, 11),
        # a node asks for pushes and is taken for a neighbour that pushes,
        (20, 4, 2),
        (20, 4, 4),
        # two nodes prune all others, because each takes the other for its feeder,
        (40, 5, 0),
        (40, 5, 10),
        # the feeder of a node is shed that feeds all its other neighbours.
        (20, 4, 9),
        (20, 4, 10),
    ],
)
def test_no_event_waits_for_a_pull_while_links_are_shed(subscribers, start_s, seed, monkeypatch):
    monkeypatch.setattr(MissingEvents, "PATIENCE_MS", PATIENCE_MS)
    took = latencies(subscribers, start_s, seed)
    assert len(took) == (EVENTS - FIRST) * subscribers
    assert took[-1] < LATE_MS


@pytest.mark.parametrize("seed", range(3))
def test_after_a_silent_crash_events_wait_for_no_more_than_two_pulls(seed):
    """The failure detector takes `failure_ms` = 3500; announcements and the patience are faster."""
    took = latencies(20, 5, seed, crashes=True)
    assert took[-1] < 2 * (LazyPush.ANNOUNCE_MS + MissingEvents.PATIENCE_MS) + LATE_MS
