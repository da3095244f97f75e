"""The tables that stages read and write."""

from __future__ import annotations

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType


def _schema(**columns: type[StringType] | type[LongType] | type[DoubleType]) -> StructType:
    return StructType([StructField(name, kind(), False) for name, kind in columns.items()])


SUBSCRIPTIONS = _schema(node=StringType, topic=StringType)
"""Who wants what; a pair occurs once."""

PUBLICATIONS = _schema(time_ms=LongType, node=StringType, topic=StringType)
"""Events in the order of a trace: who published on what, when."""

RATES = _schema(topic=StringType, rate=DoubleType)
"""Events on a topic, relative to the others."""

CHURN = _schema(time_ms=LongType, node=StringType, kind=StringType)
"""Nodes coming and going; kind is join, leave or crash."""

LATENCY = _schema(a=StringType, b=StringType, ms=DoubleType)
"""Delay one way from a to b."""

REJECTED = _schema(source=StringType, text=StringType, reason=StringType)
"""Rows of a trace that could not be used, and why."""

COORDINATES = _schema(node=StringType, x=DoubleType, y=DoubleType)
"""Places whose distances are delays one way."""

TOPOLOGY = _schema(src=StringType, dst=StringType, relationship=StringType)
"""Links between autonomous systems; src is a customer, provider, peer or sibling of dst."""

NODES = _schema(node=StringType, hop=LongType)
"""The nodes of a sample, with or without subscriptions in it, and how many steps each was
from where the sampling began."""
