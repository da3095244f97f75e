"""The asyncio host runs the same overlay classes as a network of real processes."""
