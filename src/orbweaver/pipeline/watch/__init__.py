"""Watches a cluster: a stream over the files that its nodes append to.

`source` reads what is new in the files, `batches` counts it, `kept` is what stays on disk, and
`run` starts and ends the stream.
"""
