"""A network that gets more than it can carry, and loses nothing, asks for nearly nothing again."""

import pytest

from tests.gossip.plumtree.loaded_net import RUN, LoadedNet

SIZE, DEGREE = 21, 5


@pytest.mark.parametrize("others", [0, 20], ids=["quiet machine", "busy machine"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_on_its_way_is_not_asked_for(seed, others):
    """Queues hold seconds of events, so announcements come seconds before their events."""
    net = LoadedNet(SIZE, DEGREE, seed, others)
    net.publish(1)
    net.run(3000)  # the tree forms
    net.sent.clear()
    net.run(3000, publish=True)
    assert net.published > 20_000
    assert net.backlog() > 10_000, "the network was not loaded"
    net.run(15_000)
    assert net.complete()
    deliveries = net.published * (SIZE - 1)
    assert net.sent["asked for"] < 0.02 * deliveries
    assert net.sent["copies"] < 1.2 * deliveries
    assert net.sent["messages"] < 1.2 * net.sent["copies"] / RUN, "runs were taken apart"
