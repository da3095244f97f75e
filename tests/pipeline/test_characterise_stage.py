"""The whole stage: from a table to numbers, a page and JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

from orbweaver.cli.characterise import characterise as command
from orbweaver.cli.characterise import choose_method
from orbweaver.core.errors import UsageError
from orbweaver.metrics.similarity import top_intersection
from orbweaver.pipeline.characterise import tdi
from orbweaver.pipeline.characterise.interests import interests, sample
from orbweaver.pipeline.characterise.locality import locality
from orbweaver.pipeline.characterise.minhash import Bands
from orbweaver.pipeline.characterise.source import locate, read_pairs, usable
from orbweaver.pipeline.characterise.workload import characterise
from orbweaver.pipeline.synthesise import stage
from orbweaver.workload.dialect import Reading
from orbweaver.workload.models.catalog import build, make_plan
from orbweaver.workload.subscriptions import load_subscriptions
from tests.pipeline.real_traces import FOLDER, needs_traces

app = typer.Typer()
app.command()(command)

NODES = 300


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    return build(make_plan("zipf:1", {"nodes": NODES}), 1).draw(np.arange(NODES)).rows()


@pytest.fixture(scope="module")
def pairs(spark: SparkSession) -> DataFrame:
    built = build(make_plan("zipf:1", {"nodes": NODES}), 1)
    return stage.subscriptions(spark, NODES, built).cache()


@pytest.fixture(scope="module")
def grouped(pairs: DataFrame) -> DataFrame:
    return interests(pairs).cache()


def test_numbers_are_those_of_the_plain_lists(pairs: DataFrame, rows: list[list[int]]) -> None:
    found = characterise(pairs)
    popularity = np.bincount([topic for row in rows for topic in row])
    assert (found.nodes, found.subscriptions) == (NODES, 10 * NODES)
    assert found.topics == (popularity > 0).sum()
    assert found.popularity.max == popularity.max()
    assert found.popularity.ccdf[-1] == (popularity.max(), pytest.approx(1 / found.topics))
    assert found.sizes.mean == 10
    assert found.tdi.method == "exact"
    expected = top_intersection([list(map(str, row)) for row in rows], 20)
    assert found.tdi.percent == pytest.approx(expected, abs=1e-9)
    assert found.locality is not None
    assert found.locality.users == NODES


def test_exact_tdi_is_the_same_in_blocks_and_in_tasks(
    grouped: DataFrame, rows: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = top_intersection([list(map(str, row)) for row in rows], 7)
    monkeypatch.setattr(tdi, "CELLS", 90 * NODES)
    assert tdi.exact(grouped, 7).percent == pytest.approx(expected, abs=1e-9)
    monkeypatch.setattr(tdi, "DRIVER_MAX", 0)
    assert tdi.exact(grouped, 7).percent == pytest.approx(expected, abs=1e-9)
    monkeypatch.setattr(tdi, "EXACT_LIMIT", 10)
    with pytest.raises(UsageError, match="at most 10 nodes"):
        tdi.exact(grouped, 7)


def test_approximate_tdi_is_close_to_exact(grouped: DataFrame) -> None:
    exact = tdi.exact(grouped, 10)
    everyone = tdi.approximate(grouped, 10, count=1000)
    assert everyone.percent == pytest.approx(exact.percent, abs=1e-9)
    assert everyone.interval95 is None
    some = tdi.approximate(grouped, 10, seed=2, count=150)
    assert some.interval95 is not None
    # Twice the 95 % interval: one seed in 10,000 would be outside.
    assert some.percent == pytest.approx(exact.percent, abs=2 * some.interval95)


@pytest.mark.parametrize("count", [1000, 150], ids=["all nodes", "some nodes"])
def test_what_bands_miss_is_added(
    grouped: DataFrame, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(tdi, "CHECKED", 60)
    exact = tdi.exact(grouped, 10).percent
    few = Bands(bands=8, rows=2)
    found = tdi.approximate(grouped, 10, seed=2, count=count, bands=few)
    raw = tdi.of_sample(grouped, sample(grouped, count, seed=2), 10, few).mean()
    assert found.method == "minhash"
    assert found.interval95 is not None
    assert raw < exact - 2 * found.interval95, "so few bands miss much"
    assert found.percent == pytest.approx(exact, abs=2 * found.interval95)


def test_a_correction_by_all_nodes_is_exact(grouped: DataFrame) -> None:
    found = tdi.approximate(grouped, 10, count=1000, bands=Bands(bands=8, rows=2))
    assert found.percent == pytest.approx(tdi.exact(grouped, 10).percent, abs=1e-9)
    assert found.interval95 is None


def test_a_corrected_interval_holds_the_truth_as_often_as_it_says() -> None:
    """500 samples, seeded: 95 % of 500 with a standard error of 1 %; three of these."""
    chance = np.random.default_rng(5)
    truth = chance.gamma(4, 8, 5000)
    low = truth * chance.uniform(0.85, 1.0, 5000)
    inside = 0
    for _ in range(500):
        asked = chance.permutation(5000)[:1000]
        middle, half = tdi.corrected(low[asked], truth[asked[:100]], 5000)
        inside += half is not None and abs(middle - truth.mean()) <= half
    assert 0.92 <= inside / 500 <= 0.98


def test_nothing_depends_on_partitions(spark: SparkSession, pairs: DataFrame) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    first = characterise(pairs.repartition(5, "topic"), method="sample", seed=3)
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        assert characterise(pairs.coalesce(1), method="sample", seed=3) == first
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))


def test_a_sample_is_the_same_each_time_and_another_with_another_seed(grouped: DataFrame) -> None:
    first = sample(grouped, 20, seed=1).nodes.to_pylist()
    assert sample(grouped.repartition(3), 20, seed=1).nodes.to_pylist() == first
    assert sample(grouped, 20, seed=2).nodes.to_pylist() != first
    assert len(sample(grouped, 20, seed=1, size_min=11).nodes) == 0


def test_locality_by_hand(spark: SparkSession) -> None:
    """`me` needs x and y; the twins need each other; w has too little to be asked."""
    wanted = {"me": "abcde", "x": "abc", "y": "cdef", "twin": "pqrst", "twin2": "pqrst", "w": "e"}
    rows = [(node, topic) for node, topics in wanted.items() for topic in topics]
    pairs = spark.createDataFrame(rows, "node string, topic string")
    found = locality(interests(pairs), friends=3)
    assert found is not None
    assert found.users == 3
    # me: x covers a, b, c and y c, d, e; either first, the second brings the rest.
    assert found.fully_covered == pytest.approx([2 / 3, 1, 1])
    assert found.coverage == pytest.approx([(0.6 + 1 + 1) / 3, 1, 1])
    assert sorted(found.points) == [(5, 5), (5, 5), (5, 5)]
    assert locality(interests(pairs.where("node = 'w'"))) is None


def test_rubbish_is_counted_and_repetition_does_not_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "x.csv.gz"
    with gzip.open(file, "wt") as text:
        text.write('Topic,weight,Node\na,1,n1\na,2,n1\n"b, c",1,n1\n,1,n1\na,1,\na,3,n2\n')
    table = read_pairs(spark, locate(file))
    assert sorted(map(tuple, usable(table).collect()))[2] == ("n1", "b, c")
    found = characterise(table)
    assert (found.nodes, found.topics, found.subscriptions) == (2, 2, 3)
    assert (found.rejected, found.repeated) == (2, 1)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("group;user\nb, c;n1\na;n1\na;n2\n", Reading("user,group")),
        ("at\tuser\tgroup\n1\tn1\tb, c\n2\tn1\ta\n\tn2\ta\n", Reading("2,3")),
        ('n1,"b, c"\nn1,a\nn2,a\n"n3,a\n', Reading()),
    ],
    ids=["semicolons", "tabs", "no header, an open quote"],
)
def test_a_table_is_read_as_the_small_reader_reads_it(
    spark: SparkSession, tmp_path: Path, text: str, read: Reading
) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text)
    table = read_pairs(spark, locate(file, read))
    good = sorted(map(tuple, usable(table).collect()))
    assert good == [("n1", "a"), ("n1", "b, c"), ("n2", "a")]
    if '"n3' in text:
        assert table.count() == 4, "the open quote is a row that cannot be read"
        return
    loaded = load_subscriptions(file, read)
    named = zip(loaded.labels, loaded.of_node, strict=True)
    assert good == sorted((node, topic) for node, topics in named for topic in topics)


def test_the_command_makes_a_page(spark: SparkSession, tmp_path: Path) -> None:
    rows = build(make_plan("omen-zipf", {}), 1).draw(np.arange(400))
    table = stage.subscription_rows(build(make_plan("omen-zipf", {}), 1), np.arange(400))
    (tmp_path / "w" / "subscriptions").mkdir(parents=True)
    pq.write_table(pa.Table.from_batches([table]), tmp_path / "w" / "subscriptions" / "x.parquet")
    page = tmp_path / "page.html"
    options = [str(tmp_path / "w"), "--out", str(page), "--d", "5", "--json"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["subscriptions"] == len(rows.items)
    assert told["tdi"]["d"] == 5
    html = page.read_text()
    assert html.count("<figure>") == 4
    assert "http://" not in html.split("<body>")[0]
    assert 'src="http' not in html.split("<script")[0]
    assert f"tdi(5) = {told['tdi']['percent']:.2f} %" in html
    plain = CliRunner().invoke(app, [str(tmp_path / "w"), "--approximate"])
    assert plain.exit_code == 0, plain.output
    assert "tdi(20)" in plain.stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.csv", None, "no such file"),
        ("bad.csv", b"user,item,at\n1,2,3\n", "no column 'node'"),
        ("bad.csv", b"\xff\xfe\x00", "is not UTF-8 text"),
        ("bad.csv.gz", b"not packed", "cannot be read"),
        ("bad.parquet", b"PAR?", "cannot be read"),
        ("empty.csv", b"node,topic\n", "no row with a node and a topic"),
        ("folder", b"", "neither .parquet files nor a folder"),
    ],
)
def test_bad_files(
    spark: SparkSession, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    done = CliRunner().invoke(app, [str(path)])
    assert isinstance(done.exception, UsageError), done.exception
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_methods_and_flags() -> None:
    assert choose_method(None, None) is None
    assert choose_method(True, None) == "sample"
    assert choose_method(False, None) == "exact"
    assert choose_method(True, "minhash") == "minhash"
    assert choose_method(None, "minhash") == "minhash"
    for approximate, method in ((True, "exact"), (False, "minhash"), (None, "minhsh")):
        with pytest.raises(UsageError):
            choose_method(approximate, method)


@needs_traces
def test_a_real_trace(spark: SparkSession, tmp_path: Path) -> None:
    """YouTube's groups: counts as published (Mislove et al., IMC 2007), heavy tails on both
    sides, and the locality that Rappel found at LiveJournal, in kind."""
    source = FOLDER / "subscriptions/youtube_groupmemberships.txt.gz"
    file = tmp_path / "groups.csv.gz"
    with gzip.open(source, "rt") as raw, gzip.open(file, "wt", compresslevel=1) as text:
        text.write("node,topic\n" + raw.read().replace("\t", ","))
    found = characterise(read_pairs(spark, locate(file)), seed=1)
    assert (found.nodes, found.topics, found.subscriptions) == (94_238, 30_087, 293_360)
    assert (found.sizes.max, found.popularity.max) == (1035, 7591)
    assert found.popularity.fit is not None
    assert 1.5 < found.popularity.fit.alpha < 3
    assert found.popularity.fit.beats_exponential > 0
    assert found.tdi.method == "sample"
    assert found.locality is not None
    assert found.locality.fully_covered == sorted(found.locality.fully_covered)
    assert found.locality.fully_covered[5] > 0.3
