"""One Spark session for all pipeline tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from orbweaver.pipeline.memory import SHORT_LIVED
from orbweaver.pipeline.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Tables of tests have a few rows: of Java's time, half went into optimising code for them.
    purpose = {"spark.driver.extraJavaOptions": SHORT_LIVED}
    session = spark_session("local[2]", "orbweaver tests", purpose=purpose)
    yield session
    session.stop()
