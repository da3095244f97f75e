"""What we make of the claims that do not reproduce, at the scales whose pages are kept.
Guesses are called guesses."""

from __future__ import annotations

QUICK = {
    "the scale": (
        "A fiftieth of the paper's nodes. A topic of the base setting has 10 subscribers in place "
        "of 500. The path from the home to where its subscribers stand passes as many nodes as "
        "with 500, so the cost for each subscriber is far larger than in the paper, and so is "
        "each share of uninterested nodes. All runs are in "
        "[results.jsonl](magnet-quick/results.jsonl)."
    ),
    "M4": (
        "The most popular tenth are 20 topics with a few dozen subscribers, so that 4 to 10 "
        "uninterested nodes are 18 and 35 % of those that an event on them reaches. In the paper "
        "the 100 most popular topics have up to 1000 subscribers each. A static model with the "
        "paper's sizes gave 1.1 %. This scale says nothing about the claim."
    ),
    "M5": (
        "At t = 32 a node wants a third of the 100 topics, and a sixth of the 200: neighbours on "
        "the plane are most of the network, and the ring has no room to set others apart. From "
        "N = 100 to N = 200 the saving at t = 32 grows from 56 to 62 %, towards the paper's, "
        "which is of 10,000 nodes."
    ),
    "M6": (
        "The CCDF of the model's popularity has the slope 0.63 to 0.65. A power law with that CCDF "
        "has a density with an exponent of 1.63 to 1.65, near the 1.68 that the paper gives to the "
        "fit line of its Fig. 7. It calls its line a CCDF of a power law with alpha = 1.68, which "
        "can be read so; the band reads 1.68 as the slope."
    ),
    "M7": (
        "The samples have 200 users and 26 to 58 topics, and 83 to 99 % of the users have a single "
        "topic (on the wiki 1.15 topics, where the paper's 10,000 editors have 1.6). A user with "
        "one topic can only stand beside others with the same one, so there is little to exploit, "
        "and least on github (1.01 topics). A guess: at the paper's size, with more topics of a "
        "user and longer paths, the gap is wider."
    ),
}

NOTES = {"quick": QUICK}
