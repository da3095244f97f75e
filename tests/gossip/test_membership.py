"""Where the interest view comes from: one kind of view for each parameter."""

from __future__ import annotations

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import generator
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.membership import MembershipParams, interest_view
from orbweaver.gossip.messages import Shuffle
from orbweaver.gossip.views import PartialView
from tests.gossip.fake_outbox import FakeDirectory, FakeOutbox, make_context, own_interest

TABLE = TopicTable("ab")
ME = NodeId(0)
DIRECTORY = FakeDirectory(TABLE, dict.fromkeys(range(10), "a"))
OWN = own_interest(TABLE, "ab", ME)


def test_a_full_view_is_the_oracle_itself() -> None:
    context = make_context(ME, FakeOutbox(), TABLE, DIRECTORY)
    assert interest_view(context, MembershipParams(membership="full"), OWN) is DIRECTORY


@pytest.mark.parametrize(("view_share", "size"), [(0.5, 5), (1.0, 10)])
def test_a_partial_view_holds_its_share_of_what_the_oracle_knows(
    view_share: float, size: int
) -> None:
    context = make_context(11, FakeOutbox(), TABLE, DIRECTORY)
    params = MembershipParams(membership="partial", view_share=view_share)
    view = interest_view(context, params, OWN)
    assert isinstance(view, PartialView)
    view.draw(generator(0), NodeId(11))
    assert len(view.entries()) == size  # type: ignore[arg-type]


@pytest.mark.parametrize("directory", [None, DIRECTORY], ids=["no oracle", "an oracle"])
def test_gossip_needs_no_oracle_and_carries_the_interest_of_the_node(
    directory: FakeDirectory | None,
) -> None:
    outbox = FakeOutbox()
    params = MembershipParams(view_size=3, shuffle_size=2, shuffle_ms=70)
    view = interest_view(make_context(ME, outbox, TABLE, directory), params, OWN)
    assert isinstance(view, Cyclon)
    view.start([NodeId(n) for n in range(1, 9)])
    assert outbox.take() == [(n, Shuffle((OWN.about,), (0,))) for n in (1, 2, 3)]
    view.wake()
    assert outbox.timers[Cyclon.TIMER] == 70


def test_gossip_is_the_default() -> None:
    assert MembershipParams().membership == "gossip"


@pytest.mark.parametrize("membership", ["full", "partial"])
def test_without_an_oracle_only_gossip_will_do(membership: str) -> None:
    params = MembershipParams(membership=membership)  # type: ignore[arg-type]
    context = make_context(ME, FakeOutbox(), TABLE)
    with pytest.raises(
        UsageError,
        match=f"membership '{membership}' asks an oracle, which only a simulation has; "
        "set membership=gossip",
    ):
        interest_view(context, params, OWN)
