"""Metrics are pure functions of records. None of them knows which host wrote the records."""
