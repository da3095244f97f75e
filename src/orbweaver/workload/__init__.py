"""Workloads: what each node wants, when nodes come and go, how far apart nodes are."""
