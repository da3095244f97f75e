"""Delays between nodes: constant, uniform, from a matrix, from coordinates."""

import gzip
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.sim.latency import Latency, make_latencies, read_coordinates, read_matrix
from orbweaver.workload.scenario import LatencySpec, Scenario


def make(labels: int | list[str] = 3, seed: int = 0, **settings: Any) -> Latency:
    names = [str(i) for i in range(labels)] if isinstance(labels, int) else labels
    return make_latencies(LatencySpec(**settings), names, Random(seed))[0]


def square(latency: Latency, nodes: int) -> list[list[int]]:
    return [[latency(NodeId(a), NodeId(b)) for b in range(nodes)] for a in range(nodes)]


@pytest.mark.parametrize(("ms", "delay"), [(0, 0), (7, 7), (2.4, 2)])
def test_constant(ms: float, delay: int) -> None:
    assert square(make(ms=ms), 2) == [[delay] * 2] * 2


def test_uniform_includes_both_ends_alike() -> None:
    latency = make(model="uniform", low_ms=3, high_ms=6)
    counts = Counter(latency(NodeId(0), NodeId(1)) for _ in range(4000))
    assert sorted(counts) == [3, 4, 5, 6]
    assert all(count == pytest.approx(1000, rel=0.1) for count in counts.values())


def write(tmp_path: Path, text: str, name: str = "m.txt") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "0 10 20\n30 0 40\n50 60 0\n",
        "0,10,20\n30,0,40\n50,60,0\n",
        "# round trips\n\n0;10;20\n30; 0; 40\n50\t60\t0\n",
        "9 10 20\n30 -1 40\n50 60 nan\n",
    ],
    ids=["spaces", "commas", "mixed with a comment", "diagonal is ignored"],
)
def test_forms_of_a_matrix(tmp_path: Path, text: str) -> None:
    rows = [[0, 10, 20], [30, 0, 40], [50, 60, 0]]
    assert read_matrix(Path(write(tmp_path, text))) == rows


def test_a_gzipped_matrix(tmp_path: Path) -> None:
    path = tmp_path / "m.gz"
    path.write_bytes(gzip.compress(b"0 1\n2 0\n"))
    assert read_matrix(path) == [[0, 1], [2, 0]]


@pytest.mark.parametrize("missing", ["0", "-5", "nan", "inf"])
def test_missing_cells_get_the_median(tmp_path: Path, missing: str) -> None:
    text = f"0 10 {missing}\n30 0 40\n50 60 0\n"
    assert read_matrix(Path(write(tmp_path, text)))[0] == [0, 10, 40]


def test_a_matrix_that_was_ingested(tmp_path: Path) -> None:
    """One way and in milliseconds, as the table says; what is missing gets the median."""
    folder = tmp_path / "rtt" / "latency"
    folder.mkdir(parents=True)
    cells = {"a": [0, 0, 1, 1, 2], "b": [1, 2, 0, 2, 0], "ms": [1.0, 2.0, 3.0, 4.0, 5.0]}
    pq.write_table(pa.table(cells), folder / "part-0.parquet")
    for file in (folder.parent, folder):
        found = square(make(model="matrix", file=str(file), unit="s"), 3)
        assert sorted(delay for row in found for delay in row) == [1, 1, 1, 1, 2, 3, 3, 4, 5]
        assert Scenario(
            overlay="random", latency=LatencySpec(model="matrix", file=str(file))
        ).fingerprint()


def test_coordinates_that_were_ingested(tmp_path: Path) -> None:
    folder = tmp_path / "map" / "coordinates"
    folder.mkdir(parents=True)
    cells = {"node": ["0", "1"], "x": [0.0, 3.0], "y": [0.0, 4.0]}
    pq.write_table(pa.table(cells), folder / "part-0.parquet")
    spec = LatencySpec(model="coordinates", file=str(folder.parent))
    assert make_latencies(spec, ["0", "1"], Random(0))[0](NodeId(0), NodeId(1)) == 5
    one = Scenario(overlay="random", latency=spec).fingerprint()
    pq.write_table(pa.table(cells | {"x": [0.0, 9.0]}), folder / "part-0.parquet")
    assert Scenario(overlay="random", latency=spec).fingerprint() != one


@pytest.mark.parametrize(
    ("settings", "factor"),
    [
        ({}, 0.5),
        ({"round_trip": False}, 1),
        ({"unit": "s"}, 500),
        ({"unit": "us", "round_trip": False}, 0.001),
    ],
)
def test_a_matrix_is_scaled_and_keeps_its_direction(
    tmp_path: Path, settings: dict[str, Any], factor: float
) -> None:
    cells = [[0, 1000, 2000], [3000, 0, 4000], [5000, 6000, 0]]
    text = "\n".join(" ".join(map(str, row)) for row in cells)
    found = square(make(3, model="matrix", file=write(tmp_path, text), **settings), 3)
    delays = sorted(found[a][b] for a in range(3) for b in range(3) if a != b)
    assert delays == [factor * cell for cell in (1000, 2000, 3000, 4000, 5000, 6000)]
    assert any(found[a][b] != found[b][a] for a in range(3) for b in range(a))


def test_no_delay_of_a_matrix_is_below_one(tmp_path: Path) -> None:
    latency = make(2, model="matrix", file=write(tmp_path, "0 0.1\n0.1 0\n"))
    assert square(latency, 2) == [[1, 1], [1, 1]]


def test_nodes_are_spread_evenly_over_a_smaller_matrix(tmp_path: Path) -> None:
    """Six nodes on three places: each has one companion on its own, at distance 1."""
    text = "0 20 40\n20 0 60\n40 60 0\n"
    found = square(make(6, model="matrix", file=write(tmp_path, text)), 6)
    for node, row in enumerate(found):
        assert sum(delay == 1 for other, delay in enumerate(row) if other != node) == 1


def test_places_depend_on_the_seed(tmp_path: Path) -> None:
    text = "\n".join(" ".join(str(10 * i + j + 2) for j in range(8)) for i in range(8))
    spec = {"model": "matrix", "file": write(tmp_path, text)}
    first, again, other = (square(make(8, seed, **spec), 8) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("text", "far"),
    [("node,x,y\na,0,0\nb,3,4\nspare,9,9\n", 5), ("x,node,z,y\n0,a,0,0\n2,b,6,3\n", 7)],
    ids=["plane", "space"],
)
def test_coordinates(tmp_path: Path, text: str, far: int) -> None:
    spec = {"model": "coordinates", "file": write(tmp_path, text, "c.csv")}
    assert square(make(["b", "a"], **spec), 2) == [[0, far], [far, 0]]
    assert square(make(["a", "b"], unit="s", **spec), 2) == [[0, 1000 * far], [1000 * far, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3\n", "line 2: 1 numbers where line 1 has 2"),
        ("1 2\nx 4\n", "line 2: not a row of numbers"),
        ("1 2 3\n4 5 6\n", "a latency matrix is square; this one has 2 rows"),
        ("", "a latency matrix is square; this one has 0 rows"),
    ],
)
def test_mistakes_in_a_matrix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_matrix(Path(write(tmp_path, text)))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.txt", b"1 2\n\xff 4\n"),
        ("m.gz", b"1 2\n3 4\n"),
        ("m.gz", gzip.compress(b"1 2", mtime=0)[:-4]),
    ],
    ids=["not text", "not gzip", "cut off"],
)
def test_a_damaged_matrix_is_named(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError, match=name):
        read_matrix(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node,x\na,1\n", "line 1: no column 'y'"),
        ("node,x,y\na,1,north\n", "line 2: coordinates 1, north should be finite"),
        ("node,x,y\na,1,inf\n", "line 2: coordinates 1, inf should be finite"),
        ("node,x,y,z\na,1,2,\nb,1,2,3\n", "line 2: 'z' is empty"),
    ],
)
def test_mistakes_in_coordinates(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_coordinates(Path(write(tmp_path, text, "c.csv")))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "uniform", "low_ms": 5, "high_ms": 4}, "high_ms 4 is below low_ms 5"),
        ({"model": "matrix"}, "latency model 'matrix' needs a file"),
        ({"model": "coordinates"}, "latency model 'coordinates' needs a file"),
        ({"model": "matrix", "file": "/no/such/file"}, "no such file"),
    ],
)
def test_settings_that_make_no_model(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(**settings)


def test_nodes_without_coordinates_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "node,x,y\na,0,0\n", "c.csv")
    with pytest.raises(UsageError, match="2 nodes have no coordinates, for example 'b'"):
        make(["a", "b", "c"], model="coordinates", file=path)
