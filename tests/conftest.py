"""Hypothesis draws the same examples in every run of the tests; `make fuzz` draws others.

No example has a deadline: how long one takes depends on what else the machine does.
"""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("repeatable")
