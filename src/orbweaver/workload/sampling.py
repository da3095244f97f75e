"""Sample a table of subscriptions by the papers' methods, so that many runs can use it.

The methods are those of `orbweaver sample`, which reads tables of any size; here the table is in
memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

from orbweaver.core.seeds import generator, sample
from orbweaver.workload.subscriptions import Subscriptions

SEED_NODES = 10
"""How many nodes a breadth-first search begins with."""
SEED_TOPICS = 250
"""How many random topics give the universe, which is the set of their subscribers (Rappel
6.1.2)."""
KEPT_TOPICS = 100
"""How many topics are kept: the most wanted ones in the universe (Rappel 6.1.2). A larger sample
keeps the same share of the topics as of the nodes, so that samples grow into the data. With the
topics of small samples its nodes would want ever less than those of the data."""


def topics_are_nodes(source: Path, whole: Subscriptions) -> bool:
    """Return whether topics are nodes, as in a social graph: what the manifest of a dataset says,
    else whether at least half of the topics are names of nodes."""
    manifest = source / "dataset.json"
    if manifest.is_file():
        said = json.loads(manifest.read_text(encoding="utf-8")).get("topics_are_nodes")
        if isinstance(said, bool):
            return said
    return are_nodes(whole)


def are_nodes(whole: Subscriptions) -> bool:
    """Return whether topics are names of nodes, as in a social graph: at least half of them are."""
    names = set(whole.labels)
    return 2 * sum(topic in names for topic in whole.topics) >= len(whole.topics)


def sampled(
    whole: Subscriptions, nodes: int, topics_are_nodes: bool, draw: int = 0
) -> tuple[Subscriptions, str]:
    """Return a sample of at most `nodes` nodes, and how they were chosen, in words. Each number
    `draw` gives another sample, always the same one."""
    rng = generator("sample", nodes, draw)
    if topics_are_nodes:
        return breadth_first(whole, nodes, rng), "breadth-first from ten nodes (Vitis IV-E)"
    part = seed_universe(whole, nodes, rng)
    who = f"subscribers of {SEED_TOPICS} random topics"
    if len(whole.topics) <= SEED_TOPICS:
        who = "random nodes"
    topics = f"the {len(part.topics):,} topics that they want most (Rappel 6.1.2)"
    if len(part.topics) == len(whole.topics):
        topics = "all topics"
    return part, f"{who} with {topics}"


def breadth_first(whole: Subscriptions, nodes: int, rng: Random) -> Subscriptions:
    """Follow relations from some seeds until there are enough nodes, and keep the relations among
    these nodes (Vitis IV-E). A search that ends early begins again elsewhere, with twice as many
    seeds."""
    followed = dict(zip(whole.labels, whole.of_node, strict=True))
    everyone = list(dict.fromkeys((*whole.labels, *whole.topics)))
    chosen: dict[str, None] = {}
    frontier: list[str] = []
    seeds = SEED_NODES
    while len(chosen) < min(nodes, len(everyone)):
        found = dict.fromkeys(other for node in frontier for other in followed.get(node, ()))
        count = nodes - len(chosen)
        candidates = [node for node in found if node not in chosen]
        if not candidates:
            candidates = [node for node in everyone if node not in chosen]
            count, seeds = min(seeds, count), 2 * seeds
        frontier = sample(rng, candidates, count)
        chosen |= dict.fromkeys(frontier)
    return _part(whole, chosen, chosen)


def seed_universe(whole: Subscriptions, nodes: int, rng: Random) -> Subscriptions:
    """Take subscribers of random topics, with the topics most wanted among them (Rappel)."""
    seeds = frozenset(sample(rng, whole.topics, SEED_TOPICS))
    pairs = zip(whole.labels, whole.of_node, strict=True)
    universe = [label for label, topics in pairs if not seeds.isdisjoint(topics)]
    chosen = dict.fromkeys(sample(rng, universe, nodes))
    inside = _part(whole, chosen, whole.topics)
    wanted = Counter(topic for topics in inside.of_node for topic in topics)
    kept = max(KEPT_TOPICS, len(whole.topics) * nodes // len(whole.labels))
    # Among equally wanted topics, the first ones in the table are kept.
    most = [topic for topic, _ in wanted.most_common(kept)]
    return _part(whole, chosen, most)


def _part(whole: Subscriptions, nodes: Iterable[str], topics: Iterable[str]) -> Subscriptions:
    """Return the part of the table with these nodes and topics, in the order of the table. Nodes
    without any of the topics are left out."""
    kept_nodes, kept_topics = frozenset(nodes), frozenset(topics)
    rows = {
        label: tuple(topic for topic in wanted if topic in kept_topics)
        for label, wanted in zip(whole.labels, whole.of_node, strict=True)
        if label in kept_nodes
    }
    rows = {label: wanted for label, wanted in rows.items() if wanted}
    there = frozenset(topic for wanted in rows.values() for topic in wanted)
    return Subscriptions(
        tuple(topic for topic in whole.topics if topic in there), tuple(rows.values()), tuple(rows)
    )
