"""Do simulated and deployed nodes agree?

The same overlay classes run in the simulator and on sockets. That alone does not say that
what is simulated is what happens: the network host has clocks, queues, connections and a
machine of its own. Here one scenario is played in both: the same interests, the same
publications by the same nodes at the same times, the same delays between each two nodes,
the same places on the ring. What is left to chance is what nodes decide by chance, and what
the machine does. Both hosts write the same records, the same functions measure them, and
bands that were chosen before anything was measured say what counts as agreement.
"""
