"""Describes a workload: popularity, sizes, similarity and locality of interests.

- `popularity`: how many nodes a topic has and how many topics a node has, as histograms
  and CCDFs; `powerlaw` fits them.
- `tdi`: how similar a node and its d most similar nodes are (SpiderCast 3.4).
- `locality`: how few friends cover all topics of a node (Rappel, Fig. 1).
- `page`: the HTML page.

Only histograms, a sample of nodes and their results come to the driver; exact tdi, which is meant
for moderate sizes, is the exception.
"""
