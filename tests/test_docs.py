"""Documentation that is printed from the code, or run by a reader, stays true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario_files import load_scenario
from tests.generated_docs import DOCS, network, reference

ROOT = DOCS.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "deploy" / "README.md",
    *sorted(DOCS.rglob("*.md")),
]


def test_reference_is_current() -> None:
    assert (DOCS / "reference.md").read_text(encoding="utf-8") == reference(), "run: make docs"


def test_settings_are_current() -> None:
    assert (DOCS / "network.md").read_text(encoding="utf-8") == network(), "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_index_of_results_tells_what_the_pages_tell() -> None:
    """The first line of a page on claims says how many of its checks hold."""
    count = re.compile(r"\d+ of \d+ checks (?:reproduced|hold)")
    told = 0
    for row in (DOCS / "results.md").read_text(encoding="utf-8").splitlines():
        link, found = re.search(r"\(results/(\S+\.md)\)", row), count.search(row)
        if link is not None and found is not None:
            page = (DOCS / "results" / link[1]).read_text(encoding="utf-8")
            first = count.search(page)
            assert first is not None
            assert first[0] == found[0], link[1]
            told += 1
    assert told > 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_code_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(
        r"`((?:core|gossip|overlays|sim|metrics|records|workload|study|testing)/[a-z_/]+\.py)`",
        text,
    ):
        assert (ROOT / "src" / "orbweaver" / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "scenarios").rglob("*.toml")), ids=lambda path: path.stem
)
def test_scenarios_run(path: Path) -> None:
    """Each scenario file loads, and runs when made small."""
    import msgspec

    full = load_scenario(path)
    small = msgspec.structs.replace(
        full,
        workload=msgspec.structs.replace(full.workload, nodes=40),
        churn=msgspec.structs.replace(full.churn, crowd=min(full.churn.crowd, 10)),
        run=msgspec.structs.replace(
            full.run, duration_ms=6000, warmup_ms=5000, snapshots_ms=(), young_ms=0
        ),
    )
    result = run_scenario(small, 0).result
    assert result.complete
    assert result.metrics["links"] > 0
