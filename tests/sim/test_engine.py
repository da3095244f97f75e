"""The event loop: order, time and limits."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.sim.engine import Engine

NO_LIMIT = 1 << 60


class Trace(Engine):
    """An engine whose actions note when they ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[int, Any]] = []

    def note(self, delay: int, what: Any) -> None:
        self.schedule(delay, self._note, what, None)

    def _note(self, what: Any, _: None) -> None:
        self.ran.append((self.now, what))


def test_events_of_one_tick_run_in_the_order_of_scheduling() -> None:
    engine = Trace()
    for what in "cab":
        engine.note(5, what)
    engine.note(4, "first")
    assert engine.run(10, NO_LIMIT)
    assert engine.ran == [(4, "first"), (5, "c"), (5, "a"), (5, "b")]


@pytest.mark.parametrize(("delay", "tick"), [(-3, 1), (0, 1), (1, 1), (2, 2), (10**12, 10**12)])
def test_nothing_runs_in_the_moment_it_is_scheduled(delay: int, tick: int) -> None:
    engine = Trace()
    engine.note(delay, "x")
    engine.run(10**12, NO_LIMIT)
    assert engine.ran == [(tick, "x")]


def test_what_an_event_schedules_comes_after_its_tick() -> None:
    engine = Trace()

    def again(left: int, _: None) -> None:
        engine.ran.append((engine.now, left))
        if left:
            engine.schedule(0, again, left - 1, None)

    engine.schedule(3, again, 2, None)
    engine.note(4, "early")
    engine.run(100, NO_LIMIT)
    assert engine.ran == [(3, 2), (4, "early"), (4, 1), (5, 0)]


def test_until_is_included_and_the_rest_waits() -> None:
    engine = Trace()
    for delay in (5, 6):
        engine.note(delay, delay)
    assert engine.run(5, NO_LIMIT)
    assert engine.ran == [(5, 5)]
    assert (engine.now, engine.pending()) == (5, True)
    assert engine.run(6, NO_LIMIT)
    assert not engine.pending()


def test_time_passes_without_events_and_never_goes_back() -> None:
    engine = Trace()
    assert engine.run(50, NO_LIMIT)
    assert engine.now == 50
    engine.note(5, "x")
    engine.run(20, NO_LIMIT)
    assert engine.now == 50
    engine.run(60, NO_LIMIT)
    assert engine.ran == [(55, "x")]


@pytest.mark.parametrize(("limit", "ran"), [(1, 2), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_the_limit_is_checked_between_ticks(limit: int, ran: int) -> None:
    engine = Trace()
    for delay in (1, 1, 2, 3):
        engine.note(delay, delay)
    assert engine.run(10, limit) == (limit > 4)
    assert engine.events == len(engine.ran) == ran


def test_a_stopped_run_stays_at_the_tick_it_reached() -> None:
    engine = Trace()
    for delay in (1, 2, 3):
        engine.note(delay, delay)
    assert not engine.run(10, 2)
    assert engine.now == 2


@settings(deadline=None, max_examples=100)
@given(
    delays=st.lists(st.integers(-2, 30), max_size=40),
    stops=st.lists(st.integers(0, 40), max_size=5).map(sorted),
)
def test_pauses_change_nothing(delays: list[int], stops: list[int]) -> None:
    engine = Trace()
    for number, delay in enumerate(delays):
        engine.note(delay, number)
    for stop in [*stops, 40]:
        assert engine.run(stop, NO_LIMIT)
    due = sorted((max(1, delay), number) for number, delay in enumerate(delays))
    assert engine.ran == due
    assert engine.events == len(delays)
