"""Writes results as HTML and Markdown pages."""
