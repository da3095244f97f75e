"""What a peer may send, and how much of it."""
