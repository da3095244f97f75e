"""The simulator is a deterministic host: discrete events, integer milliseconds."""
