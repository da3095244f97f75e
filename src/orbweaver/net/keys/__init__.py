"""Keys, certificates, and what else stays beside a node's key."""
