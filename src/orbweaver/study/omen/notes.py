"""What we make of the claims that do not reproduce, at the scales whose pages are kept.
Guesses are called guesses."""

from __future__ import annotations

NOTES: dict[str, dict[str, str]] = {}
