import pytest

from orbweaver.net.gate.limits import Bucket, Sparing


def test_a_burst_is_free_and_then_it_costs_time():
    bucket = Bucket(10, burst=20, now=0.0)
    assert bucket.take(20, 0.0) == 0
    assert bucket.take(5, 0.0) == pytest.approx(0.5)
    assert bucket.take(0, 0.5) == 0
    assert bucket.take(1, 0.5) == pytest.approx(0.1)


def test_savings_have_a_limit():
    bucket = Bucket(10, burst=20, now=0.0)
    assert bucket.take(25, 1000.0) == pytest.approx(0.5)


def test_who_goes_on_without_leave_runs_up_no_debt():
    bucket = Bucket(10, burst=20, now=0.0)
    assert [bucket.allow(15, 0.0) for _ in range(100)] == [True] + [False] * 99
    assert bucket.allow(5, 0.0)
    assert not bucket.allow(1, 0.0)
    assert bucket.allow(1, 0.1)
    assert bucket.left(1000.0) == 20


class Lines:
    def __init__(self):
        self.said = []

    def warning(self, event, **facts):
        self.said.append((event, facts))

    exception = warning


def test_what_peers_make_us_log_is_bounded(monkeypatch):
    now = 0.0
    monkeypatch.setattr("orbweaver.net.gate.limits.monotonic", lambda: now)
    lines = Lines()
    log = Sparing(lines)
    for n in range(1000):
        log.exception("failed", n=n) if n % 2 else log.warning("wrong", n=n)
    assert len(lines.said) == Sparing.BURST
    assert lines.said[1] == ("failed", {"n": 1})
    now += 1.0
    log.warning("wrong")
    log.warning("wrong")
    assert lines.said[-2:] == [("wrong", {"left_out": 950}), ("wrong", {})]
