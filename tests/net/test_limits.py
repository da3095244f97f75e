import pytest

from orbweaver.net.limits import Bucket


def test_a_burst_is_free_and_then_it_costs_time():
    bucket = Bucket(10, burst=20, now=0.0)
    assert bucket.take(20, 0.0) == 0
    assert bucket.take(5, 0.0) == pytest.approx(0.5)
    assert bucket.take(0, 0.5) == 0
    assert bucket.take(1, 0.5) == pytest.approx(0.1)


def test_savings_have_a_limit():
    bucket = Bucket(10, burst=20, now=0.0)
    assert bucket.take(25, 1000.0) == pytest.approx(0.5)
