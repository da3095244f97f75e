"""A maintenance task to put into small situations, with an aim that counts naively.

Situations are written as `{peer: (degree, target, topics)}`.
"""

from orbweaver.core.topics import TopicTable
from orbweaver.overlays.spidercast.maintenance import (
    MaintenanceParams,
    Neighbor,
    NeighborMaintenance,
)
from orbweaver.overlays.spidercast.messages import Connect, ConnectOk
from tests.gossip.fake_outbox import FakeOutbox, make_context, own_interest

TABLE = TopicTable("abcd")
ME, NUMBER, TIMEOUT, QUARANTINE = 0, 1, 100, 5000


def uncovered(k, interest, neighbors):
    """CALCKUNCOVERED (Fig. 3, lines 1-7), word by word."""
    return sum(sum(topic in n.interest for n in neighbors) < k for topic in interest)


class NaiveAudit:
    def __init__(self, k, interest, neighbors):
        self.k, self.interest, self.neighbors = k, interest, list(neighbors)
        self.under = uncovered(k, interest, self.neighbors)

    def under_without(self, neighbor):
        rest = [n for n in self.neighbors if n is not neighbor]
        return uncovered(self.k, self.interest, rest)


class NaiveAim:
    def __init__(self, k, interest):
        self.k, self.interest, self.view = k, interest, []

    def limit(self):
        return self.k * len(self.interest)

    def audit(self, neighbors):
        return NaiveAudit(self.k, self.interest, neighbors)

    def next_node(self, neighbors, exclude):
        return next((node for node in self.view if node not in exclude), None)


class Task(NeighborMaintenance):
    """A task with interest in a and b and K = 1 (so L^max is 2), unless told otherwise."""

    def __init__(self, neighbors=(), own="ab", k=1, margin=2, shed_at="reached", L=0, seed=0):
        self.outbox = FakeOutbox()
        self.changes = []
        interest = TABLE.interest(own)
        super().__init__(
            NUMBER,
            NaiveAim(k, interest),
            make_context(ME, self.outbox, TABLE, seed=seed),
            MaintenanceParams(
                connect_timeout_ms=TIMEOUT,
                quarantine_ms=QUARANTINE,
                margin=margin,
                shed_at=shed_at,
            ),
            own_interest(TABLE, own),
            self.changes.append,
        )
        for peer, (degree, target, topics) in dict(neighbors).items():
            self.neighbors[peer] = Neighbor(degree, target, TABLE.interest(topics))
        self.target = L
        self.started = True

    def sends(self, action, *arguments):
        """What one call makes it send."""
        self.outbox.take()
        action(*arguments)
        return self.outbox.take()

    def runs_in(self):
        due = self.outbox.timers.get(self.timer)
        return None if due is None else due - self.outbox.clock.now

    def round(self):
        """One turn of the loop: what was sent, as (peer, message type)."""
        self.outbox.timers.pop(self.timer, None)
        return [(to, type(message)) for to, message in self.sends(self.maintain_neighbors)]


COVERING = {1: (3, 3, "ab"), 2: (3, 3, "ab")}  # either can go
NEEDED = {1: (3, 3, "a"), 2: (3, 3, "b")}  # neither can go


def connect(topics="ab", degree=1, target=4):
    return Connect(NUMBER, degree, target, TABLE.interest(topics))


def connect_ok(topics="ab", degree=1, target=4):
    return ConnectOk(NUMBER, degree, target, TABLE.interest(topics))
