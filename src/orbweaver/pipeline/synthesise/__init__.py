"""Makes workloads of any size from the papers' models, with Spark.

The models are `orbweaver.workload.models`: functions of the seed and the row numbers alone. The
`stage` calls them on slices of a range of row numbers, so ten million nodes are only a longer
range, and no slicing changes a row.
"""
