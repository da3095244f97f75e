"""A swarm is many nodes on one machine, each in a process of its own, under a common load."""
