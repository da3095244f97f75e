"""The parts of bench_wire.py: what is measured over real sockets, and the processes that do it."""
