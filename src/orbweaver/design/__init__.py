"""This package designs overlays in one place: all subscriptions go in, links come out.

A planner that knows what every node subscribes to can choose links under which each topic is
connected through its own subscribers (a topic-connected overlay). Links are added one at a
time until that holds. The *contribution* of a link is the number of topics in which it merges
two components.

- GM adds the link with the highest contribution. The mean degree comes close to the least
  possible; the maximum degree may be as large as the number of nodes.
- MinMaxODA adds the link with the highest contribution among those that raise the maximum
  degree least.
- LowODA(rho) compares the best link e1 among those that raise the maximum degree with the
  best link e2 among those that do not, and takes e1 only if its contribution exceeds rho
  times that of e2. Both degrees stay low.

With no links to start from, this is LowODA-Re of the OMen paper; with the links that are
there, LowODA-Inc. The algorithms are those of Chockler et al., "Constructing scalable
overlays for pub-sub with many topics" (PODC 2007), and Onus and Richa, "Parameterized
maximum and average degree approximation in topic-based publish-subscribe overlay network
design" (ICDCS 2010); OMen (DEBS 2016) compares itself with them.

None of the papers says which of several equally good links is taken. Here nodes are numbered
at random, by the seed, and a rule looks through links as pairs (from, to) in the order of
these numbers: where it asks for links that raise the maximum degree, `from` is a node that
has this degree already. The first pair with the highest contribution is taken.

`design.plan.design` is the entry. `design.textbook` keeps the algorithms as the papers
describe them, for comparison; `design.fast` adds the same links in the same order.
"""
