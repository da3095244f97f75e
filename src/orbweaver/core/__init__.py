"""The vocabulary every part of Orbweaver shares, and the overlay contract.

Nothing here does I/O, reads a clock or draws from a global random source; nothing
here imports another part of the package.
"""
