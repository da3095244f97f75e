"""The whole answer, on results made by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from orbweaver.core.seeds import generator
from orbweaver.study.advice import plan
from orbweaver.study.advice.causes import decisive, locality
from orbweaver.study.advice.designs import connected_topics
from orbweaver.study.advice.evidence import Evidence
from orbweaver.study.advice.judge import judge
from orbweaver.study.advice.measures import MEASURES, estimate
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.samples import ALTERED, Samples
from orbweaver.study.advice.steps import Drawer, advise
from orbweaver.study.advice.value import Advice
from orbweaver.study.run import Job, Result
from orbweaver.workload.altered import dealt_again, largest_topic, level, without_largest
from orbweaver.workload.subscriptions import Subscriptions
from tests.study.advice.example import METRICS, NODES, case, example, result, runner, subscriptions


def test_the_verdict_comes_first_in_plain_words() -> None:
    advice = example()
    assert advice.headline == (
        "Pick spidercast: every event arrives, no node forwards what it did not ask for, 10 links "
        "a node and 20 at most, 95 of 100 deliveries within 240 ms, 3.0 KB/s sent by a node."
    )
    assert advice.sentences[:4] == (
        "vitis has 0.5 times the links at its largest node, but nodes did not ask for 12 % of what "
        "they receive and it has 1.7 times the traffic.",
        "ring-per-topic has 0.7 times the links, but it has 3.7 times the delay.",
        "opt loses 0.4 % of the events here.",
        "Not suitable: random (72 % of the events lost).",
    )
    assert [one.place for one in advice.ratings] == ["pick", "suitable", "suitable", "lossy", "out"]
    assert advice.sure


def test_it_says_how_good_it_could_be() -> None:
    best = example().possible
    assert best is not None
    assert best.links_mean_bound <= min(one.links_mean for one in best.designs)
    assert best.ratio == pytest.approx(10.01 / min(one.links_mean for one in best.designs))
    for one in best.designs:
        links, shares = zip(*one.curve, strict=True)
        assert shares[0] < shares[-1] == 1
        assert list(shares) == sorted(shares)
        assert links[-1] == pytest.approx(one.links_mean)


def test_a_value_survives_json() -> None:
    advice = example(Question(scale=5000, links_max=30))
    assert msgspec.json.decode(msgspec.json.encode(advice), type=Advice) == advice


def test_every_measure_is_there_and_one_without_a_value_is_left_out() -> None:
    rating = example().ratings[0]
    assert list(rating.measures) == list(MEASURES)
    assert rating.degrees == {9: 45, 11: 45}
    assert estimate([float("nan")]) is None
    assert result("one", hit_ratio=None).metrics["hit_ratio"] is None


def test_topics_are_connected_link_by_link() -> None:
    of_node = [("a",), ("a", "b"), ("b", "a"), ("c",)]
    curve = connected_topics(of_node, [(0, 1), (1, 2)])
    assert curve == ((0.0, 1 / 3), (0.5, 1 / 3), (1.0, 1.0))


def test_subscriptions_without_a_property_keep_the_others() -> None:
    these = subscriptions(60)
    sizes = [len(topics) for topics in these.of_node]
    dealt = dealt_again(these, generator("test"))
    assert [len(topics) for topics in dealt.of_node] == sizes
    assert popularity(dealt.of_node) == popularity(these.of_node)
    assert dealt != these
    flat = level(these, generator("test"))
    assert [len(topics) for topics in flat.of_node] == sizes
    assert largest_topic(flat)[1] < largest_topic(these)[1]
    largest, _ = largest_topic(these)
    rest = without_largest(these, generator("test"))
    assert largest not in rest.topics
    assert sum(map(len, rest.of_node)) == sum(sizes) - largest_topic(these)[1]


def popularity(of_node: Sequence[Sequence[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for topics in of_node:
        for topic in sorted(topics):
            found[topic] = found.get(topic, 0) + 1
    return dict(sorted(found.items()))


def test_likeness_goes_when_subscriptions_are_dealt_out_again() -> None:
    these = subscriptions(60)
    halves = [tuple(f"{t}{n % 2}" for t in "abcdef") for n in range(60)]
    alike = type(these)(tuple(sorted({t for h in halves for t in h})), tuple(halves), these.labels)
    assert locality(alike) == 1
    assert locality(dealt_again(alike, generator("test"))) < 0.9


def test_only_an_effect_beyond_its_interval_decides() -> None:
    clear, vague = estimate([0.5, 0.51, 0.49]), estimate([2.0, -3.0, 4.0])
    assert decisive({"locality": clear, "skew": vague, "largest": None}) == "locality"
    assert decisive({"skew": vague}) is None
    assert decisive({"skew": estimate([-0.5, -0.51, -0.49])}) is None, "works against the pick"


def measured(folder: Path, **without: dict[str, float | None]) -> Evidence:
    """Return evidence of spidercast and vitis, with what they do without a property."""
    evidence = Evidence(case(folder, ["spidercast", "vitis"]))
    evidence.add(runner, ["spidercast", "vitis"], NODES, plan.SEEDS)
    for way in ALTERED:
        for overlay in ("spidercast", "vitis"):
            metrics = METRICS[overlay] | (without.get(way, {}) if overlay == "vitis" else {})
            evidence.altered[overlay, way] = [
                result(overlay, seed, **metrics) for seed in plan.SEEDS
            ]
    return evidence


def test_the_property_without_which_the_lead_goes_is_the_reason(tmp_path: Path) -> None:
    fast: dict[str, float | None] = {"delay_ms_p95": 110.0}
    advice = judge(measured(tmp_path, **{"without the largest topic": fast}), [], None)
    deciding = {one.name: one.decides for one in advice.properties}
    assert deciding == {"locality": False, "skew": False, "largest": True}
    (told,) = [text for text in advice.sentences if text.startswith("What decides")]
    assert told.startswith("What decides is the size of the largest topic (")
    assert told.endswith(
        "in delay, traffic, links and load together, vitis comes to 1.1 times spidercast with it, "
        "and to 0.9 times without it."
    )


def test_there_may_be_no_property_that_decides(tmp_path: Path) -> None:
    advice = judge(measured(tmp_path), [], None)
    assert not any(one.decides for one in advice.properties)
    assert any(text.startswith("No property of the data decides") for text in advice.sentences)


def test_a_pick_that_was_another_on_smaller_samples_is_not_sure(tmp_path: Path) -> None:
    evidence = measured(tmp_path)
    assert judge(evidence, ["spidercast"], None).sure
    assert judge(evidence, ["vitis"], None).doubts == ("On samples of 30 nodes it was vitis.",)


@pytest.mark.parametrize(
    ("nodes", "question", "sizes"),
    [
        (40, Question(), (40,)),
        (110, Question(), (110,)),
        (300, Question(), (80, 160, 300)),
        (2000, Question(), (80, 160, 320, 500)),
        (100_000, Question(), (80, 160, 320, 500)),
        (140, Question(scale=5000), (35, 70, 140)),
        (140, Question(), (80, 140)),
        (250, Question(scale=5000), (80, 160, 250)),
    ],
)
def test_sizes(nodes: int, question: Question, sizes: tuple[int, ...]) -> None:
    assert plan.ladder(nodes, question) == sizes


class Recorder:
    """Stands for the runs: remembers what was asked, and answers by the name of the overlay."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def __call__(self, jobs: Sequence[Job]) -> list[Result]:
        self.asked += [(scenario.name, seed) for scenario, seed in jobs]
        return [
            result(
                scenario.overlay, seed, int(scenario.name.split()[1]), **METRICS[scenario.overlay]
            )
            for scenario, seed in jobs
        ]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drawer, "__call__", lambda self, overlay: None)


@pytest.mark.usefixtures("undrawn")
def test_steps_of_an_answer_that_is_sure(tmp_path: Path) -> None:
    run = Recorder()
    answers = list(advise(case(tmp_path, list(METRICS), nodes=450), run))
    assert [answer.pick for answer in answers] == ["spidercast"] * 3
    assert run.asked[:5] == [(f"{name}, 80 nodes", 0) for name in METRICS]
    altered = [name for name, _ in run.asked if name.count(",") == 2]
    assert {name.split(",")[0] for name in altered} == {"spidercast", "vitis"}
    assert [name for name, seed in run.asked if "160" in name and not seed] == [
        f"{name}, 160 nodes" for name in METRICS if name != "random"
    ], "what is out is not run again"
    assert not any("450" in name for name, _ in run.asked), "two sizes agree"
    assert answers[-1].ran.runs == 15 + 18 + 12
    (random,) = [one for one in answers[-1].ratings if one.overlay == "random"]
    assert random.nodes == 80


@pytest.mark.usefixtures("undrawn")
def test_a_quick_answer_has_its_reason_and_ends_there(tmp_path: Path) -> None:
    run = Recorder()
    *_, answer = advise(case(tmp_path, list(METRICS), nodes=450), run, quick=True)
    assert answer.ran.sizes == (80,)
    assert any(text.startswith("No property of the data decides") for text in answer.sentences)


@pytest.mark.usefixtures("undrawn")
def test_a_tie_goes_on_to_the_largest_sample_and_to_more_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS, "ring-per-topic", {"degree_mean": 9.9})
    run = Recorder()
    *_, answer = advise(case(tmp_path, list(METRICS), nodes=200), run)
    assert (answer.pick, answer.ties) == ("ring-per-topic", ("spidercast",))
    assert answer.doubts == ("The runs do not tell ring-per-topic and spidercast apart.",)
    assert answer.ran.sizes == (80, 200)
    assert answer.ran.seeds == (0, 1, 2, 3, 4, 5)
    last = {name for name, seed in run.asked if seed > 2}
    assert last == {f"{name}, 200 nodes" for name in ("ring-per-topic", "spidercast", "vitis")}


@pytest.mark.usefixtures("undrawn")
def test_an_answer_from_samples_tells_what_they_lack(tmp_path: Path) -> None:
    many = tuple(tuple(f"t{(7 * n + i) % 400}" for i in range(20)) for n in range(300))
    whole = Subscriptions(tuple(f"t{i}" for i in range(400)), many, tuple(map(str, range(300))))
    samples = Samples(whole, False, tmp_path)
    asked = dataclasses.replace(case(tmp_path, ["spidercast"]), samples=samples)
    first = next(iter(advise(asked, Recorder())))
    wants = (first.data.wants, first.data.wants_sampled)
    assert wants[0] == 20 > 1.5 * wants[1]
    (told,) = [text for text in first.sentences if text.startswith("The numbers are of samples")]
    assert f"A node wants {wants[1]:.1f} topics there and 20 in the data" in told
    assert samples.wider(80, plan.SEEDS) == pytest.approx(wants[0] / wants[1])
    assert not any("there and" in text for text in example().sentences), "taken whole"


@pytest.mark.usefixtures("undrawn")
def test_nothing_suits(tmp_path: Path) -> None:
    run = Recorder()
    question = Question(links_max=3)
    *_, answer = advise(case(tmp_path, list(METRICS), question, nodes=300), run)
    assert answer.pick is None
    assert answer.headline == "No overlay is suitable."
    assert all(one.place == "out" for one in answer.ratings)
    assert answer.sure


@pytest.mark.usefixtures("undrawn")
def test_another_size_takes_three_sizes(tmp_path: Path) -> None:
    question = Question(scale=100_000)
    *_, answer = advise(case(tmp_path, list(METRICS), question, nodes=300), Recorder())
    assert answer.ran.sizes == (80, 160, 300)
    ahead = {(one.overlay, one.measure): one for one in answer.forecasts}
    assert ahead["spidercast", "links"].expected == pytest.approx(10, rel=0.05)
    (told,) = [text for text in answer.sentences if text.startswith("With 100,000 nodes expect")]
    assert told.startswith("With 100,000 nodes expect of spidercast: 10 links a node (")
    assert "; 95 of 100 deliveries within 240 ms (" in told


def test_a_picture_is_of_the_nodes_of_the_data(tmp_path: Path) -> None:
    drawn = Drawer(case(tmp_path, ["random"], nodes=NODES))("random")
    whole = subscriptions()
    assert drawn.labels == whole.labels
    names = [{drawn.topics[place] for place in places} for places in drawn.interests]
    assert names == [set(topics) for topics in whole.of_node]
    assert drawn.links
    assert all(a < b for a, b in drawn.links)
