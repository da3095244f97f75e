"""The other nodes: where they are, and the connections to them."""
