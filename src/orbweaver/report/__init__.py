"""Results to pages that people look at."""
