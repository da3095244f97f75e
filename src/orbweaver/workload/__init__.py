"""Workloads: who wants what, who comes and goes, how far nodes are from each other."""
