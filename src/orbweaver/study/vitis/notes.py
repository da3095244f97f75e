"""What we make of the claims that do not reproduce at the quick scale. Guesses are called
guesses."""

from __future__ import annotations

NOTES = {
    "the scale": (
        "A twentieth of the nodes cannot keep everything as it was: here a node has 19 links "
        "and a topic 40 subscribers, and ten groups make low correlation hardly different from "
        "random. With 10,000 nodes, 5000 topics and 100 groups (friends high @ 12, one seed, 60 "
        "cycles) the overhead is 0.33, with 5.1 gateways and 34 relays for each topic and "
        "lookups of 12 hops; links were still changing then, and one of 49,698 deliveries did "
        "not happen. What the full scale gives when it has settled we do not know yet."
    ),
    "what does not hold at larger scales": (
        "Some checks that reproduce here do not where we have looked further. With 2000 nodes, "
        "1000 topics and 50 for each node (12 friends, one seed, 60 cycles) 91 % of the nodes "
        "have an overhead above 20 % with random interests, and in the run with 10,000 nodes "
        "68 % with high correlation; since RVR cannot have more than all, V4 fails there. "
        "Overhead at 2000 nodes is 0.37 (random) and 0.16 (high). With an earlier state of the "
        "code it did not fall from 6 to 12 friends there for random and low. V1 misses by the "
        "one delivery above."
    ),
    "V2": (
        "High falls by 68 % where the paper has 88 %. What is left is the way from a cluster to "
        "the topic's place: 1.3 gateways and 3.9 relays for 40 subscribers."
    ),
    "V3": (
        "Random gets faster with friends, and slower in the paper, where a topic's clusters are "
        "many and small. Here a topic has 1.7 of them, so most of the way is inside."
    ),
    "V6": (
        "Random does gain from skew, as in the paper: from 0.19 to 0.14 in overhead, from 3.2 "
        "to 1.7 hops. But it overtakes high, which loses at an exponent of 3 (0.14 to 0.37). "
        "Five in six events are on one topic then, 150 to 190 of the 500 nodes get any event at "
        "all, and among these the relays of that topic, for which all traffic is overhead, "
        "weigh much."
    ),
    "V7": (
        "The sample is of another data set, whose direction is lost (every follower is "
        "followed), and of 500 nodes. With 10,000 nodes the same method gives 45 subscriptions "
        "for each node where the paper has 80, and an exponent of 1.69 (from 10 on) where it "
        "has 1.65. OPT with 15 links covers it all, so that its hit ratio of 100 % lies in the "
        "band of 25 % around 80 % only just."
    ),
    "V8": "A guess: degrees follow from the number of subscriptions, which is small here.",
    "V9": (
        "RVR loses nothing here because notices are repeated until a way is found. Of what "
        "comes within two seconds, which is what a simulator without repetition would count, "
        "RVR has 93 % in the worst stretch and Vitis 99.7 %. This second reading is ours, added "
        "after the first had shown no loss in a trial run; without its two checks 27 of 40 hold."
    ),
    "one way or both": (
        "If links carry events only one way, 2 to 5 % of the deliveries do not happen (see "
        "below). The paper has 100 %, so it probably meant both."
    ),
}
