"""Frames, connections and what crosses them."""
