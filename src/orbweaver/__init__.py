"""Orbweaver: publish/subscribe without a broker, on overlays woven out of interests."""

__version__ = "0.1.0"
