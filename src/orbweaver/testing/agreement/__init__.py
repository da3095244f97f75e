"""Checks whether simulated and deployed nodes agree.

The same overlay classes run in the simulator and on sockets. This alone does not show that a
simulation matches reality: the network host has clocks, queues, connections and a machine of its
own. Here one scenario is played in both: the same interests, the same publications by the same
nodes at the same times, the same delays between each pair of nodes, the same places on the ring.
What differs are the random decisions of nodes and the timing of the machine. Both hosts write the
same records, the same functions measure them, and bands chosen before any measurement say what
counts as agreement.
"""
