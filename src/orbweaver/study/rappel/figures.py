"""Rappel's figures, and which of our series go into each."""

from __future__ import annotations

from orbweaver.study.paper import Figure

_minutes, _nodes = "minutes", "share of nodes"
_friends = ("friends both", "friends interest", "friends four")

FIGURES = (
    Figure("tree-delay", "Fig. 7(a): median delay of updates while half of the nodes crash and "
           "return", _minutes, "ms", "delay_ms_p50", ("tree",), over_time=True),
    Figure("tree-delay-95", "Fig. 7(a): 95th percentile of the delay", _minutes, "ms",
           "delay_ms_p95", ("tree",), over_time=True),
    Figure("tree-stretch", "Fig. 7(b): measured stretch, median", _minutes, "stretch",
           "stretch_p50", ("tree",), over_time=True),
    Figure("tree-path", "Fig. 7(c): stretch in coordinates, median", _minutes, "stretch",
           "path_stretch_p50", ("tree",), over_time=True),
    Figure("covered", "Fig. 9(a): nodes whose friends cover all their feeds", _minutes, _nodes,
           "covered", _friends, over_time=True),
    Figure("covered-many", "Fig. 9(b): the same among nodes of several feeds", _minutes, _nodes,
           "covered_many", _friends, over_time=True),
    Figure("overlapping", "Fig. 9(c): nodes with a neighbour overlap ratio above 1", _minutes,
           _nodes, "overlapping", _friends, over_time=True),
)  # fmt: skip
