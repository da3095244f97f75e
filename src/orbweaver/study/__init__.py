"""Questions that take more than one run: comparisons and the papers' claims."""
