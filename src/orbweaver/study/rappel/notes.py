"""What we make of the claims, and how the traces differ from the paper's. Guesses are called
guesses."""

from __future__ import annotations

TRACES = (
    "Latencies: round trips of 490 PlanetLab nodes, which do not change during a run, in place of "
    "an AS topology fitted to a PlanetLab trace with its fluctuations. In networks of more nodes "
    "several share a place. Churn: sessions of a live streaming system in place of Overnet's, "
    "slowed down to about the same hourly churn. Its peers do not come back, and all of them "
    "crash. Subscriptions: groups of YouTube in place of journals of LiveJournal, by the paper's "
    "method; 250 seeds give 1860 users where the paper has 5582. All nodes begin at once, where "
    "the paper's come at 10 a minute. A node is owed updates from a minute after its join; the "
    "paper watches ten nodes that churn spares. R11 is measured by studies/agreement.py."
)
TRACES_FULL = TRACES.replace(
    "sessions of a live streaming system in place of Overnet's, slowed down to about the same "
    "hourly churn. Its peers do not come back, and all of them crash.",
    "exponential times up and down in place of Overnet's trace: 5000 of 5300 nodes are up at a "
    "time, 30 crash in a minute and 30 come back.",
)
STRETCH = (
    "The stretch depends on how nodes find their coordinates ([a study without messages]"
    "(../overlays/rappel.md#the-stretch-in-coordinates)). In the paper a node measures 18 landmark "
    "servers, 25 times in the authors' simulator, which leaves two of the five dimensions hardly "
    "used: Algorithm 2, replayed on such coordinates, gives 1.17. Here a network that starts all "
    "at once measures itself until it has converged, which gives 1.32. The measured stretch is "
    "below the paper's because latencies do not change."
)
CHURN = (
    "The median hardly rises. With a depth of 7 and 36 % of the nodes leaving in an hour, an "
    "ancestor has failed within the last 45 s, the time until that is noticed, for at most 3 % of "
    "the updates. Of ours 2.4 % come late at the quick scale and 1.0 % at the middle scale, which "
    "does not move a median. It depends on the number of nodes: with 260 up at a time, at "
    "the quick scale, and with 650, at the middle scale, the median rises by 3 ms, and with the "
    "paper's 5000 by 177 ms ([one run](rappel.md)), where trees are twice as deep."
)
LATEST = (
    "The median and the share of prompt updates are the paper's. The largest delay is not; we take "
    "it for one of a node that crashed within seconds of an update, came back minutes later and "
    "pulled it, as caches of ten updates allow for ten minutes. Such an update counts as late, and "
    "the paper watches ten nodes that churn spares. We have not looked at these deliveries one by "
    "one."
)
COVERED = (
    "Friends cover more than in the paper: 254 users share 40 feeds, and the candidates of a node "
    "are half of the network. R5 is inside its band when the runs end, and still rises. The best 6 "
    "friends, chosen with knowledge of all users, cover all feeds of all users of this sample and "
    "of the one with 1860 users and 100 feeds."
)
OVERLAP_MIDDLE = (
    "With 1860 users of 100 feeds fewer nodes have a neighbour in two roles than with 254 users of "
    "40 feeds (58 and 63 %; of those with several feeds 74 and 79 %): of many nodes with the same "
    "feed few are also friends. Interest and distance beat interest alone, as in the paper."
)
OVERLAP = (
    "It still rises when the run ends, and is higher the fewer nodes there are: of 40 subscribers "
    "of one feed 4 in 5 have a neighbour in two roles, of 400 in ten such feeds 2 in 5. Nodes of "
    "several feeds come close to the paper's number. Interest and distance beat interest alone, as "
    "in the paper. The paper's run is 4 h long; ours of the quick scale is 50 minutes."
)
PUBLISHERS = (
    " It depends on the publisher too: the three have 1.33, 1.31 and 1.85. From the third, updates "
    "take longest, 165 ms in the median."
)
EDGE = (
    " The median is inside its band by a hair here, with 1.38, 1.30 and 1.25 for the three "
    "publishers; with those of the quick scale it is outside."
)
REQUESTS = (
    "R9's last number is near its limit of 2. At the publisher and at the next two heights, twice "
    "the subscribers make 5 to 17 % more requests. Further down the ratio grows up to 4.5: the "
    "lowest nodes of the smaller tree have few nodes below them, those at the same heights of the "
    "larger tree have more. The check takes the mean over all heights."
)
NOTES = {
    "quick": {
        "the traces": TRACES,
        "R3": STRETCH + PUBLISHERS,
        "R4": CHURN,
        "R5 and R7": COVERED,
        "R6": OVERLAP,
    },
    "middle": {
        "the traces": TRACES,
        "the stretch in coordinates": STRETCH + EDGE,
        "R4": CHURN,
        "R6": OVERLAP_MIDDLE,
        "requests by height": REQUESTS,
    },
    "full": {"the traces": TRACES_FULL, "R3": STRETCH, "R4": LATEST},
}
