"""One Spark session for all pipeline tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from orbweaver.pipeline.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session("local[2]", "orbweaver tests")
    yield session
    session.stop()


STAGES = ("test_ingest", "test_sample", "test_synthesise", "test_characterise")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of the stages start many Spark jobs; they have a make target of their own."""
    for item in items:
        if item.path.name.startswith(STAGES):
            item.add_marker(pytest.mark.stages)
