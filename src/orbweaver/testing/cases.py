"""These are the cases of the contract suite. Each takes a fresh cluster and asserts.

A case that an overlay does not promise to pass is skipped for it; the claims say so, and
`needs` names the claim.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from typing import Any

try:
    import pytest
except ImportError:
    raise ImportError(
        "orbweaver.testing needs pytest, which is not installed: pip install pytest"
    ) from None

from orbweaver.core.errors import ProtocolError
from orbweaver.core.messages import Event, Message
from orbweaver.core.overlay import Claims, Overlay
from orbweaver.core.params import describe
from orbweaver.core.seeds import generator, sample
from orbweaver.core.topics import TopicTable
from orbweaver.metrics.snapshot import from_graph
from orbweaver.metrics.topics import shapes
from orbweaver.testing.cluster import Cluster, make_cluster

Case = Callable[[Cluster], None]
CASES: list[Case] = []
_NEEDS: dict[Case, str] = {}

TOPICS = ("news", "news/sport", "weather", "märkte", "games")
NODES = 16
SETTLE_S = 15.0

QUICK: dict[str, dict[str, Any]] = {
    # Rappel pings and audits twice a minute. Here its periods are some thirty times shorter.
    "rappel": {
        "ping_ms": 1000,
        "timeout_ms": 900,
        "audit_ms": 1000,
        "rapid_audit_ms": 200,
        "rejoin_ms": 4000,
        "join_ms": 400,
        "stagger_ms": 200,
        "probe_ms": 20,
        "warmup_ms": 400,
        "gossip_ms": 300,
        "samples": 10,
    },
    # Scribe sends heartbeats and renews its trees twice a minute.
    "scribe": {
        "join_ms": 300,
        "heartbeat_ms": 1000,
        "probe_ms": 300,
        "table_ms": 5000,
        "relay_ms": 1000,
        "beat_ms": 500,
    },
}
"""Settings with which an overlay that is slow by design forms within `SETTLE_S`."""


def case(needs: str = "") -> Callable[[Case], Case]:
    def register(function: Case) -> Case:
        CASES.append(function)
        _NEEDS[function] = needs
        return function

    return register


def run_case(
    case: Case, overlay: type[Overlay], host: str, settings: dict[str, Any] | None = None,
    seed: int = 1,
) -> None:  # fmt: skip
    """Run one case, or skip it if the overlay does not promise what the case checks."""
    cluster = make_cluster(overlay, host, settings or {}, seed)
    claim = _NEEDS[case]
    claims: Claims = overlay.claims(cluster.params)
    try:
        with closing(cluster):
            if claim and not getattr(claims, claim):
                pytest.skip(f"{overlay.name} does not promise {claim.replace('_', ' ')}")
            case(cluster)
            check_counts(cluster)
    except Exception as error:
        error.add_note(
            f"case {case.__name__} of {overlay.name} on host {host}, seed {seed}; replay:\n"
            f"  {replay_command(case, overlay, host, settings or {}, seed)}"
        )
        raise


def replay_command(
    case: Case, overlay: type[Overlay], host: str, settings: dict[str, Any], seed: int
) -> str:
    """Return a command that repeats one case, if the overlay's module can be imported."""
    code = (
        f"from orbweaver.testing import cases; from {overlay.__module__} import "
        f"{overlay.__name__}; cases.run_case(cases.{case.__name__}, {overlay.__name__}, "
        f"{host!r}, {settings!r}, seed={seed})"
    )
    return shlex.join(["python", "-c", code])


def memberships(overlay: type[Overlay], host: str) -> list[dict[str, Any]]:
    """Return the ways in which nodes can learn of each other on a host, as settings, gossip last.
    Only the simulator has a directory; on other hosts membership is gossiped. Some overlays support
    gossip only."""
    if "membership" not in {param.name for param in describe(overlay.Params)}:
        return [QUICK.get(overlay.name, {})]
    return [{"membership": h} for h in (["full", "gossip"] if host == "simulator" else ["gossip"])]


def interests() -> dict[int, list[str]]:
    """Return three topics for each node; every topic has subscribers."""
    rng = generator("interests", 0)
    return {n: [TOPICS[n % len(TOPICS)], *sample(rng, TOPICS, 3)][:3] for n in range(NODES)}


def started(cluster: Cluster) -> dict[int, list[str]]:
    wanted = {node: list(dict.fromkeys(topics)) for node, topics in interests().items()}
    for node, topics in wanted.items():
        cluster.join(node, topics)
    for _ in range(round(SETTLE_S)):
        cluster.run(1.0)
        check_counts(cluster)
    return wanted


def owed(wanted: dict[int, list[str]], events: list[Event]) -> set[tuple[int, Event]]:
    return {
        (n, e) for e in events for n, ts in wanted.items() if e.topic in ts and n != e.publisher
    }


def publish_round(cluster: Cluster, wanted: dict[int, list[str]], mark: str) -> list[Event]:
    """Each node publishes once on the first of its topics."""
    events = []
    for node, topics in wanted.items():
        events.append(cluster.publish(node, topics[0], f"{mark} of {node}".encode()))
        cluster.run(0.05)
        check_counts(cluster)
    return events


def check_got(cluster: Cluster, due: set[tuple[int, Event]]) -> None:
    """Check that every expected delivery happened."""
    _check_none(due - set(cluster.deliveries), "node {node} did not get {event}")


def check_got_no_more(cluster: Cluster, due: set[tuple[int, Event]]) -> None:
    """Check that only the expected deliveries happened."""
    _check_none(set(cluster.deliveries) - due, "node {node} got {event}, which is not for it")


def _check_none(wrong: Collection[tuple[int, Event]], text: str) -> None:
    """Fail if there are any pairs of a node and an event, and name the first."""
    if wrong:
        node, event = min(wrong, key=lambda pair: (pair[0], pair[1].publisher, pair[1].seq))
        told = text.format(node=node, event=tell_event(event))
        raise AssertionError(f"{told} ({len(wrong)} such in all)")


def tell_event(event: Event) -> str:
    """Name an event for a message: its publisher, its number at this publisher, and its topic."""
    return (
        f"event {event.seq} of node {event.publisher} on '{event.topic}' "
        f"({bytes(event.payload[:40])!r})"
    )


def check_promises(cluster: Cluster) -> None:
    """Check what must hold in every run."""
    twice = [pair for pair, times in Counter(cluster.deliveries).items() if times > 1]
    _check_none(twice, "node {node} got {event} more than once")
    if cluster.overlay.claims(cluster.params).noiseless:
        _check_none(cluster.noise, "node {node} has no interest in {event} and received it")
    for node, topics in cluster.up().items():
        interest = TopicTable().interest(topics)
        bound = cluster.overlay.degree_bound(cluster.params, interest)
        links = cluster.links(node)
        assert bound is None or len(links) <= bound, (
            f"node {node} has {len(links)} links where its degree bound is {bound}: {links}"
        )


def check_counts(cluster: Cluster) -> None:
    """Check that what the overlay promises to be zero at all times is zero now."""
    promised = cluster.overlay.claims(cluster.params).always_zero
    for node in cluster.up() if promised else ():
        status = cluster.status(node)
        for name in promised:
            assert status[name] == 0, f"{name} of node {node} is {status[name]} instead of 0"


@case("total_delivery")
def every_subscriber_gets_every_event(cluster: Cluster) -> None:
    wanted = started(cluster)
    events = [e for mark in ("first", "second") for e in publish_round(cluster, wanted, mark)]
    cluster.run(5)
    check_got(cluster, owed(wanted, events))
    check_got_no_more(cluster, owed(wanted, events))
    check_promises(cluster)


@case()
def nothing_is_invented_nor_misdelivered(cluster: Cluster) -> None:
    wanted = started(cluster)
    events = publish_round(cluster, wanted, "only")
    cluster.run(5)
    assert cluster.deliveries, "nothing was delivered at all"
    check_got_no_more(cluster, owed(wanted, events))
    check_promises(cluster)


@case()
def links_have_two_ends(cluster: Cluster) -> None:
    started(cluster)
    assert any(cluster.links(node) for node in cluster.up()), "no node has a link"
    for node in cluster.up():
        for peer in cluster.links(node):
            assert node in cluster.links(peer), f"{node} holds a link that {peer} does not"
            assert peer != node, f"node {node} holds a link to itself"


@case("topic_connected")
def each_topic_is_connected(cluster: Cluster) -> None:
    started(cluster)
    _assert_connected(cluster)


@case("total_delivery")
def latecomers_get_what_comes_later(cluster: Cluster) -> None:
    wanted = started(cluster)
    before = publish_round(cluster, wanted, "before")
    cluster.run(5)
    cluster.join(40, ["news"])
    cluster.run(SETTLE_S)
    after = publish_round(cluster, wanted, "after")
    cluster.run(5)
    check_got(cluster, {(40, event) for event in after if event.topic == "news"})
    late = wanted | {40: ["news"]}
    check_got_no_more(cluster, owed(wanted, before) | owed(late, after))
    check_promises(cluster)


@case("topic_connected")
def a_leaver_is_let_go(cluster: Cluster) -> None:
    started(cluster)
    for node in (0, 5, 10):
        cluster.leave(node)
    cluster.run(SETTLE_S)
    for node in cluster.up():
        gone = {0, 5, 10} & {*cluster.links(node)}
        assert not gone, f"node {node} holds links to {sorted(gone)}, which have left"
    _assert_connected(cluster)


@case("total_delivery")
def crashes_heal(cluster: Cluster) -> None:
    """Inject faults, heal them, then demand full recovery."""
    wanted = started(cluster)
    for node in (1, 6, 11, 12):
        cluster.crash(node)
        del wanted[node]
    cluster.run(SETTLE_S)
    events = publish_round(cluster, wanted, "after the crash")
    cluster.run(5)
    check_got(cluster, owed(wanted, events))
    check_promises(cluster)


@case("total_delivery")
def a_node_that_comes_back_is_served(cluster: Cluster) -> None:
    wanted = started(cluster)
    first = publish_round(cluster, wanted, "first life")
    cluster.crash(3)
    cluster.run(SETTLE_S)
    cluster.join(3, wanted[3])
    cluster.run(SETTLE_S)
    second = publish_round(cluster, wanted, "second life")
    cluster.run(5)
    check_got(cluster, owed(wanted, second))
    assert not set(first) & set(second), "an event of the new life has the name of an old one"
    check_promises(cluster)


@case("total_delivery")
def subscriptions_change(cluster: Cluster) -> None:
    wanted = started(cluster)
    cluster.subscribe(2, "chess")
    cluster.subscribe(9, "chess")
    dropped = wanted[4].pop()
    cluster.unsubscribe(4, dropped)
    cluster.run(SETTLE_S)
    wanted[2].append("chess")
    wanted[9].append("chess")
    events = [cluster.publish(2, "chess"), *publish_round(cluster, wanted, "changed")]
    cluster.run(5)
    check_got(cluster, owed(wanted, events))
    check_got_no_more(cluster, owed(wanted, events))
    check_promises(cluster)


@case("total_delivery")
def publishing_needs_no_subscription(cluster: Cluster) -> None:
    wanted = started(cluster)
    cluster.join(50, ["games"])
    cluster.run(SETTLE_S)
    event = cluster.publish(50, "weather", b"from outside")
    cluster.run(SETTLE_S)
    check_got(cluster, owed(wanted, [event]))
    check_got_no_more(cluster, owed(wanted, [event]))
    check_promises(cluster)


@case("total_delivery")
def early_events_are_kept_until_the_overlay_forms(cluster: Cluster) -> None:
    for node in range(4):
        cluster.join(node, ["news"])
    event = cluster.publish(0, "news", b"early")
    cluster.run(SETTLE_S)
    check_got(cluster, {(node, event) for node in (1, 2, 3)})
    check_got_no_more(cluster, {(node, event) for node in (1, 2, 3)})


@case("total_delivery")
def lost_messages_are_made_up_for(cluster: Cluster) -> None:
    wanted = started(cluster)
    publish_round(cluster, wanted, "warm")
    cluster.run(3)
    cluster.lose(0.05)
    events = publish_round(cluster, wanted, "through the storm")
    cluster.run(5)
    cluster.lose(0.0)
    cluster.run(SETTLE_S)
    late = publish_round(cluster, wanted, "after it")
    cluster.run(5)
    check_got(cluster, owed(wanted, events + late))
    check_promises(cluster)


@case()
def a_lone_node_is_content(cluster: Cluster) -> None:
    cluster.join(0, ["news"])
    cluster.publish(0, "news", b"anybody?")
    cluster.run(SETTLE_S)
    assert cluster.links(0) == [], "the only node, 0, has links"
    check_got_no_more(cluster, set())


@case()
def unknown_messages_are_refused(cluster: Cluster) -> None:
    class Rubbish(Message, frozen=True, tag="rubbish"):
        pass

    cluster.join(0, ["news"])
    with pytest.raises(ProtocolError):
        cluster.hand(0, 1, Rubbish())


def _assert_connected(cluster: Cluster) -> None:
    up = cluster.up()
    edges = [(a, int(b)) for a in up for b in cluster.links(a) if b in up]
    for shape in shapes(from_graph(dict(up), edges), with_distances=False):
        assert shape.components == 1, f"topic {shape.topic} falls into {shape.components} parts"
