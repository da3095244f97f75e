"""These are the algorithms as the papers describe them, in plain Python.

Contributions are kept for each pair of nodes and lowered as components merge, which is the
index that takes LowODA from O(V^4 T) to O(V^2 T) in the OMen paper. Each link is found by
looking through all pairs. `fast` is checked against this version, and claim O9 of OMen
compares its repair with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from orbweaver.design.rules import Rule

Found = tuple[int, int, int]
"""A contribution, and the link that makes it: from and to."""
NOTHING: Found = (0, 0, 0)


class DesignState:
    """Holds the links so far, and what each further link would contribute."""

    def __init__(self, interests: Sequence[Collection[int]]) -> None:
        self.nodes = range(len(interests))
        self.degree = [0] * len(interests)
        self.component = [{topic: {node} for topic in interests[node]} for node in self.nodes]
        """Node -> topic -> the subscribers that it is connected with through subscribers."""
        self.contribution: list[dict[int, int]] = [{} for _ in self.nodes]
        """Node -> another node -> the number of topics that they share without being connected in
        them. Pairs without such topics are left out."""
        subscribers: dict[int, list[int]] = {}
        for node, topics in enumerate(interests):
            for topic in topics:
                for other in subscribers.setdefault(topic, []):
                    self.contribution[node][other] = self.contribution[node].get(other, 0) + 1
                    self.contribution[other][node] = self.contribution[other].get(node, 0) + 1
                subscribers[topic].append(node)

    def best(self, start: Iterable[int], end: Collection[int]) -> Found:
        """Return the best link from one set of nodes to another, the first of several."""
        best = NOTHING
        for u in start:
            for v in sorted(self.contribution[u]):
                if v in end and self.contribution[u][v] > best[0]:
                    best = (self.contribution[u][v], u, v)
        return best

    def add(self, u: int, v: int) -> None:
        self.degree[u] += 1
        self.degree[v] += 1
        for topic in sorted(self.component[u].keys() & self.component[v].keys()):
            ours, theirs = self.component[u][topic], self.component[v][topic]
            if ours is theirs:
                continue
            for a in ours:
                for b in theirs:
                    self.lower(a, b)
                    self.lower(b, a)
            ours |= theirs
            for b in theirs:
                self.component[b][topic] = ours

    def lower(self, a: int, b: int) -> None:
        self.contribution[a][b] -= 1
        if not self.contribution[a][b]:
            del self.contribution[a][b]

    def raising(self) -> Found:
        """Return the best link that raises the maximum degree."""
        most = max(self.degree)
        return self.best([u for u in self.nodes if self.degree[u] == most], self.nodes)

    def keeping(self) -> Found:
        """Return the best link that does not raise the maximum degree."""
        most = max(self.degree)
        below = [u for u in self.nodes if self.degree[u] < most]
        return self.best(below, set(below))


def gm(overlay: DesignState, rho: float) -> Found:
    return overlay.best(overlay.nodes, overlay.nodes)


def minmaxoda(overlay: DesignState, rho: float) -> Found:
    keeping = overlay.keeping()
    return keeping if keeping[0] else overlay.raising()


def lowoda(overlay: DesignState, rho: float) -> Found:
    e1, e2 = overlay.raising(), overlay.keeping()
    return e1 if e1[0] > rho * e2[0] else e2


CHOICES: dict[str, Callable[[DesignState, float], Found]] = {
    "gm": gm,
    "minmaxoda": minmaxoda,
    "lowoda": lowoda,
}


def choose_links(
    interests: Sequence[Collection[int]], rule: Rule, given: Iterable[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """Return the links to add to the given ones, in the order in which they are chosen."""
    overlay = DesignState(interests)
    for u, v in given:
        overlay.add(u, v)
    chosen: list[tuple[int, int]] = []
    while True:
        contribution, u, v = CHOICES[rule.algorithm](overlay, rule.rho)
        if not contribution:
            return chosen
        overlay.add(u, v)
        chosen.append((u, v))
