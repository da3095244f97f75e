"""Vitis (IPDPS 2011): a bounded-degree hybrid of interest clusters and rendezvous relays."""

from orbweaver.overlays.vitis.node import Vitis

__all__ = ["Vitis"]
