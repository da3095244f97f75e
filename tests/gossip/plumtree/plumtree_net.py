"""A few `Plumtree` objects, linked and run by hand."""

from orbweaver.core.topics import TopicTable
from orbweaver.gossip.plumtree.plumtree import Plumtree
from tests.gossip.fake_outbox import Clock, FakeOutbox, Pump, make_context


class Node(Plumtree):
    def __init__(self, net, me):
        self.outbox = FakeOutbox(net.pump.clock)
        self.peers = {}
        self.me = me
        super().__init__(make_context(me, self.outbox, net.table), self.peers)
        self.start()

    def receive(self, sender, message):
        self.ON[type(message)](self, sender, message)

    def got(self):
        """What was delivered, as (publisher, seq, hops)."""
        return [(event.publisher, event.seq, hops) for event, hops in self.outbox.delivered]


class Net:
    """Nodes 0, 1, ... that have all subscribed to t, with these links."""

    def __init__(self, size, *links, topics="t"):
        self.table = TopicTable("tuv")
        self.pump = Pump(Clock())
        self.nodes = [Node(self, me) for me in range(size)]
        for node in self.nodes:
            self.pump.nodes[node.me] = (node.outbox, node.receive, node.wake)
            for topic in topics:
                node.subscribe(topic)
        for a, b in links:
            self.link(a, b)

    def link(self, a, b, topics="t"):
        for near, far in ((a, b), (b, a)):
            self.nodes[near].peers[far] = self.table.interest(topics)
            self.nodes[near].peer_up(far, self.table.interest(topics))

    def unlink(self, a, b):
        for near, far in ((a, b), (b, a)):
            del self.nodes[near].peers[far]
            self.nodes[near].peer_down(far)

    def publish(self, node, topic="t"):
        event = self.nodes[node].publish(topic, b"")
        self.pump.settle()
        return event

    def run(self, ms):
        self.pump.run(self.pump.clock.now + ms)

    def lose(self, *kinds, between=None):
        """From now on these messages are lost, on one link (in one direction) or on all."""
        self.pump.lost = lambda sender, to, message: (
            type(message) in kinds and between in (None, (sender, to))
        )

    def heal(self):
        self.pump.lost = lambda sender, to, message: False

    def carried(self, kind=None):
        """What has crossed links since the last call, as (from, to)."""
        found = [(s, t) for s, t, m in self.pump.carried if kind in (None, type(m))]
        self.pump.carried.clear()
        return found
