"""How a Rappel node finds its coordinates before it goes online (section 6.1.4)."""

from __future__ import annotations

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.vivaldi import Coordinates
from orbweaver.overlays.rappel.landmarks import LANDMARKS_MAX, Landmarks
from orbweaver.overlays.rappel.messages import PlaceProbe, PlaceProbeOk
from orbweaver.overlays.rappel.params import RappelParams
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, LANDMARK = NodeId(1), NodeId(2)
PLACE = Coordinates((10.0, 0.0, 0.0, 0.0, 0.0))


def make(samples: int = 3) -> tuple[Landmarks, FakeOutbox]:
    outbox = FakeOutbox()
    outbox.round_trips[LANDMARK] = 20.0
    context = make_context(ME, outbox, TopicTable())
    return Landmarks(context, RappelParams(samples=samples)), outbox


def answer(settled: bool, *others: int) -> PlaceProbeOk:
    return PlaceProbeOk(PLACE, 0.1, settled, tuple(map(NodeId, others)))


def test_round_trips_to_nodes_that_look_for_coordinates_do_not_count() -> None:
    """All at once, nodes would hold the coordinates of a network that has not converged."""
    landmarks, _ = make()
    before = landmarks.vivaldi.coordinates
    for _ in range(10):
        landmarks.on_probe_ok(LANDMARK, answer(settled=False))
    assert landmarks.vivaldi.coordinates != before, "they are of use all the same"
    assert not landmarks.done


def test_enough_round_trips_to_nodes_online_are_the_end() -> None:
    landmarks, _ = make(samples=3)
    for n in range(3):
        assert not landmarks.done, n
        landmarks.on_probe_ok(LANDMARK, answer(settled=True))
    assert landmarks.done


def test_a_peer_that_was_not_measured_does_not_count() -> None:
    landmarks, _ = make(samples=1)
    landmarks.on_probe_ok(NodeId(9), answer(settled=True))
    assert not landmarks.done


def test_answers_say_whether_the_coordinates_are_held() -> None:
    landmarks, outbox = make()
    landmarks.on_probe(LANDMARK, ())
    landmarks.vivaldi.freeze()
    landmarks.on_probe(LANDMARK, ())
    told = [message for _, message in outbox.take()]
    assert [message.settled for message in told if isinstance(message, PlaceProbeOk)] == [
        False,
        True,
    ]


def test_landmarks_are_learned_from_answers_up_to_a_limit() -> None:
    landmarks, outbox = make()
    landmarks.meet([ME])
    landmarks.probe()
    assert not outbox.take(), "a node is no landmark of its own"
    for n in range(100):
        landmarks.on_probe_ok(LANDMARK, answer(True, 3 * n + 10, 3 * n + 11, 3 * n + 12))
    for _ in range(1000):
        landmarks.probe()
    asked = {to for to, message in outbox.take() if isinstance(message, PlaceProbe)}
    assert len(asked) == LANDMARKS_MAX
