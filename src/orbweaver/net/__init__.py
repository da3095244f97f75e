"""The asyncio host: the same overlay classes as a network of real processes."""
