"""The data pipeline runs on Spark: traces in, workloads out, simulations as tasks, a report.

Stages are functions from DataFrames to DataFrames with declared schemas; only `session` makes a
session. Nothing outside this package imports pyspark.
"""
