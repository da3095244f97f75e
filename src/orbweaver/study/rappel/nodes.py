"""What Rappel's nodes know at a moment: friends, neighbours with several roles, trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Overlay
from orbweaver.gossip.vivaldi import distance_ms
from orbweaver.metrics.averages import mean
from orbweaver.metrics.delays import percentile
from orbweaver.overlays.rappel import Rappel


class Nodes:
    """Ask the nodes of a run at its snapshots."""

    def __init__(self) -> None:
        self._requests: dict[tuple[NodeId, Topic], int] = {}

    def __call__(self, overlays: Sequence[Overlay]) -> dict[str, Any]:
        """Return, of all nodes that are up:

        - `covered`: the share of nodes whose friends subscribe to all of their feeds;
          `covered_many`: the same among nodes with several feeds (6.3, Fig. 9). The feed that a
          node publishes itself does not count.
        - `overlap_ratio`, the mean of the neighbour overlap ratios: roles of friends, parents and
          children over the number of nodes in these roles (6.3); `overlapping`: the share of nodes
          with a ratio above 1; `overlapping_many`: the same among nodes with several feeds.
        - `path_stretch_p50`, `path_stretch_p95`: the way down the tree over the direct way, in
          coordinates (Fig. 7c).
        - `requests`: join requests that a node received since the last snapshot, mean by its
          height in the tree (Fig. 11a), and `at_height`, how many nodes that is the mean of.
        """
        nodes = {one.context.me: one for one in map(_rappel, overlays)}
        covered = [found for one in nodes.values() if (found := _covered(one, nodes)) is not None]
        overlaps = {one: ratio for one in nodes.values() if (ratio := overlap_ratio(one))}
        ratios = list(overlaps.values())
        of_many = [ratio for one, ratio in overlaps.items() if len(_feeds(one)) > 1]
        stretch = [s for one in nodes.values() for s in _stretches(one, nodes)]
        return {
            "covered": mean([float(full) for full, _ in covered]),
            "covered_many": mean([float(full) for full, feeds in covered if feeds > 1]),
            "overlapping": mean([float(ratio > 1) for ratio in ratios]),
            "overlapping_many": mean([float(ratio > 1) for ratio in of_many]),
            "overlap_ratio": mean(ratios),
            "path_stretch_p50": percentile(stretch, 0.5),
            "path_stretch_p95": percentile(stretch, 0.95),
            **self._requests_by_height(nodes),
        }

    def _requests_by_height(self, nodes: Mapping[NodeId, Rappel]) -> dict[str, Any]:
        by_height: dict[int, list[float]] = {}
        for me, one in nodes.items():
            for topic, tree in one.trees.items():
                before = self._requests.get((me, topic), 0)
                self._requests[me, topic] = tree.requests
                if tree.root == me or tree.parent is not None:
                    height = 0 if tree.root == me else len(tree.ancestors)
                    by_height.setdefault(height, []).append(max(0, tree.requests - before))
        found = sorted(by_height.items())
        return {
            "requests": {str(height): mean(counts) for height, counts in found},
            "at_height": {str(height): len(counts) for height, counts in found},
        }


def _rappel(overlay: Overlay) -> Rappel:
    return cast(Rappel, overlay)


def _covered(one: Rappel, nodes: Mapping[NodeId, Rappel]) -> tuple[bool, int] | None:
    """Return whether the friends that are up subscribe to all feeds of a node, and how many feeds
    that is, or None if it has none but its own."""
    feeds = _feeds(one)
    friends = [nodes[friend].trees for friend in one.friends.friends if friend in nodes]
    full = all(any(topic in trees for trees in friends) for topic in feeds)
    return (full, len(feeds)) if feeds else None


def _feeds(one: Rappel) -> list[Topic]:
    """Return the feeds of a node that others publish."""
    return [topic for topic, tree in one.trees.items() if tree.root != one.context.me]


def overlap_ratio(one: Rappel) -> float:
    """Return a node's neighbour overlap ratio, or 0 if it has no neighbour (section 6.3)."""
    roles = list(one.friends.friends)
    for tree in one.trees.values():
        roles += tree.children
        if tree.parent is not None:
            roles.append(tree.parent)
    return len(roles) / len(set(roles)) if roles else 0.0


def _stretches(one: Rappel, nodes: Mapping[NodeId, Rappel]) -> Iterator[float]:
    """Yield the stretch of a node's way in each tree that leads up to a publisher."""
    for topic, tree in one.trees.items():
        way_ms, below, seen = 0.0, one, {one.context.me}
        while (above := below.trees[topic].parent) in nodes and above not in seen:
            assert above is not None
            seen.add(above)
            way_ms += distance_ms(below.friends.own.place, nodes[above].friends.own.place)
            below = nodes[above]
            if topic not in below.trees:
                break
        if below is not one and below.context.me == tree.root:
            yield way_ms / distance_ms(one.friends.own.place, below.friends.own.place)
