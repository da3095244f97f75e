"""Churn from models and from tables."""

from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.workload.churn import (
    exponential_ms,
    load_churn,
    on_off,
    weibull_ms,
    with_crowd,
    with_outage,
)

NODES = ("a", "b", "c")


@pytest.mark.parametrize("mean_ms", [50, 3000, 1e6])
def test_mean_of_exponential_times(mean_ms: float) -> None:
    rng = Random(11)
    assert fmean(exponential_ms(rng, mean_ms) for _ in range(40_000)) == pytest.approx(
        mean_ms, rel=0.03
    )


@pytest.mark.parametrize("shape", [0.5, 0.7, 1.0, 2.0])
def test_mean_of_weibull_times(shape: float) -> None:
    rng = Random(12)
    assert fmean(weibull_ms(rng, 60_000, shape) for _ in range(40_000)) == pytest.approx(
        60_000, rel=0.05
    )


def test_a_small_shape_is_heavy_tailed() -> None:
    """With the same mean: mostly short times, and a few very long ones."""
    rng = Random(13)
    heavy = sorted(weibull_ms(rng, 1000, 0.5) for _ in range(4000))
    light = sorted(weibull_ms(rng, 1000, 2.0) for _ in range(4000))
    assert heavy[2000] < 500 < light[2000]
    assert heavy[-1] > 3 * light[-1]


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    start=st.integers(0, 1000),
    length=st.integers(0, 5000),
    shape=st.sampled_from([None, 0.5, 1.5]),
    down=st.sampled_from(["leave", "crash"]),
)
def test_a_node_goes_down_and_comes_back_in_turn(seed, start, length, shape, down) -> None:
    end = start + length
    changes = list(on_off(Random(seed), 5, start, end, 300, 100, shape, down))
    kinds = [kind for _, _, kind in changes]
    assert kinds == ([down, "join"] * len(kinds))[: len(kinds)]
    times = [start, *(time for time, _, _ in changes)]
    assert all(before < after for before, after in pairwise(times))
    assert all(time < end for time in times[1:])
    assert {node for _, node, _ in changes} <= {5}


def test_time_up_and_down_have_their_means() -> None:
    changes = list(on_off(Random(3), 0, 0, 20_000_000, 3000, 1000, None, "leave"))
    times = [0, *(time for time, _, _ in changes)]
    gaps = [after - before for before, after in pairwise(times)]
    assert fmean(gaps[::2]) == pytest.approx(3000, rel=0.05)
    assert fmean(gaps[1::2]) == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize("column", ["time", "time_ms"])
def test_a_table_is_put_in_order_of_time(tmp_path: Path, column: str) -> None:
    path = tmp_path / "churn.csv"
    path.write_text(f"{column},node,kind\n500,b,crash\n20.6,a,leave\n500,a,join\n0,c,join\n")
    assert load_churn(path, NODES) == [
        (0, 2, "join"),
        (21, 0, "leave"),
        (500, 1, "crash"),
        (500, 0, "join"),
    ]


def test_a_trace_of_other_nodes_is_played_in_order(tmp_path: Path) -> None:
    path = tmp_path / "churn.csv"
    path.write_text("time,node,kind\n0,m7,join\n0,m2,join\n90,m7,crash\n0,m1,join\n95,m4,join\n")
    assert load_churn(path, NODES, in_order=True, start_ms=1000, speed=10) == [
        (1000, 0, "join"),
        (1000, 1, "join"),
        (1000, 2, "join"),
        (1009, 0, "crash"),
    ]


def test_a_trace_can_be_begun_in_its_middle(tmp_path: Path) -> None:
    """m1 is up by then, m2 has gone, m3 goes and comes back, m4 comes."""
    path = tmp_path / "churn.csv"
    path.write_text(
        "time,node,kind\n0,m2,join\n0,m1,join\n5,m3,join\n50,m2,leave\n100,m3,leave\n"
        "120,m4,join\n140,m3,join\n"
    )
    assert load_churn(path, NODES, in_order=True, skip_ms=100) == [
        (0, 1, "leave"),
        (20, 2, "join"),
        (40, 1, "join"),
    ]
    with pytest.raises(UsageError, match="skip_ms needs a file"):
        load_churn(path, ["m1", "m2", "m3", "m4"], skip_ms=100)


def test_a_crowd_joins_at_once_whatever_else_its_nodes_did() -> None:
    changes = [(5, 0, "leave"), (7, 2, "leave"), (9, 0, "join")]
    assert with_crowd(changes, 3, 2, 8) == [  # type: ignore[arg-type]
        (5, 0, "leave"),
        (8, 1, "join"),
        (8, 2, "join"),
        (9, 0, "join"),
    ]
    assert with_crowd([], 3, 0, 8) == []
    with pytest.raises(UsageError, match="a crowd of 4 should be at most the 3 nodes"):
        with_crowd([], 3, 4, 8)


def test_the_nodes_of_an_outage_crash_and_come_back_together() -> None:
    changes = [(5, 0, "leave"), (7, 2, "leave"), (9, 0, "join")]
    assert with_outage(changes, {2, 1}, 6, 8) == [  # type: ignore[arg-type]
        (5, 0, "leave"),
        (6, 1, "crash"),
        (6, 2, "crash"),
        (8, 1, "join"),
        (8, 2, "join"),
        (9, 0, "join"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,node\n1,a\n", "line 1: no column 'kind'"),
        ("time,node,kind\n1,a,join\nsoon,a,leave\n", "line 3: time 'soon' should be"),
        ("time,node,kind\n-1,a,join\n", "line 2: time '-1' should be a number of milliseconds"),
        ("time,node,kind\nnan,a,join\n", "line 2: time 'nan' should be"),
        ("time,node,kind\ninf,a,join\n", "line 2: time 'inf' should be"),
        ("time,node,kind\n1,a,join\n2,zoe,leave\n", "line 3: there is no node 'zoe'"),
        ("time,node,kind\n1,a,jion\n", "line 2: unknown kind 'jion': did you mean 'join'?"),
        ("time,node,kind\n1,a,x\n", "line 2: unknown kind 'x': known: crash, join, leave"),
        ("time,node,kind\n1,a\n", "line 2: 2 cells where the header has 3"),
        ("time,node,kind\n,a,join\n", "line 2: 'time' is empty"),
        ("time_ms,node,kind\n7,b,join\n1,a\n", "line 3: 2 cells where the header has 3"),
        ("time_ms,node,kind\n1,a\n", "line 2: 2 cells where the header has 3"),
        ("time_ms,node,kind\n,a,join\n", "line 2: 'time_ms' is empty"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "churn.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        load_churn(path, NODES)
    assert str(error.value).startswith(f"{path}, {message}")


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.csv: no such file"):
        load_churn(tmp_path / "none.csv", NODES)
