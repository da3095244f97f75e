"""Schemas of the tables that stages read and write."""

from __future__ import annotations

from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType


def _schema(**columns: type[StringType] | type[LongType] | type[DoubleType]) -> StructType:
    return StructType([StructField(name, kind(), False) for name, kind in columns.items()])


SUBSCRIPTIONS = _schema(node=StringType, topic=StringType)
"""Which node subscribes to which topic; each pair occurs once."""

PUBLICATIONS = _schema(time_ms=LongType, node=StringType, topic=StringType)
"""Events in the order of a trace: the publisher, the topic and the time."""

RATES = _schema(topic=StringType, rate=DoubleType)
"""The rate of events on a topic, relative to the other topics."""

CHURN = _schema(time_ms=LongType, node=StringType, kind=StringType)
"""Joins and leaves of nodes; kind is join, leave or crash."""

LATENCY = _schema(a=StringType, b=StringType, ms=DoubleType)
"""The one-way delay from a to b."""

REJECTED = _schema(source=StringType, text=StringType, reason=StringType)
"""Rows of a trace that could not be used, each with the reason."""

COORDINATES = _schema(node=StringType, x=DoubleType, y=DoubleType)
"""Places of nodes; the distance of two places is the one-way delay."""

TOPOLOGY = _schema(src=StringType, dst=StringType, relationship=StringType)
"""Links between autonomous systems; src is a customer, provider, peer or sibling of dst."""

NODES = _schema(node=StringType, hop=LongType)
"""The nodes of a sample, with or without subscriptions in it. `hop` is the number of steps from
where the sampling began."""
