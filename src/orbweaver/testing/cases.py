"""The cases of the contract suite. Each takes a fresh cluster and asserts.

A case that an overlay does not promise to pass is skipped for it; the claims say so, and
`needs` names the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

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
    """Run one case, or skip it when the overlay does not promise what it is about."""
    cluster = make_cluster(overlay, host, settings or {}, seed)
    claim = _NEEDS[case]
    claims: Claims = overlay.claims(cluster.params)
    try:
        with closing(cluster):
            if claim and not getattr(claims, claim):
                pytest.skip(f"{overlay.name} does not promise {claim.replace('_', ' ')}")
            case(cluster)
    except AssertionError as error:
        error.add_note(
            f"replay: run_case({case.__name__}, {overlay.__name__}, {host!r}, "
            f"{settings or {}!r}, seed={seed})"
        )
        raise


def memberships(overlay: type[Overlay], host: str) -> list[dict[str, Any]]:
    """How nodes can learn of each other on a host, as settings, gossip last. Only the
    simulator has a directory; elsewhere membership is gossiped. Some overlays know no
    other."""
    if "membership" not in {param.name for param in describe(overlay.Params)}:
        return [{}]
    return [{"membership": h} for h in (["full", "gossip"] if host == "simulator" else ["gossip"])]


def interests(nodes: int = NODES, seed: int = 0) -> dict[int, list[str]]:
    """Three topics for each node; every topic has subscribers."""
    rng = generator("interests", seed)
    return {n: [TOPICS[n % len(TOPICS)], *sample(rng, TOPICS, 3)][:3] for n in range(nodes)}


def started(cluster: Cluster) -> dict[int, list[str]]:
    wanted = {node: list(dict.fromkeys(topics)) for node, topics in interests().items()}
    for node, topics in wanted.items():
        cluster.join(node, topics)
    cluster.run(SETTLE_S)
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
    return events


def check_promises(cluster: Cluster) -> None:
    """What must hold of every run, whatever happened."""
    assert len({(n, e) for n, e in cluster.deliveries}) == len(cluster.deliveries), "twice"
    if cluster.overlay.claims(cluster.params).noiseless:
        assert not cluster.noise, f"uninterested nodes got events: {cluster.noise[:3]}"
    for node, topics in cluster.up().items():
        interest = TopicTable().interest(topics)
        bound = cluster.overlay.degree_bound(cluster.params, interest)
        assert bound is None or len(cluster.links(node)) <= bound, f"degree of {node}"


@case("total_delivery")
def everybody_gets_everything(cluster: Cluster) -> None:
    wanted = started(cluster)
    events = [e for mark in ("first", "second") for e in publish_round(cluster, wanted, mark)]
    cluster.run(5)
    assert set(cluster.deliveries) == owed(wanted, events)
    check_promises(cluster)


@case()
def nothing_is_invented_nor_misdelivered(cluster: Cluster) -> None:
    wanted = started(cluster)
    events = publish_round(cluster, wanted, "only")
    cluster.run(5)
    assert cluster.deliveries, "nothing was delivered at all"
    assert set(cluster.deliveries) <= owed(wanted, events)
    check_promises(cluster)


@case()
def links_have_two_ends(cluster: Cluster) -> None:
    started(cluster)
    assert any(cluster.links(node) for node in cluster.up())
    for node in cluster.up():
        for peer in cluster.links(node):
            assert node in cluster.links(peer), f"{node} holds a link that {peer} does not"
            assert peer != node


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
    got = [event for node, event in cluster.deliveries if node == 40]
    assert set(got) == {e for e in after if e.topic == "news"}
    assert not set(got) & set(before)
    check_promises(cluster)


@case("topic_connected")
def who_leaves_is_let_go(cluster: Cluster) -> None:
    started(cluster)
    for node in (0, 5, 10):
        cluster.leave(node)
    cluster.run(SETTLE_S)
    for node in cluster.up():
        assert not {0, 5, 10} & {*cluster.links(node)}
    _assert_connected(cluster)


@case("total_delivery")
def crashes_heal(cluster: Cluster) -> None:
    """First faults, then heal, then demand full recovery."""
    wanted = started(cluster)
    for node in (1, 6, 11, 12):
        cluster.crash(node)
        del wanted[node]
    cluster.run(SETTLE_S)
    events = publish_round(cluster, wanted, "after the crash")
    cluster.run(5)
    assert owed(wanted, events) <= set(cluster.deliveries)
    check_promises(cluster)


@case("total_delivery")
def who_comes_back_is_served(cluster: Cluster) -> None:
    wanted = started(cluster)
    first = publish_round(cluster, wanted, "first life")
    cluster.crash(3)
    cluster.run(SETTLE_S)
    cluster.join(3, wanted[3])
    cluster.run(SETTLE_S)
    second = publish_round(cluster, wanted, "second life")
    cluster.run(5)
    assert owed(wanted, second) <= set(cluster.deliveries)
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
    assert owed(wanted, events) == set(cluster.deliveries)
    check_promises(cluster)


@case("total_delivery")
def publishing_needs_no_subscription(cluster: Cluster) -> None:
    wanted = started(cluster)
    cluster.join(50, ["games"])
    cluster.run(SETTLE_S)
    event = cluster.publish(50, "weather", b"from outside")
    cluster.run(SETTLE_S)
    got = {node for node, e in cluster.deliveries if e == event}
    assert got == {node for node, topics in wanted.items() if "weather" in topics}
    check_promises(cluster)


@case("total_delivery")
def early_events_are_kept_until_the_overlay_forms(cluster: Cluster) -> None:
    for node in range(4):
        cluster.join(node, ["news"])
    event = cluster.publish(0, "news", b"early")
    cluster.run(SETTLE_S)
    assert {node for node, e in cluster.deliveries if e == event} == {1, 2, 3}


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
    assert owed(wanted, events + late) <= set(cluster.deliveries)
    check_promises(cluster)


@case()
def a_lone_node_is_content(cluster: Cluster) -> None:
    cluster.join(0, ["news"])
    cluster.publish(0, "news", b"anybody?")
    cluster.run(SETTLE_S)
    assert cluster.links(0) == []
    assert cluster.deliveries == []


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
