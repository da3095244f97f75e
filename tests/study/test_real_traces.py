"""The study of real traces: what it would run, and the page that it writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from orbweaver.metrics.summary import MEANING
from orbweaver.overlays.catalog import find
from orbweaver.pipeline.ingest.kinds import build_options
from orbweaver.pipeline.ingest.kinds import find as find_kind
from orbweaver.pipeline.sample.methods import build_settings
from orbweaver.study.claims import gather
from orbweaver.study.run import Result

SCRIPT = Path(__file__).parents[2] / "studies" / "real_traces.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("real_traces", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["real_traces"] = module
    spec.loader.exec_module(module)
    return module


def test_what_is_asked_of_the_pipeline_exists(study: ModuleType) -> None:
    for trace in (*study.TRACES, study.MACHINES):
        build_options(find_kind(trace.kind), trace.options)
        if trace.method:
            build_settings(trace.method, 0, trace.settings)
    for overlay, params in study.OVERLAYS.values():
        assert set(params) <= set(find(overlay).Params.__struct_fields__)


def test_every_overlay_on_every_trace_and_one_with_churn(study: ModuleType) -> None:
    made = [s for t in study.TRACES for s in study.scenarios(t, Path("t"), Path("machines"))]
    assert len({s.name for s in made}) == len(made) == 6 * len(study.OVERLAYS)
    assert {s.churn.model for s in made if ", churn:" in s.name} == {"file"}


def test_the_page_has_a_table_for_each_trace(study: ModuleType) -> None:
    made = [s for t in study.TRACES for s in study.scenarios(t, Path("t"), Path("machines"))]
    results = [
        Result(
            name=s.name, overlay=s.overlay, params={}, nodes=7, topics=5, seed=seed, digest="",
            wall_seconds=0, events=0, complete=True,
            metrics=dict.fromkeys(MEANING, 1.0) | {"degree_mean": 9.0 + seed}, snapshots=[],
            degree_histogram={}, states={}, fingerprint="", version="",
        )
        for s in made
        for seed in (0, 1, 2)
    ]  # fmt: skip
    page = study.page(gather(results), "a machine")
    assert page.count("## ") == 6
    assert page.count("| spidercast (3,0) | 10.00 ±2.48 | 1 |") == 6
