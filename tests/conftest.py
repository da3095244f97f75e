"""Hypothesis draws the same examples in every run of the tests; `make fuzz` draws others."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("fuzz", derandomize=False, print_blob=True)
settings.load_profile("repeatable")
