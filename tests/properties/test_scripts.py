"""Hypothesis writes scripts of joins, leaves, crashes and publications; promises must hold."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.testing.cases import TOPICS, check_promises, memberships, owed
from orbweaver.testing.cluster import Cluster, make_cluster
from orbweaver.testing.pump import PUBLISHERS

NODE = st.integers(0, 9)
TOPIC = st.sampled_from(TOPICS)
STEP = st.one_of(
    st.tuples(st.just("join"), NODE, st.lists(TOPIC, min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("leave"), NODE),
    st.tuples(st.just("crash"), NODE),
    st.tuples(st.just("subscribe"), NODE, TOPIC),
    st.tuples(st.just("unsubscribe"), NODE, TOPIC),
    st.tuples(st.just("publish"), NODE, TOPIC),
    st.tuples(st.just("run"), st.sampled_from([0.02, 0.5, 2.0])),
    st.tuples(st.just("lose"), st.sampled_from([0.0, 0.1])),
)


def play(cluster: Any, wanted: dict[int, list[str]], steps: list[Any]) -> None:
    """Do what can be done; `wanted` follows the subscriptions."""
    for action, *arguments in steps:
        if action in ("run", "lose"):
            getattr(cluster, action)(*arguments)
            continue
        node = arguments[0]
        if (node in wanted) == (action == "join"):
            continue
        if action == "join":
            wanted[node] = list(arguments[1])
        elif action in ("leave", "crash"):
            del wanted[node]
        elif action == "subscribe":
            if arguments[1] in wanted[node]:
                continue
            wanted[node].append(arguments[1])
        elif action == "unsubscribe":
            if arguments[1] not in wanted[node]:
                continue
            wanted[node].remove(arguments[1])
        getattr(cluster, action)(*arguments)


EXAMPLES: dict[str, Any] = {
    "deadline": None, "suppress_health_check": list(HealthCheck),
}  # fmt: skip


@pytest.mark.parametrize("host", ["pump", "simulator"])
@pytest.mark.parametrize("name", OVERLAYS)
@settings(max_examples=15, **EXAMPLES)
@given(steps=st.lists(STEP, max_size=30))
def test_any_script_then_recovery(name: str, host: str, steps: list[Any]) -> None:
    how = memberships(OVERLAYS[name], host)[-1]
    play_then_recover(make_cluster(OVERLAYS[name], host, how, 1), steps)


@pytest.mark.parametrize("name", OVERLAYS)
@settings(max_examples=4, phases=[Phase.generate], **EXAMPLES)
@given(steps=st.lists(STEP, min_size=15, max_size=30))
def test_any_script_then_recovery_with_real_sockets(name: str, steps: list[Any]) -> None:
    how = memberships(OVERLAYS[name], "network")[-1]
    with closing(make_cluster(OVERLAYS[name], "network", how, 1)) as cluster:
        play_then_recover(cluster, steps)


def play_then_recover(cluster: Cluster, steps: list[Any]) -> None:
    wanted: dict[int, list[str]] = {}
    # A few nodes that stay, so that there is a network to come back to.
    play(cluster, wanted, [("join", 50 + n, ["news", "games"]) for n in range(3)])
    play(cluster, wanted, steps)
    # No tree has a root without the publisher that all nodes are told of.
    for topic, publisher in PUBLISHERS.items():
        play(cluster, wanted, [("join", publisher, [topic]), ("subscribe", publisher, topic)])
    cluster.lose(0.0)
    cluster.run(25)
    check_promises(cluster)
    if not cluster.overlay.claims(cluster.params).total_delivery:
        return
    publishers = {topic: n for n, topics in sorted(wanted.items()) for topic in topics}
    events = [cluster.publish(n, topic) for topic, n in publishers.items()]
    cluster.run(10)
    missing = owed(wanted, events) - set(cluster.deliveries)
    assert not missing, f"after healing, not delivered: {sorted(missing, key=str)[:3]}"
    check_promises(cluster)
