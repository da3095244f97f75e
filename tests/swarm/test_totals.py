"""The arithmetic of a swarm."""

from __future__ import annotations

import pytest

from orbweaver.swarm.latencies import added, bar_of, quantile
from orbweaver.swarm.messages import MemberPlan, MemberReport
from orbweaver.swarm.totals import SwarmTotals

PLANS = [MemberPlan({}, topics, 1.0, 0) for topics in (("a", "b"), ("a",), ("a",))]


def report(published: dict[str, int], delivered: dict[str, int], **more: object) -> MemberReport:
    values = {"repeated": 0, "links": 2, "queued": 0, "counters": {}, "latencies": {}}
    values |= {"cpu_s": 0.0, "memory": 1000, **more}
    return MemberReport(published=published, delivered=delivered, **values)  # type: ignore[arg-type]


def test_an_event_is_owed_to_all_subscribers_but_its_publisher() -> None:
    totals = SwarmTotals(PLANS)
    totals.reports[0] = report({"a": 2, "b": 7}, {})
    assert (totals.published, totals.expected, totals.missing) == (9, 4, 4)
    totals.reports[1] = report({}, {"a": 2})
    totals.reports[2] = report({"a": 1}, {"a": 1})
    assert (totals.expected, totals.delivered, totals.missing) == (6, 3, 3)


def test_a_later_report_takes_the_place_of_an_earlier_one() -> None:
    totals = SwarmTotals(PLANS)
    for count in (1, 5):
        totals.reports[0] = report({"a": count}, {})
    assert totals.published == 5


def test_rates_are_of_the_last_seconds() -> None:
    totals = SwarmTotals(PLANS)
    for second, count in enumerate((0, 100, 110, 120, 130, 140)):
        totals.reports[1] = report({}, {"a": count})
        rate = totals.rate(float(second))
    assert rate == pytest.approx(10)


def test_the_summary() -> None:
    totals = SwarmTotals(PLANS)
    totals.reports[0] = report({"a": 10}, {}, cpu_s=1.0, links=1)
    totals.begin()
    totals.reports[0] = report({"a": 10}, {}, cpu_s=2.0, links=1)
    totals.reports[1] = report({}, {"a": 10}, latencies={bar_of(0.01): 10}, memory=3000)
    totals.reports[2] = report({}, {"a": 5}, latencies={bar_of(0.02): 5}, repeated=1)
    totals.end()
    found = totals.summary("spidercast", 4.0, {"dropped_data": 3}, {})
    assert (found.nodes, found.missing, found.share, found.repeated) == (3, 5, 0.75, 1)
    assert found.latency_ms_median == pytest.approx(10, rel=0.05)
    assert found.latency_ms_p99 == pytest.approx(20, rel=0.05)
    assert found.degree_mean == pytest.approx(5 / 3)
    assert found.cpu_max == pytest.approx(0.25)
    assert found.memory_max == 3000
    assert found.as_plain()["missing"] == 5


def test_quantiles_of_histograms() -> None:
    bars = added([{bar_of(s): 1 for s in (0.001, 0.002)}, {bar_of(0.1): 1}])
    assert quantile(bars, 0.5) == pytest.approx(0.002, rel=0.05)
    assert quantile(bars, 0.99) == pytest.approx(0.1, rel=0.05)
    assert quantile({}, 0.5) is None
    assert bar_of(0.0) == bar_of(1e-6)
