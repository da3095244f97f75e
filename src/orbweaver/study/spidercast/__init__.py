"""SpiderCast's evaluation: the paper's numbers, the runs they take, and the verdicts."""
