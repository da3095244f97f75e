"""What a workload looks like: popularity, sizes, likeness and locality of interests.

- `popularity`: how many nodes a topic has and how many topics a node has, as histograms
  and CCDFs; `powerlaw` fits them.
- `tdi`: how alike a node and its d most similar nodes are (SpiderCast 3.4).
- `locality`: how few friends cover all that a node wants (Rappel, Fig. 1).
- `page`: all of it on one HTML page.

Only histograms, a sample of nodes and their results ever come to the driver; exact tdi,
which is meant for moderate sizes, is the exception.
"""
