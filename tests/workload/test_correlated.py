"""Laws of correlated interests in a scenario: the models of `workload.models` by name."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.workload.models.catalog import build, make_plan, plan_of_law
from orbweaver.workload.scenario import make_workload
from orbweaver.workload.scenario_files import build_scenario


def workload(law: str, **spec: Any) -> Any:
    made = {"nodes": 60, "topics": 60, "subscriptions_per_node": "4", "popularity": law} | spec
    return make_workload(build_scenario({"overlay": "x", "workload": made}, "test"), 3)


@pytest.mark.parametrize(
    ("law", "model", "settings"),
    [
        ("multi-modal", "multi-modal", {"topics": 60}),
        (
            "multi-modal:20:2:0.5",
            "multi-modal",
            {"topics": 60, "categories": 20, "categories_per_node": 2, "alpha": 0.5},
        ),
        ("spatial", "spatial", {}),
        ("hierarchical", "hierarchical", {"topics": 60}),
        ("hierarchical:0.5:1", "hierarchical", {"topics": 60, "init_frac": 0.5, "homophily": 1.0}),
    ],
)
def test_a_law_is_the_model_that_synthesise_writes(
    law: str, model: str, settings: dict[str, Any]
) -> None:
    plan = make_plan(model, {"nodes": 60, "subscriptions_per_node": "4"} | settings)
    rows = build(plan, 3).draw(np.arange(60)).rows()
    made = workload(law)
    assert [[int(topic[1:]) for topic in wanted] for wanted in made.subscriptions.of_node] == rows
    assert made.subscriptions.topics == tuple(f"t{i}" for i in range(60))
    assert made.nodes == 60
    assert made.model is None


def test_without_numbers_a_law_has_the_papers() -> None:
    multi = plan_of_law("multi-modal", 10_000, 1000, "50")
    assert (multi.categories, multi.categories_per_node, multi.alpha) == (10, 1, 1.0)
    tree = plan_of_law("hierarchical", 1 << 14, 1 << 14, "16")
    assert (tree.init_frac, tree.homophily, tree.alpha0) == (0.1, 2.0, 2.0)


@pytest.mark.parametrize(
    ("law", "spec", "error"),
    [
        ("multi-modal:10:1:1:1", {}, "should be multi-modal:CATEGORIES:CATEGORIES_PER_NODE:ALPHA"),
        ("multi-modal:x", {}, "categories in popularity 'multi-modal:x' needs a number from 1"),
        ("multi-modal:7", {}, "60 topics do not divide into 7 equal categories"),
        ("spatial", {"topics": 50}, "60 nodes need 60 topics, not 50"),
        ("spatial:1", {}, "should be spatial"),
        ("hierarchical", {"subscriptions_per_node": "2:5"}, "takes a mean of subscriptions"),
    ],
)
def test_wrong_laws(law: str, spec: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        workload(law, **spec)


def test_single_nodes_cannot_be_drawn_anew() -> None:
    raw = {
        "overlay": "x",
        "workload": {"popularity": "spatial"},
        "churn": {"model": "exponential", "new_interest": True},
    }
    with pytest.raises(UsageError, match="new_interest cannot draw single nodes by 'spatial'"):
        build_scenario(raw, "test")


def test_without_numpy_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["numpy"] = None
from orbweaver.workload.subscriptions import correlated
correlated("spatial", 9, 9, "2", 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "popularity 'spatial' needs the lab install" in done.stderr
