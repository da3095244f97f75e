"""What we make of the claims that do not reproduce. Guesses are called guesses."""

from __future__ import annotations

NOTES = {
    "S3": (
        "similarity(20,0) leaves about 107 components at every size. With twenty links to the "
        "most alike, nearly all topics are connected already, and what is left does not depend "
        "on N here; the paper gives no numbers, only that they grow."
    ),
    "S4": (
        "Ours connects every topic where the paper's (3,0) leaves 14 or 15 in pieces. A guess: "
        "with Zipf 2 most nodes look alike, so nearly all candidates are equally good, and we "
        "break ties at random; an order that is the same at all nodes would draw links to the "
        "same few and leave groups behind. The paper does not say how it breaks them. With one "
        "random link for each topic the degree is 10 and not 13: a random link covers all the "
        "topics that it shares, so few more are needed."
    ),
    "diameters (S5, S6, S7)": (
        "Random graphs with the same degrees as our topics (3.7 to 4.7 links of a node on a "
        "topic) have diameters of 8 to 10 at N = 1000 and 2000, all topics, three seeds; in 23 "
        "of 24 cases no less than ours. Even from one node of each topic the furthest other is 7 "
        "or 8 hops away. We see no way to a diameter of 6 with links that are as random as these, "
        "and the paper does not say how it measured."
    ),
    "maximum degree (S6)": (
        "The paper's overlay has some nodes with 32 links; ours has none above 18 (23 with 200 "
        "topics), at the same average."
    ),
    "S8": "At N=1000 the top of a flat curve lies at S=15 (11.27) and not at 20 (11.18).",
    "S9": (
        "Over S the degree does what the paper says, but tdi(2S) does not fall until S=20: it is "
        "lowest at 15 or below (48.8, 48.5, 50.1, 55.1, 60.9 % at N=10,000). In brackets, the "
        "correlation within each series."
    ),
    "S10": (
        "With S from 10 to 70 the degree is 8 % below that of S=40, and 5 % are allowed. Nodes "
        "with many subscriptions have up to 130 links and cover many others, who need fewer."
    ),
    "S11": (
        "A greedy choice among 200 nodes covers less than one among 4000. Topics stay "
        "connected; from 20 % of the nodes on the degree is within 13 %."
    ),
    "S13": (
        "About 4.5 messages for each link where the paper has 3. A guess: we count every "
        "DISCONNECT that is refused and every REDIRECT, and a node that joins is asked by "
        "those whose coverage it improves."
    ),
}
"""Claims (or the part of one) -> note."""
