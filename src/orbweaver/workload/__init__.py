"""Workloads say what each node wants, when nodes come and go, and how far apart nodes are."""
