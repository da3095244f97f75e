"""The events that a node keeps, requests, and gives to its readers."""
