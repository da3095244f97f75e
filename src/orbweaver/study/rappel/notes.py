"""What we make of the claims, and how the traces differ from the paper's. Guesses are called
guesses."""

from __future__ import annotations

TRACES = (
    "Latencies: round trips of 490 PlanetLab nodes, which do not change during a run, in place of "
    "an AS topology fitted to a PlanetLab trace with its fluctuations; in networks of more nodes "
    "several share a place. Churn: sessions of a live streaming system in place of Overnet's, "
    "slowed down to about the same hourly churn; its peers do not come back, and all of them "
    "crash. Subscriptions: groups of YouTube in place of journals of LiveJournal, by the paper's "
    "method; 250 seeds give 1860 users where the paper has 5582. All nodes begin at once, where "
    "the paper's come at 10 a minute. A node is owed updates from a minute after its join; the "
    "paper watches ten nodes that are spared."
)
QUICK = {"the traces": TRACES}
MIDDLE = {"the traces": TRACES}
NOTES = {"quick": QUICK, "middle": MIDDLE}
