"""Magnet's figures, and which of our series go into each."""

from __future__ import annotations

from orbweaver.study.paper import Figure

COST, RELAYS = "relays_per_event", "uninterested nodes of an event"


def _both(*labels: str) -> tuple[str, ...]:
    overlays = ("magnet", "magnet-strawman")
    return tuple(f"{label}, {overlay}" for label in labels for overlay in overlays)


FIGURES = (
    Figure("modes", "Fig. 3(a): cost over b_p, uniform rates", "b_p", RELAYS, COST,
           _both("modes 0.1", "modes 0.2")),
    Figure("rates", "Fig. 3(b): cost over b_p, rates zipf 0.75", "b_p", RELAYS, COST,
           _both("rates 0.1", "rates 0.2")),
    Figure("exponents", "Fig. 4(a): cost over the exponent of popularity", "exponent", RELAYS,
           COST, _both("exponents")),
    Figure("subscriptions", "Fig. 4(b): cost over the subscriptions of a node", "subscriptions",
           RELAYS, COST, _both("subscriptions", "subscriptions, rates")),
    Figure("spatial", "Fig. 6: cost over the number of nodes, spatial interests", "nodes", RELAYS,
           COST, _both("spatial 8", "spatial 16", "spatial 32")),
    Figure("lambda", "Fig. 8(a): cost over lambda", "lambda", RELAYS, COST, _both("lambda")),
    Figure("init-frac", "Fig. 8(a): cost over initFrac", "initFrac", RELAYS, COST,
           _both("initFrac")),
    Figure("z", "Fig. 8(b): cost over the subscriptions of a node", "Z", RELAYS, COST, _both("Z")),
    Figure("size-hops", "2.2: hops over the number of nodes", "nodes", "hops", "delay_hops_mean",
           _both("size")),
    Figure("fingers-hops", "2.2: hops over the number of fingers", "fingers", "hops",
           "delay_hops_mean", _both("fingers")),
)  # fmt: skip
