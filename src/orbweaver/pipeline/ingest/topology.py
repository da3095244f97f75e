"""Reads graphs of autonomous systems with the relationship of their links."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.dataset import conform
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.kinds import Options
from orbweaver.pipeline.ingest.lines import (
    TracePlan,
    cell,
    entries,
    mark,
    used,
    with_cells,
)
from orbweaver.pipeline.ingest.peek import ANY_SEPARATOR
from orbweaver.pipeline.schemas import TOPOLOGY

RELATIONSHIPS = {"-1": "customer", "1": "provider", "0": "peer", "2": "sibling"}
"""What the first system is to the second, as in SNAP's as-caida. In CAIDA's own files (`a|b|-1`) -1
means the opposite; their bar is no separator here, so that they are rejected, not misread."""


def as_graph(lines: DataFrame, options: Options) -> TracePlan:
    rows = with_cells(lines, ANY_SEPARATOR, 3)
    known = F.create_map(*(F.lit(part) for pair in RELATIONSHIPS.items() for part in pair))
    rows = rows.withColumn("relationship", F.try_element_at(known, cell(2)))
    rows = mark(
        rows,
        (notes.BAD_RELATIONSHIP, F.col("relationship").isNull()),
        (notes.BAD_NUMBER, ~(cell(0).rlike(r"^\d+$") & cell(1).rlike(r"^\d+$"))),
        (notes.SELF_LOOP, cell(0) == cell(1)),
    )
    links = used(rows).select(cell(0).alias("src"), cell(1).alias("dst"), "relationship")
    once = conform(links, TOPOLOGY).distinct().orderBy("src", "dst", "relationship")
    return TracePlan(entries(rows), {"topology": once}, (notes.DUPLICATE, "topology", 1))
