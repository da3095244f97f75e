"""All metrics of one run make one flat table, which `simulate --json` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from orbweaver.core.messages import PURPOSES
from orbweaver.metrics import traffic
from orbweaver.metrics.averages import interval95, mean, plain
from orbweaver.metrics.degree import degrees
from orbweaver.metrics.delays import delay_metrics, delays, percentile
from orbweaver.metrics.deliveries import deliveries
from orbweaver.metrics.load import (
    bytes_sent,
    load_correlation,
    load_per_subscription,
    load_share_top1,
    messages_carried,
    per_second,
)
from orbweaver.metrics.relays import relays_by_rank, relays_per_event, top_topics_share
from orbweaver.metrics.similarity import link_utility, top_intersection
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.metrics.states import largest, per_topic
from orbweaver.metrics.topics import TopicShape, shapes, whole_diameter
from orbweaver.records import Records

MEANING = {
    "nodes_up": "nodes in the snapshot",
    "links": "links in the snapshot",
    "degree_mean": "links of a node, mean",
    "degree_ci95": "half the width of the 95 % confidence interval of degree_mean",
    "degree_max": "links of a node, largest",
    "topics": "topics that at least one node is interested in",
    "components": "connected components, summed over the topics",
    "partitioned_topics": "topics with more than one component",
    "diameter_max": "largest distance between two nodes of a topic, through that topic",
    "diameter_whole": "largest distance between two nodes of a topic, through any nodes",
    "diameter_mean": "mean over the topics of the largest distance",
    "distance_mean": "mean distance between two nodes of a topic",
    "link_utility": "topics that two linked nodes share, over topics that at least one of them "
    "wants, mean over links",
    "tdi": "overlap with the d most similar nodes in percent, mean (where d is given)",
    "converged_ms": "time of the last change of a link before the first publication",
    "publications": "events published",
    "deliveries": "events handed to subscribers",
    "hit_ratio": "share of the deliveries owed that happened",
    "hit_ratio_worst": "hit_ratio in the worst twentieth of the run",
    "prompt_ratio_worst": "share of the deliveries owed that happened within two seconds, in the "
    "worst twentieth of the run",
    "duplicates": "copies beyond the first, for each delivery",
    "duplicates_steady": "duplicates of the last event on each topic",
    "delay_hops_mean": "links crossed by a delivered event, mean: how deep in its tree a node is",
    "delay_hops_max": "links crossed, largest: the depth of the deepest tree",
    "delay_ms_mean": "time from publication to delivery, mean",
    "delay_ms_max": "time from publication to delivery, largest",
    "delay_ms_p50": "time from publication to a delivery that was owed, median",
    "delay_ms_p95": "time from publication to a delivery that was owed, 95th percentile",
    "traffic_overhead": "share of uninteresting copies that a node gets, mean over nodes",
    "traffic_overhead_notices": "traffic_overhead if every notice of an event were a copy of it",
    "burdened": "share of nodes with an overhead above 20 %",
    "burdened_notices": "burdened if every notice of an event were a copy of it",
    "relays_per_event": "nodes that an event reaches (the event itself, not a notice) while they "
    "neither subscribe to its topic nor have published on it, each counted once, mean over events",
    "relays_top_topics_share": "share of such nodes among all that events on the most popular "
    "topics reach (a tenth of the topics, by subscribers at the snapshot)",
    "load_correlation": "Pearson's correlation between the messages that a node sent and received "
    "in the whole run and the number of its subscriptions, over the nodes in the snapshot",
    "load_correlation_bytes": "load_correlation of the bytes that a node sent (where sizes are "
    "measured)",
    "load_per_second_p50": "messages that a node in the snapshot sends and receives in a second "
    "while it is up, median",
    "load_per_second_each": "messages in a second that a node sends and receives for each further "
    "subscription: slope of the line nearest to the nodes in the snapshot",
    "load_share_top1": "share of all messages sent and received that the busiest 1 % of the nodes, "
    "at least one, sent and received",
    "clusters_per_topic": "connected components of a topic, mean",
    "gateways_per_topic": "nodes that lead a cluster to the topic's place, mean (Vitis)",
    "relays_per_topic": "nodes that pass a topic on without interest in it, mean (Vitis, RVR, "
    "Magnet)",
    "ring_right": "share of the nodes that are linked to the next node and to the one before on "
    "the ring (Vitis, RVR; Magnet: on the control ring)",
    "id_bits": "leading bits of the identifiers that tell a node from the next one on the ring, "
    "largest over nodes (Magnet)",
    "lookup_hops_mean": "links that a lookup of a topic's place crosses, mean (Vitis, RVR)",
    "control_messages_per_join": "messages that build links, for each join or leave; where "
    "there is churn, from the first snapshot on",
    "control_messages_per_join_answered": "control_messages_per_join without DISCONNECTs that "
    "were refused",
    "control_bytes_per_node_second": "bytes of all messages that carry no event, for each node "
    "and second",
    "upkeep_bytes_per_node_second": "bytes of messages that build links, keep them and look for "
    "peers, for each node and second from the last snapshot on",
    "event_bytes_per_publication": "bytes of messages that carry, announce or repair events, for "
    "each event published from the last snapshot on",
} | {f"{purpose}_messages": f"messages sent for {purpose}" for purpose in PURPOSES}
"""Every key of the summary and its meaning; the documentation is printed from this table."""


def overlay_metrics(overlay: Snapshot, with_distances: bool = True) -> dict[str, Any]:
    """Return the metrics of the graph and of the interests of its nodes."""
    found = graph_metrics(degrees(overlay), shapes(overlay, with_distances), with_distances)
    found["link_utility"] = link_utility(overlay)
    if with_distances:
        found["diameter_whole"] = whole_diameter(overlay)
    return found


def graph_metrics(
    sizes: Sequence[int], found: Sequence[TopicShape], with_distances: bool = True
) -> dict[str, Any]:
    """Return the metrics of the graph, given the degree of every node and the shape of every
    topic."""
    metrics: dict[str, Any] = {
        "nodes_up": len(sizes),
        "links": sum(sizes) // 2,
        "degree_mean": mean(sizes),
        "degree_ci95": interval95(sizes),
        "degree_max": max(sizes, default=0),
        "topics": len(found),
        "components": sum(shape.components for shape in found),
        "partitioned_topics": sum(shape.components > 1 for shape in found),
    }
    if with_distances:
        pairs = sum(shape.distance_pairs for shape in found)
        metrics["diameter_max"] = max((shape.diameter for shape in found), default=0)
        metrics["diameter_mean"] = mean([shape.diameter for shape in found])
        metrics["distance_mean"] = (
            sum(shape.distance_sum for shape in found) / pairs if pairs else math.nan
        )
    return metrics


def summarise(
    records: Records,
    overlay: Snapshot,
    end_ms: int,
    young_ms: int = 0,
    first_ms: int | None = None,
    tdi: int = 0,
    whole_ms: int | None = None,
    lookup_hops: float = math.nan,
    ring_right: float = math.nan,
) -> dict[str, Any]:
    """Return every metric in `MEANING`, or None for a metric with nothing to measure.

    `overlay` is the snapshot that metrics of the graph are taken of. `first_ms` is the first
    snapshot, if there are several; a node that leaves after `whole_ms` does so because the run
    is over. `lookup_hops` and `ring_right` are measured by a caller that knows how the
    overlay routes and where its nodes stand.
    """
    first_ms = overlay.time_ms if first_ms is None else first_ms
    last_ms = end_ms if whole_ms is None else whole_ms
    churn = any(first_ms < time <= last_ms for time in records["nodes"]["time_ms"])
    metrics = overlay_metrics(overlay)
    interests = list(overlay.interests.values())
    metrics["tdi"] = top_intersection(interests, tdi) if tdi else math.nan
    settled_by = min([overlay.time_ms, *records["publications"]["time_ms"]])
    changes = (time for time in records["links"]["time_ms"] if time <= settled_by)
    metrics["converged_ms"] = max(changes, default=0)
    d = deliveries(records, grace_ms=young_ms)
    rates = per_second(records, end_ms)
    owed = delay_metrics(delays(records, grace_ms=young_ms))
    metrics |= {
        "publications": d.publications,
        "deliveries": d.deliveries,
        "hit_ratio": d.hit_ratio,
        "hit_ratio_worst": d.hit_ratio_worst,
        "prompt_ratio_worst": d.prompt_ratio_worst,
        "duplicates": d.duplicates,
        "duplicates_steady": d.duplicates_steady,
        "delay_hops_mean": d.hops_mean,
        "delay_hops_max": d.hops_max,
        "delay_ms_mean": d.latency_ms_mean,
        "delay_ms_max": d.latency_ms_max,
        "delay_ms_p50": owed["delay_ms_p50"],
        "delay_ms_p95": owed["delay_ms_p95"],
        "traffic_overhead": traffic.traffic_overhead(records),
        "traffic_overhead_notices": traffic.traffic_overhead(records, notices=True),
        "burdened": traffic.burdened(records),
        "burdened_notices": traffic.burdened(records, notices=True),
        "relays_per_event": relays_per_event(records),
        "relays_top_topics_share": top_topics_share(relays_by_rank(records, overlay)),
        "load_correlation": load_correlation(messages_carried(records), records, overlay),
        "load_correlation_bytes": load_correlation(bytes_sent(records), records, overlay),
        "load_per_second_p50": percentile([rates.get(node, 0.0) for node in overlay.links], 0.5),
        "load_per_second_each": load_per_subscription(rates, records, overlay),
        "load_share_top1": load_share_top1(records),
        "clusters_per_topic": metrics["components"] / (metrics["topics"] or math.nan),
        "gateways_per_topic": per_topic(records, overlay, "gateway_of"),
        "relays_per_topic": per_topic(records, overlay, "relay_of"),
        "ring_right": ring_right,
        "id_bits": largest(records, overlay, "id_bits"),
        "lookup_hops_mean": lookup_hops,
        "control_messages_per_join": traffic.control_messages_per_change(
            records, first_ms if churn else 0, whole_ms
        ),
        "control_messages_per_join_answered": traffic.control_messages_per_change(
            records, first_ms if churn else 0, whole_ms, refused=False
        ),
    }
    metrics |= {
        "upkeep_bytes_per_node_second": traffic.upkeep_bytes(records, overlay.time_ms, last_ms),
        "event_bytes_per_publication": traffic.event_bytes(records, overlay.time_ms, last_ms),
    }
    counts = traffic.sent(records)
    sizes = traffic.sent_bytes(records)
    control = sum(size for purpose, size in sizes.items() if purpose != "data")
    node_seconds = traffic.node_seconds(records, end_ms)
    metrics["control_bytes_per_node_second"] = (
        control / node_seconds if node_seconds and control else math.nan
    )
    for purpose in PURPOSES:
        metrics[f"{purpose}_messages"] = counts.get(purpose, 0)
    return plain({key: metrics[key] for key in MEANING})
