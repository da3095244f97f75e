"""Many nodes on one machine, each a process, under a common load."""
