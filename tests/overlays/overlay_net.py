"""A few overlay objects of one kind, with a directory that is a dict, run by hand."""

from orbweaver.core.topics import TopicTable
from tests.gossip.fake_outbox import Clock, FakeDirectory, FakeOutbox, Pump, make_context

NAMES = list("abcdef")


class OverlayNet:
    """Nodes with these interests, `{node: topics}`, not started. They ask the directory unless
    `membership` says otherwise."""

    def __init__(self, overlay, interests, seed=0, membership="full", **params):
        self.table = TopicTable(NAMES)
        self.directory = FakeDirectory(self.table, interests)
        self.pump = Pump(Clock())
        self.nodes = {}
        self.outboxes = {}
        for node, topics in interests.items():
            outbox = self.outboxes[node] = FakeOutbox(self.pump.clock)
            context = make_context(node, outbox, self.table, self.directory, seed)
            self.nodes[node] = overlay(context, overlay.Params(membership=membership, **params))
            for topic in topics:
                self.nodes[node].subscribe(topic)
            self.pump.nodes[node] = (outbox, self.nodes[node].receive, self.nodes[node].wake)

    def start(self):
        for node in self.nodes.values():
            node.start([])
        return self

    def run(self, ms):
        self.pump.run(self.pump.clock.now + ms)
        return self

    def links(self):
        """Every link that both ends have; each end's own list must say the same."""
        pairs = {(a, b) for a, node in self.nodes.items() for b in node.links()}
        assert pairs == {(b, a) for a, b in pairs}, f"one end alone: {pairs}"
        for node, overlay in self.nodes.items():
            assert set(overlay.links()) == self.outboxes[node].links
        return {(a, b) for a, b in pairs if a < b}

    def crash(self, node):
        """The node falls silent; the directory knows."""
        del self.pump.nodes[node]
        del self.nodes[node]
        del self.directory.interests[node]

    def change(self, node, subscribe="", unsubscribe=""):
        overlay = self.nodes[node]
        for topic in subscribe:
            overlay.subscribe(topic)
        for topic in unsubscribe:
            overlay.unsubscribe(topic)
        self.directory.interests[node] = overlay.interest.topics

    def sent(self, node, kind=None):
        """What the node has ready to send, as (to, message), without sending it."""
        return [(to, m) for to, m in self.outboxes[node].sent if kind in (None, type(m))]
