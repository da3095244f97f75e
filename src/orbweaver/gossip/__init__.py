"""Parts that several overlays share: pure, each usable and tested alone."""
