"""The simulator host: deterministic, discrete events, integer milliseconds."""
