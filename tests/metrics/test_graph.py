"""Degrees, topic components and distances, against networkx and by hand."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.metrics import topics
from orbweaver.metrics.degree import degrees, histogram
from orbweaver.metrics.snapshot import Snapshot, from_graph


@st.composite
def overlays(draw: st.DrawFn) -> Snapshot:
    size = draw(st.integers(1, 24))
    wanted = st.sets(st.sampled_from(["a", "b", "c", "d"]))
    interests = {node: draw(wanted) for node in range(size)}
    pairs = [(a, b) for a in range(size) for b in range(a)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=3 * size)) if pairs else []
    return from_graph(interests, edges)


def as_networkx(overlay: Snapshot) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(overlay.interests)
    graph.add_edges_from(overlay.edges())
    return graph


def expected_shape(graph: nx.Graph, members: list[int]) -> tuple[int, int, int, int, int]:
    part = graph.subgraph(members)
    found = [d for _, to in nx.all_pairs_shortest_path_length(part) for d in to.values() if d]
    components = nx.number_connected_components(part)
    return (len(members), components, max(found, default=0), sum(found), len(found))


@pytest.mark.parametrize("block", [1, 2, 3, 7, 4096])
@settings(deadline=None, max_examples=60)
@given(overlay=overlays())
def test_topic_shapes_are_those_of_networkx(block: int, overlay: Snapshot) -> None:
    graph = as_networkx(overlay)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topics, "BLOCK", block)
        found = topics.shapes(overlay)
    wanted: dict[str, list[int]] = {}
    for node, interest in overlay.interests.items():
        for topic in interest:
            wanted.setdefault(topic, []).append(node)
    assert {shape.topic for shape in found} == set(wanted)
    for shape in found:
        numbers = (
            shape.nodes,
            shape.components,
            shape.diameter,
            shape.distance_sum,
            shape.distance_pairs,
        )
        assert numbers == expected_shape(graph, wanted[shape.topic]), shape.topic


@pytest.mark.parametrize("block", [1, 2, 7, 4096])
@settings(deadline=None, max_examples=60)
@given(overlay=overlays())
def test_the_diameter_through_the_whole_overlay_is_that_of_networkx(
    block: int, overlay: Snapshot
) -> None:
    far = dict(nx.all_pairs_shortest_path_length(as_networkx(overlay)))
    expected = [
        far[a][b]
        for a, of_a in overlay.interests.items()
        for b, of_b in overlay.interests.items()
        if of_a & of_b and b in far[a]
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topics, "BLOCK", block)
        assert topics.whole_diameter(overlay) == max(expected, default=0)


def test_the_two_diameters_of_a_topic() -> None:
    """A ring of six nodes, and a hub with another topic that is linked to all of them."""
    ring = [(i, (i + 1) % 6) for i in range(6)]
    interests = {i: ["a"] for i in range(6)} | {6: ["b"]}
    overlay = from_graph(interests, ring + [(i, 6) for i in range(6)])
    shapes = {shape.topic: shape for shape in topics.shapes(overlay)}
    assert (shapes["a"].diameter, topics.whole_diameter(overlay)) == (3, 2)


@settings(deadline=None, max_examples=60)
@given(overlay=overlays())
def test_degrees_are_those_of_networkx(overlay: Snapshot) -> None:
    graph = as_networkx(overlay)
    assert degrees(overlay) == [graph.degree(node) for node in overlay.links]
    assert histogram(degrees(overlay)) == {
        size: count for size, count in enumerate(nx.degree_histogram(graph)) if count
    }


@settings(deadline=None, max_examples=30)
@given(overlay=overlays())
def test_without_distances_the_components_stay(overlay: Snapshot) -> None:
    quick = {shape.topic: shape for shape in topics.shapes(overlay, with_distances=False)}
    for shape in topics.shapes(overlay):
        assert quick[shape.topic].components == shape.components
        assert quick[shape.topic].diameter == 0


def test_a_path_through_other_topics_does_not_count() -> None:
    """0 and 2 share a topic, and the only way between them is 1, which does not."""
    overlay = from_graph({0: ["a"], 1: ["b"], 2: ["a"]}, [(0, 1), (1, 2)])
    shapes = {shape.topic: shape for shape in topics.shapes(overlay)}
    assert shapes["a"].components == 2
    assert shapes["a"].distance_pairs == 0


def test_edges_name_each_link_once() -> None:
    overlay = from_graph({0: [], 1: [], 2: []}, [(1, 0), (0, 1), (2, 1)])
    assert overlay.edges() == [(0, 1), (1, 2)]
